// `timely`: computes the rate from round trips and their gradient (Mittal et al., TIMELY, SIGCOMM 2015), as HPCC's ns-3
// model does (9f4be2a9, rdma-hw.cc, UpdateRateTimely). It needs no support of switches and receivers.
//
//  - A round trip below kLow increases the rate; one above kHigh reduces it by the factor kBeta x (1 - kHigh / round trip).
//  - Between them the mean of the differences of consecutive round trips decides. At most zero: the rate increases.
//    Above zero: the rate is reduced by the factor kBeta x mean / kLeast. A mean of kLeast / kBeta, 25 us, or more reduces it
//    to rpg_min_rate at once: flows that begin together at the rate of the line are reduced so.
//  - An increase is rpg_ai_rate, after rpg_threshold increases in a row rpg_hai_rate. The paper has the great steps between
//    kLow and kHigh alone.
//  - The first round trip changes nothing. After a change of the rate, round trips of packets that were handed over before it
//    are ignored.
//
// Each request packet asks for an acknowledgement, as in that model: with one round trip per message a flow at a low rate
// would get none for a long time.
#pragma once

#include "sim/hca/congestion/parameters.h"
#include "sim/hca/congestion/rate_controller.h"

namespace verbatim::hca {

class Timely final : public RateController {
 public:
  static constexpr Duration kLow = std::chrono::microseconds(50), kHigh = std::chrono::microseconds(500);
  static constexpr Duration kLeast = std::chrono::microseconds(20);  // a round trip without any queue
  static constexpr int kBetaPercent = 80;
  static constexpr int kNewestEighths = 7;  // weight of the newest difference in the mean, in eighths

  static ReactionPoint defaults(Rate line);

  // `parameters` are complete.
  Timely(const ReactionPoint& parameters, Rate line);

  void on_notification(Instant) override {}
  void on_sent(Instant, std::uint32_t) override {}
  bool wants_round_trips() const override { return true; }
  void on_acknowledged(const Acknowledged& acknowledged) override {
    if (acknowledged.round_trip) on_round_trip(acknowledged.now, *acknowledged.round_trip);
  }
  void on_round_trip(Instant now, Duration time) override;
  std::optional<Rate> rate(Instant) override { return rate_ >= released_at_ ? std::nullopt : std::optional(Rate{rate_}); }
  Instant next_increase(Instant) override { return kNever; }

 private:
  void raise();
  void lower(std::uint64_t numerator, std::uint64_t denominator);

  const ReactionPoint parameters_;
  const std::uint64_t line_;         // kb/s, as are the rates below
  const std::uint64_t released_at_;  // rate from which on the queue pair is not limited
  std::uint64_t rate_;
  bool has_newest_ = false;
  Instant changed_at_{};  // last evaluated round trip; those that began before it are ignored
  Duration newest_{};  // round trip
  Duration mean_{};    // mean of the differences between consecutive round trips
  std::int64_t rises_ = 0;  // in a row
};

}  // namespace verbatim::hca
