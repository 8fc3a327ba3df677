// HPCC's fat tree of 320 hosts (fat.txt of its simulator) under random flows of published sizes: by how much congestion slows
// flows down, as its fct_analysis.py reports it.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <span>

#include "sim/ib/opcode.h"
#include "sim/workload/poisson_flows.h"
#include "tests/reproduce/profiles.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr std::size_t kHosts = 320, kHostsPerTor = 16, kPods = 5, kTorsPerPod = 4, kAggsPerPod = 4, kCoresPerAgg = 4;
constexpr std::size_t kTors = kPods * kTorsPerPod, kHostsPerPod = kHostsPerTor * kTorsPerPod;
constexpr const char* kHostRate = "100 Gbps";
constexpr const char* kTrunkRate = "400 Gbps";

Shape fat_tree() {
  Shape shape("roce");
  shape.profile("ns3", ns3_adapter());
  const auto trunk = [&](const std::string& a, const std::string& b) { shape.cable(a, b, kTrunkRate, microsecond_cable()); };
  for (std::size_t i = 0; i < kTors; ++i) shape.fabric_switch(numbered("tor", i), "hpcc_switch");
  for (std::size_t i = 0; i < kPods * kAggsPerPod; ++i) shape.fabric_switch(numbered("agg", i), "hpcc_switch");
  for (std::size_t i = 0; i < kAggsPerPod * kCoresPerAgg; ++i) shape.fabric_switch(numbered("core", i), "hpcc_switch");
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

// The time of a flow alone in the fabric, by HPCC's formula: the round trip of one packet's payload, and all packets with their
// headers at the rate of a host. In us.
double alone_us(const workload::PoissonFlow& flow) {
  constexpr double kMtu = 1024, kHeaders = 82, kHostNsPerByte = 0.08, kTrunkNsPerByte = 0.02, kCableNs = 1000;
  const bool is_one_tor = flow.from / kHostsPerTor == flow.to / kHostsPerTor;
  const bool is_one_pod = flow.from / kHostsPerPod == flow.to / kHostsPerPod;
  const double links = is_one_tor ? 2 : is_one_pod ? 4 : 6;
  const double round_trip = 2 * links * kCableNs + kMtu * (2 * kHostNsPerByte + (links - 2) * kTrunkNsPerByte);
  const auto bytes = static_cast<double>(flow.bytes);
  const double packets = static_cast<double>((flow.bytes + 1023) / 1024);
  return (round_trip + (bytes + packets * kHeaders) * kHostNsPerByte) / 1000;
}

// Packets that bring data, on each link.
class Hops final : public TraceSink {
 public:
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    if (record.event != TraceEvent::kPacketTransmitted) return;
    count += ib::info(static_cast<ib::Opcode>(record.values[0])).has_payload ? 1 : 0;
  }
  bool takes_any_order() const override { return true; }
  std::uint64_t count = 0;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Done {
  std::uint64_t bytes;
  double slowdown;
};

// Flows that start within `time` at 30 % load, by size.
std::vector<Done> slowdowns(const std::string& sizes, Duration time) {
  const workload::PoissonParams params{.destinations = {.members = kHosts},
                                       .bits_per_second = std::vector<std::uint64_t>(kHosts, 100'000'000'000),
                                       .load = 300'000,
                                       .time = time,
                                       .seed = 1};
  const std::vector<workload::PoissonFlow> flows = workload::poisson_flows(params, *workload::find_size_distribution(sizes));
  const double begin = cpu_seconds();
  Fabric fabric(fat_tree());
  for (const workload::PoissonFlow& flow : flows) {
    config::FlowSpec spec;
    spec.from = numbered("h", flow.from);
    spec.to = numbered("h", flow.to);
    spec.bytes = spec.message_size = static_cast<std::int64_t>(flow.bytes);
    // HPCC's flow files have whole ns.
    spec.start = Duration(flow.start.count() / 1000 * 1000);
    spec.traffic_class = kPriority3;
    fabric.add(spec);
  }
  Hops hops;
  fabric.simulation().tracer().add(hops);
  const double start = cpu_seconds();
  fabric.run();
  const double seconds = cpu_seconds() - start;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::fprintf(stderr,
               "reproduce: fat tree of 320 hosts, %s: %zu flows, %.1f million packet-hops of data, set-up %.1f s, run %.1f s of CPU, "
               "%.2f million packet-hops/s, %ld MB at most\n",
               sizes.c_str(), flows.size(), static_cast<double>(hops.count) / 1e6, start - begin, seconds,
               static_cast<double>(hops.count) / 1e6 / seconds, usage.ru_maxrss / 1024);
  std::vector<Done> done;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const workload::Flow& flow = fabric.flows()[i];
    if (!flow.is_done() || flow.status() != ib::WcStatus::kSuccess) continue;
    done.push_back({flows[i].bytes, std::max(1.0, time_us(flow) / alone_us(flows[i]))});
  }
  std::ranges::stable_sort(done, {}, &Done::bytes);
  return done;
}

void add_percentiles(Simulated& simulated, const std::string& prefix, std::span<const Done> flows) {
  std::vector<double> sorted;
  for (const Done& flow : flows) sorted.push_back(flow.slowdown);
  if (sorted.empty()) return;
  std::ranges::sort(sorted);
  for (const auto& [name, share] : {std::pair("p50", 0.5), std::pair("p95", 0.95), std::pair("p99", 0.99)})
    simulated[prefix + "." + name] = sorted[static_cast<std::size_t>(static_cast<double>(sorted.size()) * share)];
}

void add_bins(Simulated& simulated, const std::string& prefix, const std::vector<Done>& flows) {
  add_percentiles(simulated, prefix + ".all", flows);
  constexpr std::size_t kStep = 5, kAll = 100;  // percent
  for (std::size_t from = 0; from < kAll; from += kStep) {
    const std::size_t first = from * flows.size() / kAll, end = (from + kStep) * flows.size() / kAll;
    add_percentiles(simulated, prefix + ".from_" + std::to_string(from), std::span(flows).subspan(first, end - first));
  }
  simulated[prefix + ".finished"] = static_cast<double>(flows.size());
}

}  // namespace

Simulated measure_hpcc_fat_tree(const Wanted&) {
  Simulated simulated;
  add_bins(simulated, "fb_hadoop", slowdowns("fb-hadoop", 10 * kMillisecond));
  return simulated;
}

}  // namespace verbatim::reproduce
