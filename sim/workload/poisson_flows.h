// Flows that arrive at random: a Poisson process at each host, sizes by a distribution, each to another host.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/rng.h"
#include "sim/core/time.h"
#include "sim/workload/patterns.h"
#include "sim/workload/size_distribution.h"

namespace verbatim::workload {

struct PoissonParams {
  Destinations destinations;
  std::vector<std::uint64_t> bits_per_second;  // of each host's link; at least 1
  std::uint32_t load = 0;                  // share of it that the payload of all flows takes, in millionths; at least 1
  Duration time{0};                        // flows start before
  std::uint64_t seed = 1;
};

struct PoissonFlow {
  std::uint32_t from = 0, to = 0;
  std::uint64_t bytes = 0;
  Duration start{0};
  friend bool operator==(const PoissonFlow&, const PoissonFlow&) = default;
};

// In the order of their starts, of equal ones in that of their senders. A host draws from a stream of its own.
std::vector<PoissonFlow> poisson_flows(const PoissonParams& params, const SizeDistribution& sizes);

// An exponential variate in units of its mean, as a fixed-point number with 32 bits behind the point. Von Neumann's
// method, which compares uniform numbers: no logarithm, whose last bit may differ between machines.
std::uint64_t draw_exponential(Rng& random);

}  // namespace verbatim::workload
