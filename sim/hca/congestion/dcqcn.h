// The part that variants of DCQCN (Zhu et al., SIGCOMM 2015) share: a rate and a target rate, a measure alpha of how often
// notifications come, and counters of increases by a timer and by bytes. Variants differ in when they cut, by how much, and in
// the steps of an increase.
//
// Three periods run from a notification on: updates of alpha, possible cuts, and increases. Where ends of periods are at one
// instant, alpha comes first, then the cut, then the increase; and all of them before a notification or a packet of that
// instant.
//
// Elapsed periods are stepped through one by one only as far as they change something. Alpha without notifications reaches 0
// after a few thousand updates, and the rate reaches the line's after (line / rpg_ai_rate) increases: the cost of a call has a
// bound, whatever time has passed.
#pragma once

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

 protected:
  // Rates are in units of `unit`, which the line's rate is rounded down to. `parameters` are complete.
  Dcqcn(const ReactionPoint& parameters, Rate line, Rate unit);

  // The first notification: the rate, the target and alpha are set, and the periods that the variant uses begin.
  virtual void on_first(Instant now) = 0;
  // A later one.
  virtual void on_next(Instant now) = 0;
  // Alpha after an update.
  virtual std::uint64_t next_alpha(bool has_notification) const = 0;
  virtual void cut() = 0;
  // The step that an increase adds to the target. `stage` is the counter that the increase belongs to, which has been counted
  // before the step is taken, or is counted behind it, as the variant wants.
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
  // The next end of a cut period, of which one ended at `cuts_from_`, cuts.
  void request_cut(Instant now);
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
  void advance(Instant now);
  void increase_by_timer(Instant until);
  // No further increase changes anything: the average of whole numbers may stay one below.
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
