#include "sim/workload/poisson_flows.h"

#include "sim/workload/traffic.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "sim/core/check.h"

namespace verbatim::workload {

std::uint64_t draw_exponential(Rng& random) {
  // Descending runs of uniform numbers: a run of odd length has probability 1 - 1/e, and its first number
  // then has the density of the variate's fraction. Each run of even length adds a whole mean.
  for (std::uint64_t whole = 0;; ++whole) {
    const std::uint64_t first = random.next();
    std::uint64_t length = 1;
    for (std::uint64_t last = first, next = random.next(); next < last; next = random.next()) {
      last = next;
      ++length;
    }
    if (length % 2 == 1) return whole << 32 | first >> 32;
  }
}

namespace {

unsigned __int128 mean_wait_ps(const PoissonParams& params, const SizeDistribution& sizes, std::uint32_t host) {
  constexpr unsigned __int128 kBitsPerByte = 8, kPsPerSecond = 1'000'000'000'000;
  CHECK(params.bits_per_second[host] > 0 && params.load > 0);
  return sizes.scaled_mean() * kBitsPerByte * kPsPerSecond /
         (static_cast<unsigned __int128>(params.bits_per_second[host]) * params.load * 2);
}

}  // namespace

ArrivalClock::ArrivalClock(const PoissonParams& params, const SizeDistribution& sizes, std::uint32_t host)
    : destinations_(params.destinations),
      sizes_(sizes),
      host_(host),
      mean_ps_(mean_wait_ps(params, sizes, host)),
      random_(params.seed, "workload/poisson/" + std::to_string(host)),
      start_ps_(wait()) {}

PoissonFlow ArrivalClock::take() {
  const std::uint32_t to = destinations_.draw(host_, random_);
  const std::uint64_t bytes = sizes_.draw(random_);
  const PoissonFlow flow{host_, to, bytes, Duration(start_ps_)};
  start_ps_ += wait();
  return flow;
}

PoissonParams LoadPlan::arrivals() const {
  PoissonParams params;
  params.destinations = {static_cast<std::uint32_t>(members.size()), targets, hot_share, hot_parts};
  params.bits_per_second = bits_per_second;
  params.load = load;
  params.seed = seed;
  return params;
}

std::vector<PoissonFlow> poisson_flows(const PoissonParams& params, const SizeDistribution& sizes) {
  const std::uint32_t hosts = params.destinations.members;
  CHECK(hosts >= 2 && params.bits_per_second.size() == hosts);
  std::vector<PoissonFlow> flows;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    ArrivalClock clock(params, sizes, host);
    while (clock.next_start() < params.time) flows.push_back(clock.take());
  }
  std::ranges::sort(flows, {}, [](const PoissonFlow& flow) { return std::tuple(flow.start, flow.from); });
  return flows;
}

}  // namespace verbatim::workload
