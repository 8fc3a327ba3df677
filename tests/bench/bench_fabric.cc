// Flows without programs and payload, with digest, on RoCE at 100 Gb/s, MTU 4096. Prints data packets times links per
// CPU-second, events per packet and link, and peak memory; each row runs in a process of its own. Short rows run several
// times, and the shortest time counts. Argument: a prefix of the names of the rows to run ("W3").
//
// W1: one flow of 1 GB between two hosts at one switch
// W2: 15 flows of 10 MB into one host at one switch
// W3: each host of a three-tier fat tree sends to one other; 10 MB, at k = 16 1 MB
// light: the same between light endpoints
// ring: an all-reduce of 64 MiB among 256 hosts of a three-tier fat tree, by a ring whose steps depend on each other
// PFC, DCQCN: the same with shared-memory switches that send pauses, and with hosts that control their rates
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/flows.h"
#include "sim/config/load.h"
#include "sim/config/simulation.h"
#include "sim/ib/opcode.h"
#include "sim/observe/digest_sink.h"

namespace {

using namespace verbatim;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Counts data packets on each link.
class Hops final : public TraceSink {
 public:
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    hops_ += ib::operation_of(static_cast<ib::Opcode>(record.values[0])) == ib::Operation::kAcknowledge ? 0 : 1;
  }
  TraceEvents events() const override { return bits_of(TraceEvent::kPacketTransmitted); }
  bool takes_any_order() const override { return true; }
  double count() const { return static_cast<double>(hops_); }

 private:
  std::uint64_t hops_ = 0;
};

struct Row {
  const char* name;
  const char* shape;  // shape of "generate"
  std::size_t hosts;
  std::uint64_t bytes;  // size of each flow
  bool is_incast;       // all flows to h0; false: a permutation
  const char* hca = "edr_hca";  // adapter profile
  const char* switch_profile = nullptr;  // null: the adapter's partner profile, with credits
  std::uint32_t ring_members = 0;        // 0: flows; else the size of an all-reduce instead of flows
};

std::vector<config::FlowSpec> flows_of(const Row& row) {
  std::vector<std::size_t> to(row.hosts);
  std::iota(to.begin(), to.end(), std::size_t{0});
  // Sattolo's algorithm: one cycle through all hosts, so none sends to itself.
  std::uint64_t random = 1;
  for (std::size_t i = row.hosts - 1; i > 0; --i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    std::swap(to[i], to[(random >> 33) % i]);
  }
  std::vector<config::FlowSpec> flows;
  for (std::size_t from = 0; from < row.hosts; ++from) {
    if (row.is_incast && from == 0) continue;
    if (std::string(row.name).starts_with("W1") && from != 0) break;
    config::FlowSpec flow;
    flow.bytes = static_cast<std::int64_t>(row.bytes);
    flow.from_adapter = from;
    flow.to_adapter = row.is_incast ? 0 : to[from];
    flow.is_resolved = true;
    flows.push_back(flow);
  }
  return flows;
}

config::DrawnGraph ring_of(const Row& row, const config::WorkloadSpec& spec) {
  std::vector<std::uint32_t> members(row.ring_members);
  std::iota(members.begin(), members.end(), 0u);
  workload::MessageGraph graph(row.ring_members);
  workload::Team team(members);
  using workload::Algorithm, workload::Pattern;
  const auto ring = workload::append_collective(graph, team, {Pattern::kAllReduce, Algorithm::kRing, row.bytes});
  graph.seal();
  return {&spec, std::make_shared<const workload::MessageGraph>(std::move(graph)), {ring}, members};
}

struct Cost {
  double hops = 0, events = 0, set_up_seconds = 0, run_seconds = 0;
  std::string digest;
  Instant last{};  // end of the last flow or message
};

// Runs the row once; nullopt: it has failed.
std::optional<Cost> cost_of(const Row& row) {
  const double begin = cpu_seconds();
  const std::string path = "topology.json";
  const std::string with_switch = row.switch_profile != nullptr ? R"(, "switch": ")" + std::string(row.switch_profile) + '"' : "";
  config::FileTexts files;
  files.texts[path] = R"({"name": "t", "link_layer": "roce", "interface_mtu": 9000, "generate": {"shape": ")" + std::string(row.shape) +
                      R"(", "rate": "100 Gbps", "hca": ")" + row.hca + R"(", "hosts": )" + std::to_string(row.hosts) + with_switch + "}}";
  config::LoadOptions options{{VERBATIM_SOURCE_DIR "/topologies/profiles"}};
  options.files = &files;
  config::Diagnostics diagnostics;
  const auto topology = config::load_topology(path, options, diagnostics);
  if (!topology) {
    for (const auto& finding : diagnostics.findings()) std::fprintf(stderr, "%s\n", config::to_string(finding).c_str());
    return std::nullopt;
  }
  DefaultChoices choices;
  config::Simulation simulation(*topology, 1, choices);
  observe::DigestSink digest;
  Hops hops;
  simulation.tracer().add(digest);
  simulation.tracer().add(hops);
  workload::Workload workload;
  config::WorkloadSpec spec;
  if (row.ring_members == 0) config::add_traffic(simulation, config::traffic_of(flows_of(row)), workload);
  if (row.ring_members > 0) config::add_graphs(simulation, {ring_of(row, spec)}, workload);
  const double start = cpu_seconds();
  Engine& engine = simulation.engine();
  while (!workload.is_done() && engine.step()) {
  }
  Cost cost{hops.count(), static_cast<double>(engine.events_executed()), start - begin, cpu_seconds() - start, digest.hex()};
  for (const workload::Flow& flow : workload.flows()) {
    if (flow.status() != ib::WcStatus::kSuccess || !flow.is_done()) return std::nullopt;
    cost.last = std::max(cost.last, flow.finish());
  }
  for (const workload::GraphRun& run : workload.graph_runs()) {
    if (!run.is_complete()) return std::nullopt;
    cost.last = std::max(cost.last, run.finish());
  }
  return cost;
}

