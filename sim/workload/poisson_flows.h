// Flows with random arrivals: a Poisson process at each host, sizes from a distribution, each to another
// host.
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
  // Share of it that the payload of all flows uses, in millionths; at least 1.
  std::uint32_t load = 0;
  Duration time{0};                        // flows start before
  std::uint64_t seed = 1;
};

// An exponential variate in units of its mean, as a fixed-point number with 32 fractional bits. Von Neumann's
// method, which compares uniform numbers: a logarithm's last bit may differ between machines.
std::uint64_t draw_exponential(Rng& random);

struct PoissonFlow {
  std::uint32_t from = 0, to = 0;
  std::uint64_t bytes = 0;
  Duration start{0};
  friend bool operator==(const PoissonFlow&, const PoissonFlow&) = default;
};

// The endless sequence of flows of one host. The sizes and hot destinations must outlive it.
class ArrivalClock {
 public:
  ArrivalClock(const PoissonParams& params, const SizeDistribution& sizes, std::uint32_t host);
  // Start of the next flow.
  Duration next_start() const { return Duration(start_ps_); }
  // Draws the next flow, and the start of the one after it.
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

// In the order of their starts; equal starts in the order of senders. Each host draws from its own stream.
std::vector<PoissonFlow> poisson_flows(const PoissonParams& params, const SizeDistribution& sizes);

}  // namespace verbatim::workload
