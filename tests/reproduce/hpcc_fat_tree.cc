// HPCC's fat tree of 320 hosts (fat.txt of its simulator) with random flows of published sizes.
#include <algorithm>

#include "tests/reproduce/profiles.h"
#include "tests/reproduce/random_flows.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr std::size_t kHosts = 320, kHostsPerTor = 16, kPods = 5, kTorsPerPod = 4, kAggsPerPod = 4,
                      kCoresPerAgg = 4;
constexpr std::size_t kTors = kPods * kTorsPerPod, kHostsPerPod = kHostsPerTor * kTorsPerPod;
constexpr const char* kHostRate = "100 Gbps";
constexpr const char* kTrunkRate = "400 Gbps";

IdlePath idle_path(const workload::PoissonFlow& flow) {
  const bool is_one_tor = flow.from / kHostsPerTor == flow.to / kHostsPerTor;
  const bool is_one_pod = flow.from / kHostsPerPod == flow.to / kHostsPerPod;
  return {.links = is_one_tor   ? 2.0
                   : is_one_pod ? 4.0
                                : 6.0,
          .host_ns_per_byte = 0.08,
          .trunk_ns_per_byte = 0.02,
          .cable_ns = 1000};
}

}  // namespace

Shape hpcc_fat_tree() {
  Shape shape("roce");
  shape.profile("ns3", ns3_adapter());
  const auto trunk = [&](const std::string& a, const std::string& b) {
    shape.cable(a, b, kTrunkRate, microsecond_cable());
  };
  for (std::size_t i = 0; i < kTors; ++i) shape.fabric_switch(numbered("tor", i), "hpcc_switch");
  for (std::size_t i = 0; i < kPods * kAggsPerPod; ++i)
    shape.fabric_switch(numbered("agg", i), "hpcc_switch");
  for (std::size_t i = 0; i < kAggsPerPod * kCoresPerAgg; ++i)
    shape.fabric_switch(numbered("core", i), "hpcc_switch");
  for (std::size_t i = 0; i < kHosts; ++i) {
    shape.host(numbered("h", i), "ns3");
    shape.cable(numbered("h", i), numbered("tor", i / kHostsPerTor), kHostRate, microsecond_cable());
  }
  for (std::size_t tor = 0; tor < kTors; ++tor)
    for (std::size_t agg = 0; agg < kAggsPerPod; ++agg)
      trunk(numbered("tor", tor), numbered("agg", tor / kTorsPerPod * kAggsPerPod + agg));
  for (std::size_t pod = 0; pod < kPods; ++pod)
    for (std::size_t agg = 0; agg < kAggsPerPod; ++agg)
      for (std::size_t core = 0; core < kCoresPerAgg; ++core)
        trunk(numbered("agg", pod * kAggsPerPod + agg), numbered("core", agg * kCoresPerAgg + core));
  return shape;
}

RandomFlows hpcc_fat_tree_flows(const std::string& sizes) {
  return {.name = "fat tree of 320 hosts, " + sizes,
          .hosts = kHosts,
          .bits_per_second = 100'000'000'000,
          .load = 300'000,
          .time = 10 * kMillisecond,
          .sizes = *workload::find_size_distribution(sizes),
          .alone_us = [](const workload::PoissonFlow& flow) {
            return time_alone_us(flow.bytes, idle_path(flow));
          }};
}

Simulated measure_hpcc_fat_tree(const Wanted& wanted) {
  Simulated simulated;
  for (const auto& [sizes, key] :
       {std::pair("fb-hadoop", "fb_hadoop"), std::pair("websearch", "websearch")}) {
    const std::string prefix = std::string(key) + ".";
    if (std::ranges::none_of(wanted, [&](const std::string& one) { return one.starts_with(prefix); }))
      continue;
    add_slowdowns(simulated, key, run_random_flows(hpcc_fat_tree(), hpcc_fat_tree_flows(sizes)).flows);
  }
  return simulated;
}

}  // namespace verbatim::reproduce
