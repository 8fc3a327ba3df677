// Sizes of remote procedure calls at Google before 2008, as HPCC's generator has them
// (alibaba-edu/High-Precision-Congestion-Control, traffic_gen/GoogleRPC2008.txt, commit 9f4be2a9): bytes, and flows that are not
// larger, rounded to millionths.
#pragma once

#include <cstddef>

#include "sim/workload/size_distribution.h"

namespace verbatim::workload {

inline constexpr std::size_t kGoogleRpcPoints = 843;
extern const SizeDistribution::Point kGoogleRpcSizes[kGoogleRpcPoints];

}  // namespace verbatim::workload
