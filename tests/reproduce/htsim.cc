// htsim, the simulator of the Ultra Ethernet Consortium: its model of RoCE, run on the same fabrics, and its
// published values of a window-based transport that sprays packets.
#include <algorithm>
#include <numeric>
#include <span>

#include "sim/workload/patterns.h"
#include "tests/reproduce/shapes.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

// An adapter that takes no time. `controller` "none": at the line's rate, unless it is paused.
Json adapter(const std::string& controller) {
  Json profile = ns3_adapter();
  Json& control = profile["congestion_control"];
  control["controller"]["value"] = controller;
  control["ecn_capable"]["value"] = false;
  if (controller != "none")
    control["base_round_trip"] = {{"value", "12 us"}, {"source", "six links of 1 us, both ways"}};
  profile["link_rate_max"] = {{"value", "NDR 4x"}, {"source", "tests/reproduce"}};
  return profile;
}

// Pauses an input above 15 packets and resumes it below 12, independent of other inputs: the threshold is
// 1/256 of a large pool.
Json htsim_switch() {
  return changed_profile("hpcc_switch", {{"name", "htsim"},
                                         {"shared_memory",
                                          {{"size", "16000000 B"},
                                           {"reserved", "0 B"},
                                           {"lossless_alpha_log2", -8},
                                           {"resume_offset", "12402 B"}}},
                                         {"marking", nullptr}});
}

Devices roce_devices() { return {.adapter = adapter("none"), .changed_switch = htsim_switch()}; }

// Spraying, by queues. Marks mean nothing to an adapter that is not ECN-capable.
Shape sprayed(Shape shape) {
  shape.set("load_balancing", {{"by", "packet"}, {"grade", "4 KiB"}});
  return shape;
}

struct Ends {
  double first = 0, last = 0;  // us
};

Ends run_flows(const Shape& shape, std::span<const workload::Pair> pairs, std::int64_t bytes) {
  Fabric fabric(shape);
  for (const workload::Pair& pair : pairs) fabric.add(flow_between(pair.from, pair.to, bytes));
  fabric.run();
  std::vector<double> times;
  for (const workload::Flow& flow : fabric.flows()) times.push_back(time_us(flow));
  return {std::ranges::min(times), std::ranges::max(times)};
}

std::vector<workload::Pair> random_permutation(std::uint32_t members) {
  Rng random(1, "permutation");
  return workload::permutation(members, random);
}

bool wants(const Wanted& wanted, const std::string& prefix) {
  return std::ranges::any_of(wanted, [&](const std::string& key) { return key.starts_with(prefix); });
}

}  // namespace

Simulated measure_htsim(const Wanted& wanted) {
  constexpr std::int64_t kPackets = 484,
                         kPayload = 4096;  // packets of 4,198 bytes on the line there and here
  constexpr std::int64_t kTwoMb = 2'000'000;
  constexpr workload::Pair kOne[] = {{0, 15}}, kBoth[] = {{0, 15}, {15, 0}}, kUecOne[] = {{0, 13}},
                           kUecBoth[] = {{0, 13}, {13, 0}};
  Simulated simulated;
  const Shape roce = fat_tree(4, roce_devices());
  simulated["roce.one"] = run_flows(roce, kOne, kPackets * kPayload).last;
  simulated["roce.both_ways"] = run_flows(roce, kBoth, kPackets * kPayload).last;
  simulated["roce.incast_16"] = run_flows(roce, workload::incast(16, 0, 15), kPackets * kPayload).last;
  const Ends shift = run_flows(sprayed(roce), workload::shift(16, 8), kPackets * kPayload);
  simulated["roce.sprayed_16.first"] = shift.first;
  simulated["roce.sprayed_16.last"] = shift.last;

  const Devices window{.adapter = adapter("swift")};
  const Shape uec = sprayed(fat_tree(4, window));
  simulated["uec.one"] = run_flows(uec, kUecOne, kTwoMb).last;
  simulated["uec.both_ways"] = run_flows(uec, kUecBoth, kTwoMb).last;
  simulated["uec.incast_16"] = run_flows(uec, workload::incast(16, 15, 15), kTwoMb).last;
  simulated["uec.permutation_16"] = run_flows(uec, random_permutation(16), kTwoMb).last;
  if (wants(wanted, "uec.incast_128"))
    simulated["uec.incast_128"] =
        run_flows(sprayed(fat_tree(8, window)), workload::incast(128, 33, 127), kTwoMb).last;
  if (wants(wanted, "uec.permutation_1024"))
    simulated["uec.permutation_1024"] =
        run_flows(sprayed(fat_tree(16, window)), random_permutation(1024), kTwoMb).last;
  for (const auto& [key, spines] : {std::pair("uec.four_to_one", 8), std::pair("uec.eight_to_one", 4)}) {
    if (!wants(wanted, key)) continue;
    const Shape shape = sprayed(leaf_spine(32, 32, static_cast<std::size_t>(spines), window));
    simulated[key] = run_flows(shape, random_permutation(1024), kTwoMb).last;
  }
  return simulated;
}

Simulated measure_htsim_8192(const Wanted& wanted) {
  Simulated simulated;
  for (const std::string controller : {"swift", "none"}) {
    const std::string key = "permutation." + controller + ".last";
    if (!wanted.contains(key)) continue;
    const Devices devices{.adapter = adapter(controller), .rate = "400 Gbps"};
    simulated[key] = run_flows(sprayed(leaf_spine(128, 64, 64, devices)), random_permutation(8192), 4'000'000).last;
  }
  return simulated;
}

}  // namespace verbatim::reproduce
