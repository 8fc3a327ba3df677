// W1, W2 and the fat tree k = 4 of bench_fabric, with devices like those of HPCC's simulator.
#include <algorithm>
#include <numeric>

#include "tests/reproduce/shapes.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

std::vector<double> times_us(Fabric& fabric) {
  fabric.run();
  std::vector<double> times;
  for (const workload::Flow& one : fabric.flows()) times.push_back(time_us(one));
  return times;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Simulated measure_ns3_forks(const Wanted& wanted) {
  Simulated simulated;
  {
    Fabric fabric(star(2));
    fabric.add(flow_between(0, 1, 1'000'000'000));
    simulated["w1.finish"] = times_us(fabric).at(0);
  }
  {
    Fabric fabric(star(16));
    for (std::size_t i = 1; i < 16; ++i) fabric.add(flow_between(i, 0, 10'000'000));
    const std::vector<double> times = times_us(fabric);
    simulated["w2.mean"] = mean(times);
    simulated["w2.last"] = std::ranges::max(times);
  }
  if (!wanted.contains("k4.first") && !wanted.contains("k4.mean")) return simulated;
  // The permutation of 16 hosts that bench_fabric has.
  constexpr std::size_t kTo[] = {15, 8, 7, 0, 11, 3, 4, 9, 13, 10, 5, 2, 6, 12, 1, 14};
  std::vector<double> means;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Fabric fabric(fat_tree(4), seed);
    for (std::size_t from = 0; from < std::size(kTo); ++from) fabric.add(flow_between(from, kTo[from], 10'000'000));
    const std::vector<double> times = times_us(fabric);
    means.push_back(mean(times));
    if (seed == 1) simulated["k4.first"] = std::ranges::min(times);
  }
  simulated["k4.mean"] = mean(means);
  return simulated;
}

}  // namespace verbatim::reproduce
