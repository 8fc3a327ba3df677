#include "tests/reproduce/random_flows.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <span>

#include "sim/ib/opcode.h"
#include "tests/reproduce/profiles.h"

namespace verbatim::reproduce {
namespace {

// Counts data packets on each link.
class DataHops final : public TraceSink {
 public:
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    count += ib::info(static_cast<ib::Opcode>(record.values[0])).has_payload ? 1 : 0;
  }
  TraceEvents events() const override { return bits_of(TraceEvent::kPacketTransmitted); }
  bool takes_any_order() const override { return true; }
  std::uint64_t count = 0;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void print_cost(const std::string& name, const RunCost& cost) {
  const double hops = static_cast<double>(cost.packet_hops), events = static_cast<double>(cost.events);
  std::fprintf(
      stderr,
      "reproduce: %s: %zu flows, %.1f million packet-hops of data, %.1f million events, set-up %.1f s, run %.1f s of CPU, "
      "%.2f million packet-hops/s, %ld MB at most\n",
      name.c_str(), cost.flows, hops / 1e6, events / 1e6, cost.set_up_seconds, cost.run_seconds,
      hops / 1e6 / cost.run_seconds, cost.peak_kib / 1024);
}

void add_percentiles(Simulated& simulated, const std::string& prefix, std::span<const FlowSlowdown> flows) {
  std::vector<double> sorted;
  for (const FlowSlowdown& flow : flows) sorted.push_back(flow.slowdown);
  if (sorted.empty()) return;
  std::ranges::sort(sorted);
  simulated[prefix + ".mean"] = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  for (const auto& [name, share] : {std::pair("p50", 0.5), std::pair("p95", 0.95), std::pair("p99", 0.99)})
    simulated[prefix + "." + name] =
        sorted[static_cast<std::size_t>(static_cast<double>(sorted.size()) * share)];
}

}  // namespace

double time_alone_us(std::uint64_t bytes, const IdlePath& path) {
  constexpr double kMtu = 1024, kHeaders = 82;
  const double round_trip = 2 * path.links * path.cable_ns +
                            kMtu * (2 * path.host_ns_per_byte + (path.links - 2) * path.trunk_ns_per_byte);
  const auto packets = static_cast<double>((bytes + 1023) / 1024);
  return (round_trip + (static_cast<double>(bytes) + packets * kHeaders) * path.host_ns_per_byte) / 1000;
}

RandomRun run_random_flows(const Shape& shape, const RandomFlows& traffic) {
  const workload::PoissonParams params{
      .destinations = {.members = static_cast<std::uint32_t>(traffic.hosts)},
      .bits_per_second = std::vector<std::uint64_t>(traffic.hosts, traffic.bits_per_second),
      .load = traffic.load,
      .time = traffic.time,
      .seed = 1};
  const std::vector<workload::PoissonFlow> flows = workload::poisson_flows(params, traffic.sizes);
  RandomRun result;
  RunCost& cost = result.cost;
  cost.flows = flows.size();
  const double begin = cpu_seconds();
  Fabric fabric(shape);
  for (const workload::PoissonFlow& flow : flows) {
    config::FlowSpec spec;
    spec.from = numbered("h", flow.from);
    spec.to = numbered("h", flow.to);
    spec.bytes = spec.message_size = static_cast<std::int64_t>(flow.bytes);
    spec.start = Duration(flow.start.count() / 1000 * 1000);
    spec.traffic_class = kPriority3;
    spec.acknowledgement_traffic_class = traffic.acknowledgement_class;
    spec.timeout = traffic.timeout;
    fabric.add(spec);
  }
  DataHops hops;
  fabric.simulation().tracer().add(hops);
  const double start = cpu_seconds();
  cost.set_up_seconds = start - begin;
  fabric.run();
  cost.run_seconds = cpu_seconds() - start;
  cost.packet_hops = hops.count;
  cost.events = fabric.engine().events_executed();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  cost.peak_kib = usage.ru_maxrss;
  print_cost(traffic.name, cost);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const workload::Flow& flow = fabric.flows()[i];
    if (flows[i].start < traffic.counted_from) continue;
    if (!flow.is_done() || flow.status() != ib::WcStatus::kSuccess) continue;
    const double time = time_us(flow);
    result.flows.push_back({flows[i].bytes, std::max(1.0, time / traffic.alone_us(flows[i])), time});
  }
  std::ranges::stable_sort(result.flows, {}, &FlowSlowdown::bytes);
  return result;
}

void add_slowdowns(Simulated& simulated, const std::string& prefix, const std::vector<FlowSlowdown>& flows) {
  add_percentiles(simulated, prefix + ".all", flows);
  constexpr std::size_t kStep = 5, kAll = 100;  // percent
  for (std::size_t from = 0; from < kAll; from += kStep) {
    const std::size_t first = from * flows.size() / kAll, end = (from + kStep) * flows.size() / kAll;
    add_percentiles(simulated, prefix + ".from_" + std::to_string(from),
                    std::span(flows).subspan(first, end - first));
  }
  simulated[prefix + ".finished"] = static_cast<double>(flows.size());
}

}  // namespace verbatim::reproduce
