// `dcqcn-ns3`: DCQCN of the ns-3 models of the HPCC family (their variant "mlx"), for comparison with these. There is no byte
// counter and no bound on a cut; the first cut is at the end of the first cut period, 1 ns late; and the increase timer begins
// with the first cut. A gap between packets is that of the rate at its beginning: there these changes of the rate, unlike those
// of other controllers, leave the time of the next packet as it is, which is 330 us away for 4096 bytes at the least rate.
// Alpha is a 2^24th here and a floating-point number there; rates are whole kb/s.
#pragma once

#include "sim/hca/congestion/dcqcn.h"

namespace verbatim::hca {

class DcqcnNs3 final : public Dcqcn {
 public:
  static ReactionPoint defaults(Rate line);

  DcqcnNs3(const ReactionPoint& parameters, Rate line) : Dcqcn(parameters, line, Rate{1}) {}

  void on_sent(Instant now, std::uint32_t bytes) override;
  Instant due(Instant, const SentPacket&) override { return due_; }

 private:
  void on_first(Instant now) override;
  void on_next(Instant now) override;
  std::uint64_t next_alpha(bool has_notification) const override;
  void cut() override;
  void increase(std::uint64_t& stage) override;

  Instant due_{};  // due time of the packet behind the newest
};

}  // namespace verbatim::hca
