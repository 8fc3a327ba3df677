// `swift`: computes a window from the delay of round trips (Kumar et al., Swift, SIGCOMM 2020), with the
// parameters of htsim's model (Broadcom/csg-htsim 841d9e7b, swift.cpp), which calls several of them a guess.
//
//  - Target delay: base_round_trip, plus kHopPerMille of it for each switch on the path (topology scaling), plus an
//    addition for small windows (flow scaling): kRange x base_round_trip at kSmall packets or fewer, nothing at kLarge
//    or more, and between them in proportion to 1 / sqrt(window).
//  - With a delay below the target each acknowledged packet adds 1 / window packets, or one packet to a window below
//    one. Otherwise the window is reduced by the factor kBetaPercent x (delay - target) / delay, at most by half, once
//    in a round trip.
//  - With a window below one packet, a packet starts (round trip / window) after the previous one. A larger window is
//    paced only by acknowledgements.
//
// The delay is the round trip from the adapter's port back to the adapter, including the receiver's part.
// Adapters write no time stamps that would separate the delays of fabric and host, so there is one window
// instead of Swift's two. Losses do not reduce the window. The first window is the number of bytes of the
// line in base_round_trip.
#pragma once

#include "sim/hca/congestion/parameters.h"
#include "sim/hca/congestion/rate_controller.h"

namespace verbatim::hca {

class Swift final : public RateController {
 public:
  static constexpr int kFractionBits = 20;
  static constexpr std::uint64_t kPacket = std::uint64_t{1} << kFractionBits;  // windows are in 2^-20 packets
  static constexpr int kBetaPercent = 80, kMostCutPercent = 50;
  static constexpr int kHopPerMille = 153;  // per mille of the base: 1 / 6.55
  static constexpr int kRange = 5;
  static constexpr std::uint64_t kSmall = kPacket / 10, kLarge = 100 * kPacket;
  static constexpr std::uint64_t kLeast = kPacket / 100, kMost = 1'000 * kPacket;

  static ReactionPoint defaults(Rate line);

  // `parameters` are complete.
  Swift(const ReactionPoint& parameters, Rate line) : parameters_(parameters), line_(line) {}

  void on_notification(Instant) override {}
  void on_sent(Instant, std::uint32_t) override {}
  bool wants_round_trips() const override { return true; }
  void on_acknowledged(const Acknowledged& acknowledged) override;
  std::optional<std::uint64_t> window(std::uint32_t packet_bytes) override;
  // The window per newest round trip.
  std::optional<Rate> rate(Instant) override;
  Instant next_increase(Instant) override { return kNever; }
  Instant due(Instant now, const SentPacket& newest) override;

  // For tests: in 2^-20 packets; the target with the window as it is.
  std::uint64_t packets() const { return window_; }
  Duration target(std::uint32_t hops) const;

 private:
  void begin();

  const ReactionPoint parameters_;
  const Rate line_;
  std::uint32_t packet_bytes_ = 4096;
  std::uint64_t window_ = 0;  // 0: not begun
  Duration round_trip_{0};    // the newest
  Instant shrunk_at_{};
  bool has_shrunk_ = false;
};

}  // namespace verbatim::hca
