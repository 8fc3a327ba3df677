// W1, W2 and the fat tree k = 4 of bench_fabric, with devices as HPCC's simulator has them.
#include <algorithm>
#include <numeric>

#include "tests/reproduce/profiles.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

Shape empty_shape() {
  Shape shape("roce");
  shape.set("interface_mtu", kJumbo);
  shape.profile("ns3", ns3_adapter());
  return shape;
}

Shape star(std::size_t hosts) {
  Shape shape = empty_shape();
  shape.fabric_switch("s", "hpcc_switch");
  for (std::size_t i = 0; i < hosts; ++i) {
    const std::string name = numbered("h", i);
    shape.host(name, "ns3");
    shape.cable(name, "s", "100 Gbps", microsecond_cable());
  }
  return shape;
}

Shape fat_tree_4() {
  Shape shape = empty_shape();
  const auto join = [&](const std::string& a, const std::string& b) { shape.cable(a, b, "100 Gbps", microsecond_cable()); };
  for (std::size_t i = 0; i < 8; ++i) {
    shape.fabric_switch(numbered("leaf", i), "hpcc_switch");
    shape.fabric_switch(numbered("agg", i), "hpcc_switch");
    if (i < 4) shape.fabric_switch(numbered("core", i), "hpcc_switch");
  }
  for (std::size_t i = 0; i < 16; ++i) {
    shape.host(numbered("h", i), "ns3");
    join(numbered("h", i), numbered("leaf", i / 2));
  }
  for (std::size_t pod = 0; pod < 4; ++pod) {
    for (std::size_t leaf = 0; leaf < 2; ++leaf)
      for (std::size_t agg = 0; agg < 2; ++agg) join(numbered("leaf", 2 * pod + leaf), numbered("agg", 2 * pod + agg));
    for (std::size_t agg = 0; agg < 2; ++agg)
      for (std::size_t core = 0; core < 2; ++core) join(numbered("agg", 2 * pod + agg), numbered("core", 2 * agg + core));
  }
  return shape;
}

config::FlowSpec flow(std::size_t from, std::size_t to, std::int64_t bytes) {
  config::FlowSpec spec;
  spec.from = numbered("h", from);
  spec.to = numbered("h", to);
  spec.bytes = spec.message_size = bytes;
  spec.traffic_class = kPriority3;
  return spec;
}

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
    fabric.add(flow(0, 1, 1'000'000'000));
    simulated["w1.finish"] = times_us(fabric).at(0);
  }
  {
    Fabric fabric(star(16));
    for (std::size_t i = 1; i < 16; ++i) fabric.add(flow(i, 0, 10'000'000));
    const std::vector<double> times = times_us(fabric);
    simulated["w2.mean"] = mean(times);
    simulated["w2.last"] = std::ranges::max(times);
  }
  if (!wanted.contains("k4.first") && !wanted.contains("k4.mean")) return simulated;
  // bench_fabric's permutation of 16 hosts.
  constexpr std::size_t kTo[] = {15, 8, 7, 0, 11, 3, 4, 9, 13, 10, 5, 2, 6, 12, 1, 14};
  std::vector<double> means;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Fabric fabric(fat_tree_4(), seed);
    for (std::size_t from = 0; from < std::size(kTo); ++from) fabric.add(flow(from, kTo[from], 10'000'000));
    const std::vector<double> times = times_us(fabric);
    means.push_back(mean(times));
    if (seed == 1) simulated["k4.first"] = std::ranges::min(times);
  }
  simulated["k4.mean"] = mean(means);
  return simulated;
}

}  // namespace verbatim::reproduce
