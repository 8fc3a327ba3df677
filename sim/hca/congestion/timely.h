// `timely`: computes the rate from round trips and their gradient (Mittal et al., TIMELY, SIGCOMM 2015), with
// the parameters of HPCC's ns-3 model. It needs no support of switches and receivers.
//
//  - A round trip below kLow increases the rate by rpg_ai_rate; one above kHigh reduces it by the factor
//    kBeta x (1 - kHigh / round trip).
//  - Between them the mean of the differences of consecutive round trips decides. At most zero: the rate increases by
//    rpg_ai_rate, from the rpg_threshold-th such round trip in a row on by rpg_hai_rate. Above zero: the rate is reduced
//    by the factor kBeta x mean / kLeast.
//
// Only packets with AckReq have round trips: the last ones of messages, unless the profile has
// ack_every_packets. After a change of the rate, round trips of packets that were handed over before it are
// ignored, as in that model.
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
  void on_round_trip(Instant now, Duration time) override;
  std::optional<Rate> rate(Instant) override { return rate_ >= released_at_ ? std::nullopt : std::optional(Rate{rate_}); }
  Instant next_increase(Instant) override { return kNever; }

 private:
  void raise(std::int64_t bits_per_second);
  void lower(std::uint64_t numerator, std::uint64_t denominator);

  const ReactionPoint parameters_;
  const std::uint64_t line_;         // kb/s, as are the rates below
  const std::uint64_t released_at_;  // rate from which on the queue pair is not limited
  std::uint64_t rate_;
  bool has_newest_ = false;
  Instant changed_at_{};  // last evaluated round trip; those that began before it are ignored
  Duration newest_{};  // round trip
  Duration mean_{};    // mean of the differences between consecutive round trips
  std::int64_t rises_ = 0;  // in a row, between kLow and kHigh
};

}  // namespace verbatim::hca
