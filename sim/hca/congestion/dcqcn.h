// Common part of the variants of DCQCN (Zhu et al., SIGCOMM 2015): the rate and its target, alpha, which
// measures how frequent notifications are, and the counters of increases by timer and by bytes. Variants
// differ in the time and size of cuts and in the steps of an increase.
//
// Three periodic activities start at a notification: updates of alpha, possible cuts, and increases. At one
// instant the order is alpha, cut, increase, and then a notification or packet of that instant.
//
// A call processes elapsed periods one by one only while they change something. Alpha reaches 0 after a few
// thousand updates without notification, and the rate reaches the line's after (line / rpg_ai_rate)
// increases: the cost of a call is bounded, however much time has passed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/core/time.h"
#include "sim/hca/congestion/parameters.h"
#include "sim/hca/congestion/rate_controller.h"

namespace verbatim::hca {

class Dcqcn : public RateController {
 public:
  void on_notification(Instant now) final;
  void on_sent(Instant now, std::uint32_t bytes) override;
  std::optional<Rate> rate(Instant now) final;
  Instant next_increase(Instant now) final;
  Instant due(Instant now, const SentPacket& newest) override;

 protected:
  // Rates are counted in `unit`; the line's rate is rounded down to a multiple of it. `parameters` are
  // complete.
  Dcqcn(const ReactionPoint& parameters, Rate line, Rate unit);

  // First notification: initialises rate, target and alpha, and starts the variant's periods.
  virtual void on_first(Instant now) = 0;
  // Later notification; elapsed periods have been processed.
  virtual void on_next(Instant now) = 0;
  // Alpha after an update; `has_notification`: one has arrived since the previous update.
  virtual std::uint64_t next_alpha(bool has_notification) const = 0;
  // Decreases the rate.
  virtual void cut() = 0;
  // One increase: calls raise() and increments `stage`, the counter of increases by timer or by bytes, before
  // or after that, as the variant defines.
  virtual void increase(std::uint64_t& stage) = 0;

  // For variants.
  void begin_alpha(Instant now) {
    alpha_from_ = now;
    alpha_updates_ = 0;
    has_new_alpha_notification_ = false;
  }
  void advance_alpha(Instant now);
  void begin_increases(Instant now) {
    time_stage_ = byte_stage_ = 0;
    sent_ = 0;
    increase_due_ = now + parameters_.rpg_time_reset;
  }
  // Schedules a cut at the next end of a cut period; periods are counted from `cuts_from_`.
  void request_cut(Instant now);
  // Adds `step` to the target, at most to the line's rate, and moves the rate halfway to the target.
  void raise(std::uint64_t step);
  void set_rate(std::uint64_t rate) { rate_ = rate; }
  std::uint64_t in_units(std::int64_t bits_per_second) const {
    return static_cast<std::uint64_t>(bits_per_second) / 1'000 / unit_.kbps;
  }

  const ReactionPoint parameters_;
  const Rate unit_;
  const std::uint64_t line_;
  std::uint64_t rate_, target_;
  std::uint64_t alpha_ = 0;
  std::uint64_t time_stage_ = 0, byte_stage_ = 0;  // increases since the last cut
  Instant cuts_from_{};
  bool has_new_alpha_notification_ = false;  // since the last update

 private:
  void advance(Instant now) {
    if (std::min(cut_due_, increase_due_) <= now) [[unlikely]] process_periods(now);
  }
  // The same if a cut or an increase is due.
  void process_periods(Instant now);
  // Whether the queue pair has a limit; periods up to now have been processed.
  bool is_limited() const { return has_begun_ && rate_ + 1 < released_at_; }  // see is_recovered() for the one
  void increase_by_timer(Instant until);
  // Whether no further increase changes the rate; the average of whole numbers may remain one below the
  // target.
  bool is_recovered() const { return target_ == line_ && rate_ + 1 >= target_; }

  const std::uint64_t released_at_;  // rate from which on the queue pair is not limited
  bool has_begun_ = false;           // there has been a notification
  Instant alpha_from_{};
  std::int64_t alpha_updates_ = 0;  // since then
  Instant cut_due_ = kNever;
  Instant increase_due_ = kNever;
  std::uint64_t sent_ = 0;  // bytes since the last increase by bytes
};

}  // namespace verbatim::hca
