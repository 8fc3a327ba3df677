// Injection rate control of InfiniBand (IBA A10.2.2): a flow has an index into the congestion control table of its port. A BECN
// raises the index, a timer lowers it, and the entry says how long the flow waits behind each of its packets.
//
// A flow is a queue pair, or all queue pairs of a service level together, as the port is set. The timer begins with a BECN that
// finds the index at its least value, and runs until the index is there again. Its effect is computed on request: an
// idle flow costs nothing. A timer of 0 lowers the index at once: nothing is ever delayed (so do drivers of hfi1).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "sim/hca/congestion/rate_controller.h"
#include "sim/ib/congestion.h"

namespace verbatim::hca {

// The index of one flow.
class InjectionIndex {
 public:
  using Setting = ib::InjectionSetting;

  std::uint16_t at(Instant now, const Setting& setting, std::size_t level);
  void on_becn(Instant now, const Setting& setting, std::size_t level);
  // When the timer lowers it the next time; kNever: it is at its least value.
  Instant next_fall(Instant now, const Setting& setting, std::size_t level);

 private:
  std::uint16_t value_ = 0;
  Instant timer_began_{};  // its current period, while the index is above its least value
};

// State of one adapter: how its port is set, flows that are service levels, and the log.
struct InjectionState {
  struct Level {
    InjectionIndex index;
    SentPacket newest;
  };
  ib::InjectionSetting setting;
  std::array<Level, ib::kServiceLevels> levels;
  ib::InjectionLog log;
};

class InjectionControl final : public RateController {
 public:
  // The control of one queue pair whose packets have a service level. `line`: of the port. The state outlives it.
  InjectionControl(InjectionState& state, std::uint8_t level, ByteTime line) : state_(state), level_(level), line_(line) {}

  void on_notification(Instant now) override { index().on_becn(now, state_.setting, level_); }
  void on_sent(Instant now, std::uint32_t bytes) override { state_.levels[level_].newest = {now, bytes}; }
  std::optional<Rate> rate(Instant now) override;
  Instant next_increase(Instant now) override { return index().next_fall(now, state_.setting, level_); }
  // A packet's time on the line, exact to the picosecond, and the delay behind it.
  Instant due(Instant now, const SentPacket& newest) override;
  std::uint16_t table_index(Instant now) override { return index().at(now, state_.setting, level_); }

 private:
  InjectionIndex& index() { return state_.setting.is_by_level ? state_.levels[level_].index : own_; }
  ib::InjectionDelay delay(Instant now) { return state_.setting.table[table_index(now)]; }

  InjectionState& state_;
  const std::uint8_t level_;
  const ByteTime line_;
  InjectionIndex own_;
};

}  // namespace verbatim::hca
