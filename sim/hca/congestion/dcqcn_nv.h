// `dcqcn-nv`: DCQCN as ConnectX adapters are documented to have it, with rates in whole Mb/s and alpha in 1024ths. Source: the
// parameters' documentation, and Google's isekai, which models the adapter in integers.
//
// The first notification cuts nothing. A later one marks the current period of alpha and that of cuts; at the end of a marked
// period alpha rises, or the rate is cut.
#pragma once

#include "sim/hca/congestion/dcqcn.h"

namespace verbatim::hca {

class DcqcnNv final : public Dcqcn {
 public:
  static ReactionPoint defaults(Rate line);

  DcqcnNv(const ReactionPoint& parameters, Rate line) : Dcqcn(parameters, line, Rate::of_mbps(1)) {}

 private:
  void on_first(Instant now) override;
  void on_next(Instant now) override;
  std::uint64_t next_alpha(bool has_notification) const override;
  void cut() override;
  void increase(std::uint64_t& stage) override;
};

}  // namespace verbatim::hca
