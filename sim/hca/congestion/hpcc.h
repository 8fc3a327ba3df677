// `hpcc`: a rate, and a window in proportion, by what switches write into packets (Li et al., HPCC, SIGCOMM 2019), as HPCC's
// ns-3 model has it with a single rate (9f4be2a9, rdma-hw.cc, UpdateRateHp).
//
//  - How busy an output is: the bytes that have left between two records, over what it can send, plus the lesser of the two
//    queues over what the window holds. The busiest output of the route counts, in a mean over one base_round_trip.
//  - At kTargetPercent, or after rpg_threshold steps in a row, the rate becomes that of the last round trip, times
//    the target over the mean, plus rpg_ai_rate; else rpg_ai_rate is added to that.
//  - Every acknowledgement decides anew from the rate of the last round trip; the first of each round trip makes its
//    decision that rate. The first of all only keeps its records.
//
// The window is what the line carries in base_round_trip, in proportion to the rate. Arithmetic is in integers: rates are
// whole kb/s, the mean is in 2^-20.
#pragma once

#include "sim/hca/congestion/parameters.h"
#include "sim/hca/congestion/rate_controller.h"

namespace verbatim::hca {

class Hpcc final : public RateController {
 public:
  static constexpr std::uint64_t kTargetPercent = 95;
  static constexpr int kFractionBits = 20;

  static ReactionPoint defaults(Rate line);

  // `parameters` are complete.
  Hpcc(const ReactionPoint& parameters, Rate line);

  void on_notification(Instant) override {}
  void on_sent(Instant, std::uint32_t) override {}
  bool wants_round_trips() const override { return true; }
  void on_acknowledged(const Acknowledged& acknowledged) override;
  std::optional<std::uint64_t> window(std::uint32_t packet_bytes) override;
  std::optional<Rate> rate(Instant) override { return rate_ >= released_at_ ? std::nullopt : std::optional(Rate{rate_}); }
  Instant next_increase(Instant) override { return kNever; }

 private:
  // The mean takes in the records of the newest packet; false: they say nothing.
  bool measure(const ib::Telemetry& telemetry);

  const ReactionPoint parameters_;
  const std::uint64_t line_;  // kb/s; likewise below
  const std::uint64_t released_at_;
  const std::uint64_t whole_window_;  // bytes
  std::uint64_t rate_;
  std::uint64_t last_rate_;  // rate at the end of the last round trip
  std::int64_t steps_ = 0;   // in a row
  std::uint64_t busy_ = 0;   // the mean
  bool has_records_ = false;
  ib::Telemetry newest_;
  ib::Psn round_trip_end_;  // PSNs from here on belong to the next round trip
};

}  // namespace verbatim::hca
