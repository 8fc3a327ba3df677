// Injection rate control of InfiniBand (IBA A10.2.2): each flow has an index into the congestion control
// table of its port. A BECN increases the index, a timer decreases it, and the table's entry is the delay
// after each packet of the flow.
//
// A flow is a queue pair or all queue pairs of a service level, by the port's settings. The timer starts at a
// BECN that finds the index at its minimum, and runs until the index is at its minimum again. Its effect is
// computed on demand: an idle flow costs nothing. With a timer of 0 the index falls at once and nothing is
// delayed, as in drivers of hfi1.
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
  // Time of the next decrease by the timer; kNever: the index is at its minimum.
  Instant next_fall(Instant now, const Setting& setting, std::size_t level);

 private:
  std::uint16_t value_ = 0;
  Instant timer_began_{};  // start of its current period, while the index is above its minimum
};

// State of one adapter: the port's settings, the flows by service level, and the log.
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
  // Controller of one queue pair with service level `level`. `line`: byte time of the port. `state` must
  // outlive it.
  InjectionControl(InjectionState& state, std::uint8_t level, ByteTime line) : state_(state), level_(level), line_(line) {}

  void on_notification(Instant now) override { index().on_becn(now, state_.setting, level_); }
  void on_sent(Instant now, std::uint32_t bytes) override { state_.levels[level_].newest = {now, bytes}; }
  std::optional<Rate> rate(Instant now) override;
  Instant next_increase(Instant now) override { return index().next_fall(now, state_.setting, level_); }
  // The newest packet's start plus its time on the line, exact to the picosecond, and its delay.
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
