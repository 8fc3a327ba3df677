#include "sim/workload/poisson_flows.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "sim/core/check.h"

namespace verbatim::workload {

std::uint64_t draw_exponential(Rng& random) {
  // Runs of falling uniform numbers: one of odd length happens with probability 1 - 1/e, and its first number has then the
  // density of the variate's fraction. Each run of even length adds a whole mean.
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

std::vector<PoissonFlow> poisson_flows(const PoissonParams& params, const SizeDistribution& sizes) {
  const std::uint32_t hosts = params.destinations.members;
  CHECK(hosts >= 2 && params.bits_per_second.size() == hosts && params.load > 0);
  constexpr unsigned __int128 kBitsPerByte = 8, kPsPerSecond = 1'000'000'000'000;
  std::vector<PoissonFlow> flows;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    CHECK(params.bits_per_second[host] > 0);
    // Mean time between the flows of a host.
    const unsigned __int128 denominator = static_cast<unsigned __int128>(params.bits_per_second[host]) * params.load * 2;
    const unsigned __int128 mean_ps = sizes.scaled_mean() * kBitsPerByte * kPsPerSecond / denominator;
    Rng random(params.seed, "workload/poisson/" + std::to_string(host));
    const auto wait = [&] { return static_cast<std::int64_t>(mean_ps * draw_exponential(random) >> 32); };
    for (std::int64_t start = wait(); start < to_ps(params.time); start += wait()) {
      const std::uint32_t to = params.destinations.draw(host, random);
      const std::uint64_t bytes = sizes.draw(random);
      flows.push_back({host, to, bytes, Duration(start)});
    }
  }
  std::ranges::sort(flows, {}, [](const PoissonFlow& flow) { return std::tuple(flow.start, flow.from); });
  return flows;
}

}  // namespace verbatim::workload
