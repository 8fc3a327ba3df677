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

// An exponential variate in units of its mean, as a fixed-point number with 32 bits behind the point. Von Neumann's
// method, which compares uniform numbers: no logarithm, whose last bit may differ between machines.
std::uint64_t draw_exponential(Rng& random);

struct PoissonFlow {
  std::uint32_t from = 0, to = 0;
  std::uint64_t bytes = 0;
  Duration start{0};
  friend bool operator==(const PoissonFlow&, const PoissonFlow&) = default;
};

// The flows of one host, one after the other, without end. The sizes and hot destinations outlive it.
class ArrivalClock {
 public:
  ArrivalClock(const PoissonParams& params, const SizeDistribution& sizes, std::uint32_t host);
  // When the next one starts.
  Duration next_start() const { return Duration(start_ps_); }
  // Draws it, and when the one behind it starts.
  PoissonFlow take();

 private:
  std::int64_t wait() { return static_cast<std::int64_t>(mean_ps_ * draw_exponential(random_) >> 32); }

  const Destinations destinations_;
  const SizeDistribution& sizes_;
  const std::uint32_t host_;
  const unsigned __int128 mean_ps_;  // between flows
  Rng random_;
  std::int64_t start_ps_;
};

// In the order of their starts, of equal ones in that of their senders. A host draws from a stream of its own.
std::vector<PoissonFlow> poisson_flows(const PoissonParams& params, const SizeDistribution& sizes);

}  // namespace verbatim::workload