// Writes packet-hops per CPU-second to `rate_out`.
int measure(const Row& row, int rate_out) {
  constexpr double kLeastSeconds = 0.5;  // of all runs together
  std::optional<Cost> best = cost_of(row);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  for (double seconds = 0; best && (seconds += best->run_seconds) < kLeastSeconds;) {
    const std::optional<Cost> again = cost_of(row);
    if (!again || again->digest != best->digest) return 1;
    if (again->run_seconds < best->run_seconds) best = again;
  }
  if (!best) return 1;
  std::printf("%-20s %5zu hosts  %5.2f million packet-hops/CPU-s  %4.2f events/packet-hop  set-up %4.2f s  run %4.2f s  %6.1f KB/host",
              row.name, row.hosts, best->hops / best->run_seconds / 1e6, best->events / best->hops, best->set_up_seconds,
              best->run_seconds, static_cast<double>(usage.ru_maxrss) / static_cast<double>(row.hosts));
  std::printf("  %s  ends at %.3f us\n", best->digest.c_str(), static_cast<double>(to_ps(best->last)) * 1e-6);
  const double rate = best->hops / best->run_seconds;
  if (write(rate_out, &rate, sizeof rate) != sizeof rate) return 1;
  return 0;
}

}  // namespace

int main(int count, char** words) {
  constexpr const char* kLight = "edr_light";
  constexpr const char* kLightDcqcn = "edr_roce_light";
  constexpr const char* kShared = "spectrum";
  constexpr Row kRows[] = {
      {"W1", "star", 2, 1'000'000'000, false},
      {"W2", "star", 16, 10'000'000, true},
      {"W3 k=4", "fat_tree", 16, 10'000'000, false},
      {"W3 k=8", "fat_tree", 128, 10'000'000, false},
      {"W3 k=16", "fat_tree", 1024, 1'000'000, false},
      {"W1 light", "star", 2, 1'000'000'000, false, kLight},
      {"W2 light", "star", 16, 10'000'000, true, kLight},
      {"W3 k=4 light", "fat_tree", 16, 10'000'000, false, kLight},
      {"W3 k=8 light", "fat_tree", 128, 10'000'000, false, kLight},
      {"W3 k=16 light", "fat_tree", 1024, 1'000'000, false, kLight},
      {"ring 256 light", "fat_tree", 1024, 64 << 20, false, kLight, nullptr, 256},
      {"W2 light, PFC", "star", 16, 10'000'000, true, kLight, kShared},
      {"W2 light, DCQCN", "star", 16, 10'000'000, true, kLightDcqcn, kShared},
      {"W3 k=8 light, PFC", "fat_tree", 128, 10'000'000, false, kLight, kShared},
      {"W3 k=8 light, DCQCN", "fat_tree", 128, 10'000'000, false, kLightDcqcn, kShared},
  };
  int failed = 0;
  std::map<std::string, double> rates;  // of rows with credits, by name
  for (const Row& row : kRows) {
    const std::string name = row.name;
    if (count > 1 && !name.starts_with(words[1])) continue;
    int rate_pipe[2];
    if (pipe(rate_pipe) != 0) return 1;
    const pid_t child = fork();
    if (child == 0) {
      const int code = measure(row, rate_pipe[1]);
      std::fflush(stdout);
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(rate_pipe[1]);
    double rate = 0;
    if (status != 0 || read(rate_pipe[0], &rate, sizeof rate) != sizeof rate) {
      std::printf("%s: failed\n", row.name);
      failed = 1;
    }
    close(rate_pipe[0]);
    const std::size_t comma = name.find(',');
    if (comma == std::string::npos) rates[name] = rate;
    if (const auto credits = rates.find(name.substr(0, comma)); comma != std::string::npos && credits != rates.end())
      std::printf("%-20s %.0f %% of the rate with credits\n", row.name, rate / credits->second * 100);
    std::fflush(stdout);
  }
  return failed;
}
