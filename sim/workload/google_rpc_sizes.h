// Sizes of remote procedure calls at Google before 2008, from HPCC's generator
// (alibaba-edu/High-Precision-Congestion-Control, traffic_gen/GoogleRPC2008.txt, commit 9f4be2a9): bytes, and
// the share of flows that are not larger, rounded to millionths.
#pragma once

#include <cstddef>

#include "sim/workload/size_distribution.h"

namespace verbatim::workload {

inline constexpr std::size_t kGoogleRpcPoints = 843;
extern const SizeDistribution::Point kGoogleRpcSizes[kGoogleRpcPoints];

}  // namespace verbatim::workload
