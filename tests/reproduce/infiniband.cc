// InfiniBand: a parking lot and a hot spot with and without congestion control (Gran et al.), rings of switches that deadlock.
#include <algorithm>
#include <numeric>
#include <string>

#include "sim/config/device_limits.h"
#include "tests/reproduce/fabric.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr const char* kEdr = "EDR 4x";
constexpr const char* kAdapter = "edr_light";
constexpr const char* kSwitch = "edr_switch";

config::FlowSpec endless_flow(const std::string& from, const std::string& to) {
  config::FlowSpec flow;
  flow.from = from;
  flow.to = to;
  flow.bytes = 1ll << 40;
  flow.message_size = 1 << 16;
  return flow;
}

// Values that Gran et al. have evaluated, by OpenSM's names, for service level 0: entry n of the table delays by n / 4 of a
// packet's time.
Json congestion_control() {
  std::string table;
  for (int i = 0; i < 128; ++i) table += (i == 0 ? "2:" : ",2:") + std::to_string(i);
  return {{"cc_sw_cong_setting_threshold", 15},
          {"cc_sw_cong_setting_packet_size", 8},
          {"cc_ca_cong_setting_ccti_increase", Json::array({"0 1"})},
          {"cc_ca_cong_setting_ccti_timer", Json::array({"0 150"})},
          {"cc_cct", table}};
}

Shape infiniband(bool with_control) {
  Shape shape("infiniband");
  if (with_control) shape.set("congestion_control", congestion_control());
  return shape;
}

// Bytes of each flow that are acknowledged in a window of 10 ms, after as much.
std::vector<std::uint64_t> progress(Fabric& fabric) {
  fabric.run_until(Instant(10 * kMillisecond));
  std::vector<std::uint64_t> bytes;
  for (const workload::Flow& flow : fabric.flows()) bytes.push_back(flow.acknowledged());
  fabric.run_until(Instant(20 * kMillisecond));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = fabric.flows()[i].acknowledged() - bytes[i];
  return bytes;
}

double sum(const std::vector<std::uint64_t>& values, std::size_t from, std::size_t count) {
  return static_cast<double>(std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(from),
                                             values.begin() + static_cast<std::ptrdiff_t>(from + count), std::uint64_t{0}));
}

// a and b at the first switch, near and the receiver at the second.
double near_to_far(bool with_control) {
  Shape shape = infiniband(with_control);
  shape.fabric_switch("s0", kSwitch);
  shape.fabric_switch("s1", kSwitch);
  shape.cable("s0", "s1", kEdr);
  for (const auto& [host, at] : {std::pair("a", "s0"), std::pair("b", "s0"), std::pair("near", "s1"), std::pair("receiver", "s1")}) {
    shape.host(host, kAdapter);
    shape.cable(host, at, kEdr);
  }
  Fabric fabric(shape);
  for (const char* from : {"a", "b", "near"}) fabric.add(endless_flow(from, "receiver"));
  const std::vector<std::uint64_t> bytes = progress(fabric);
  return sum(bytes, 2, 1) / (sum(bytes, 0, 2) / 2);
}

// Four leaves of eight hosts, eight spines. Four hosts of leaf 1 and four of leaf 2 send to host 0, the
// others to idle hosts at leaf 0 and to one at leaf 3. Returns the bytes that the latter deliver, in % of
// those delivered without the former.
double victims_percent(bool with_control) {
  constexpr std::size_t kLeaves = 4, kHosts = 8, kSpines = 8, kVictims = 8;
  Shape shape = infiniband(with_control);
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) shape.fabric_switch(numbered("leaf", leaf), kSwitch);
  for (std::size_t spine = 0; spine < kSpines; ++spine) {
    shape.fabric_switch(numbered("spine", spine), kSwitch);
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) shape.cable(numbered("leaf", leaf), numbered("spine", spine), kEdr);
  }
  for (std::size_t host = 0; host < kLeaves * kHosts; ++host) {
    shape.host(numbered("h", host), kAdapter);
    shape.cable(numbered("h", host), numbered("leaf", host / kHosts), kEdr);
  }
  const auto victims = [&](bool with_hot_spot) {
    Fabric fabric(shape);
    for (std::size_t i = 0; i < kVictims; ++i) {
      const std::size_t from = i < 4 ? 12 + i : 16 + i;  // 12 to 15, 20 to 23
      fabric.add(endless_flow(numbered("h", from), numbered("h", i < 7 ? 1 + i : 24)));
    }
    for (std::size_t i = 0; with_hot_spot && i < 8; ++i) {
      const std::size_t from = i < 4 ? 8 + i : 12 + i;  // 8 to 11, 16 to 19
      fabric.add(endless_flow(numbered("h", from), "h0"));
    }
    return sum(progress(fabric), 0, kVictims);
  };
  return victims(true) / victims(false) * 100;
}

// With a routing engine of OpenSM's switches and adapters have four lanes, to break circles.
Shape ring(std::size_t size, const std::string& engine = "") {
  Shape shape("infiniband");
  std::string switch_profile = kSwitch, adapter = kAdapter;
  if (!engine.empty()) {
    constexpr int kLanes = 4;
    shape.set("routing_engine", engine);
    shape.profile(switch_profile = "switch_of_four_lanes", changed_profile(kSwitch, {{"virtual_lanes", kLanes}}));
    shape.profile(adapter = "adapter_of_four_lanes", changed_profile(kAdapter, {{"virtual_lanes", kLanes}}));
  }
  for (std::size_t i = 0; i < size; ++i) {
    shape.fabric_switch(numbered("s", i), switch_profile);
    shape.host(numbered("h", i), adapter);
    shape.cable(numbered("h", i), numbered("s", i), kEdr);
  }
  for (std::size_t i = 0; i < size; ++i) shape.cable(numbered("s", i), numbered("s", (i + 1) % size), kEdr);
  return shape;
}

}  // namespace

Simulated measure_infiniband(const Wanted& wanted) {
  Simulated simulated;
  simulated["parking_lot.near_to_far"] = near_to_far(false);
  if (wanted.contains("hot_spot.victims")) simulated["hot_spot.victims"] = victims_percent(false);
  if (wanted.contains("with_cc.near_to_far")) simulated["with_cc.near_to_far"] = near_to_far(true);
  if (wanted.contains("with_cc.victims")) simulated["with_cc.victims"] = victims_percent(true);
  return simulated;
}

Simulated measure_credit_loop(const Wanted&) {
  Simulated simulated;
  const auto add = [&](const std::string& key, std::size_t size, const Shape& shape) {
    Fabric fabric(shape);
    for (std::size_t i = 0; i < size; ++i) fabric.add(endless_flow(numbered("h", i), numbered("h", (i + 2) % size)));
    // Nothing moves any more, long before switches drop what waits at the heads of their queues (1 s).
    const std::vector<std::uint64_t> bytes = progress(fabric);
    simulated["deadlock." + key] = sum(bytes, 0, size) == 0 ? 1 : 0;
    config::Diagnostics diagnostics;
    config::warn_of_device_limits(fabric.topology(), diagnostics);
    const bool is_named = std::ranges::any_of(diagnostics.warnings(), [](const config::Finding& warning) {
      return warning.text.find("wait for each other's buffers in a circle") != std::string::npos;
    });
    simulated["named_by_check." + key] = is_named ? 1 : 0;
  };
  for (const std::size_t size : {4, 5}) add("ring_" + std::to_string(size), size, ring(size));
  for (const std::string engine : {"lash", "dfsssp"}) add(engine + "_5", 5, ring(5, engine));
  return simulated;
}

}  // namespace verbatim::reproduce
