// Random flows of published sizes on a fabric: the slowdown of each compared to a lone flow, as computed by
// HPCC's fct_analysis.py.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/workload/poisson_flows.h"
#include "sim/workload/size_distribution.h"
#include "sim/workload/traffic.h"
#include "tests/reproduce/fabric.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {

struct RandomFlows {
  std::string name;   // in the output
  std::size_t hosts;  // "h0" to "hN-1" of the shape
  std::uint64_t bits_per_second;
  std::uint32_t load;  // payload only, in millionths of the rate
  Duration time;       // flows start within this time
  workload::SizeDistribution sizes;
  // Duration of a lone flow, in us.
  std::function<double(const workload::PoissonFlow&)> alone_us;
  std::uint8_t timeout = workload::FlowKind{}.timeout;  // FlowKind::timeout
  std::uint32_t acknowledgement_class = workload::FlowKind::kAsData;  // traffic class of acknowledgements
  Duration counted_from{0};  // flows that start before are simulated and not reported
};

// The path of a flow in an otherwise idle fabric.
struct IdlePath {
  double links = 2;
  double host_ns_per_byte = 0, trunk_ns_per_byte = 0;
  double cable_ns = 0;
};
// Duration of a lone flow by HPCC's formula, in us: the round trip of a packet with 1,024 bytes of payload,
// plus all packets with headers at the host's rate.
double time_alone_us(std::uint64_t bytes, const IdlePath& path);

struct FlowSlowdown {
  std::uint64_t bytes;
  double slowdown;  // at least 1
  double time_us;
};

struct RunCost {
  std::size_t flows = 0;
  std::uint64_t packet_hops = 0;  // of packets with payload
  std::uint64_t events = 0;
  double set_up_seconds = 0, run_seconds = 0;  // CPU time
  long peak_kib = 0;
};

struct RandomRun {
  std::vector<FlowSlowdown> flows;  // reported flows that have finished, by size
  RunCost cost;
};

// Seed 1; priority 3; starts in whole ns, as in HPCC's flow files. Prints the cost on standard error.
RandomRun run_random_flows(const Shape& shape, const RandomFlows& traffic);

// Adds PREFIX.all and PREFIX.from_N (the 5 % of flows by size that begin at N %), each with .mean, .p50, .p95, .p99;
// and PREFIX.finished.
void add_slowdowns(Simulated& simulated, const std::string& prefix, const std::vector<FlowSlowdown>& flows);

// HPCC's fat tree, fat.txt of its simulator, with the adapters and switches of profiles.h; and its flows at
// 30 % for 10 ms.
Shape hpcc_fat_tree();
RandomFlows hpcc_fat_tree_flows(const std::string& sizes);

}  // namespace verbatim::reproduce
