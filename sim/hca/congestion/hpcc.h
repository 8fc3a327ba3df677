// `hpcc`: computes a rate, and a window in proportion to it, from the telemetry of switches (Li et al., HPCC,
// SIGCOMM 2019), as HPCC's ns-3 model does with a single rate (9f4be2a9, rdma-hw.cc, UpdateRateHp).
//
//  - Utilisation of an output: bytes sent between two records / bytes that the line can send in that time, plus the
//    smaller queue of the two records / bytes of a full window. The mean over one base_round_trip of the most utilised
//    output of the path counts.
//  - If the mean is at least kTargetPercent, or after rpg_threshold additive steps in a row, the new rate is the
//    reference rate x target / mean, plus rpg_ai_rate. Otherwise it is the reference rate plus rpg_ai_rate.
//  - Every acknowledgement computes the rate from the reference rate, which is the rate at the end of the last round
//    trip. The first acknowledgement of each round trip makes its result the reference rate. The very first one only
//    stores its records.
//
// The window is the number of bytes of the line in base_round_trip, times rate / line rate. Arithmetic is in
// integers: rates in kb/s, the mean in 2^-20.
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
  // Updates the mean by new records. False: they cannot be compared with the previous ones.
  bool measure(const ib::Telemetry& telemetry);

  const ReactionPoint parameters_;
  const std::uint64_t line_;  // kb/s, as are the rates below
  const std::uint64_t released_at_;
  const std::uint64_t whole_window_;  // bytes
  std::uint64_t rate_;
  std::uint64_t last_rate_;  // reference rate
  std::int64_t steps_ = 0;   // additive steps in a row
  std::uint64_t busy_ = std::uint64_t{1} << kFractionBits;  // mean utilisation, in 2^-20; 1 at first, as in that model
  bool has_records_ = false;
  ib::Telemetry newest_;
  ib::Psn round_trip_end_;  // PSNs from here on belong to the next round trip
};

}  // namespace verbatim::hca
