// `dcqcn-paper`: DCQCN of Zhu et al. (SIGCOMM 2015), section 3 and 5. Each notification cuts at once, the notification point is
// expected to keep them 50 us apart. Alpha decays every dce_tcp_rtt (the paper's K) without a notification. Alpha is a 2^24th,
// rates are whole kb/s.
#pragma once

#include "sim/hca/congestion/dcqcn.h"

namespace verbatim::hca {

class DcqcnPaper final : public Dcqcn {
 public:
  static ReactionPoint defaults(Rate line);

  DcqcnPaper(const ReactionPoint& parameters, Rate line) : Dcqcn(parameters, line, Rate{1}) {}

 private:
  void on_first(Instant now) override;
  void on_next(Instant now) override;
  std::uint64_t next_alpha(bool has_notification) const override;
  void cut() override;
  void increase(std::uint64_t& stage) override;
};

}  // namespace verbatim::hca
