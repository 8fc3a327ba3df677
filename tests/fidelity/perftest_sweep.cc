// perftest's programs on the devices of published sweeps.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/fidelity/target.h"
#include "tests/perftest/perftest_run.h"

namespace verbatim::fidelity {
namespace {

using perftest::BandwidthLine;
using perftest::LatencyLine;

// The client's output of a pair of these programs; empty, with the reason on standard error, on failure.
std::string client_output(const std::string& command, const std::string& topology) {
  const support::RunReport run = support::run_pair(command, command + " server", topology);
  if (run.code == 0) return run.output("client");
  std::fprintf(stderr, "fidelity: %s\n", run.story().c_str());
  return "";
}

// Sizes of the keys VERB.BYTES.
std::vector<long> sizes_of(const Wanted& wanted, const std::string& verb) {
  std::vector<long> sizes;
  for (const std::string& key : wanted) {
    if (key.rfind(verb + ".", 0) == 0) sizes.push_back(std::atol(key.c_str() + verb.size() + 1));
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// t_typical of ib_VERB_lat by VERB.BYTES; one run for many sizes, one for each of few.
void add_latencies(Simulated& simulated, const Wanted& wanted, const std::string& verb,
                   const std::string& topology) {
  constexpr std::size_t kFew = 6;
  const std::vector<long> sizes = sizes_of(wanted, verb);
  const std::string program = "ib_" + verb + "_lat -F ";
  const auto add = [&](const std::string& output) {
    for (const LatencyLine& line : perftest::latency_lines(output))
      simulated[verb + "." + std::to_string(line.bytes)] = line.typical;
  };
  if (sizes.size() > kFew) return add(client_output(program + "-a -n 20", topology));
  for (const long bytes : sizes) add(client_output(program + "-n 20 -s " + std::to_string(bytes), topology));
}

double difference(const Simulated& simulated, const std::string& verb, long more, long less) {
  const auto at = [&](long bytes) {
    const auto it = simulated.find(verb + "." + std::to_string(bytes));
    return it == simulated.end() ? 0 : it->second;
  };
  return at(more) - at(less);
}

// Average Gb/s of the best size.
double bandwidth_gbps(const std::string& program, const std::string& topology) {
  double best = 0;
  for (const BandwidthLine& line :
       perftest::bandwidth_lines(client_output(program + " -F --report_gbits -s 65536 -n 500", topology)))
    best = std::max(best, line.average);
  return best;
}

}  // namespace

Simulated measure_qdr(const Wanted& wanted) {
  const std::string topology = "qdr_pair";
  Simulated simulated;
  for (const char* verb : {"send", "write", "read"}) {
    add_latencies(simulated, wanted, verb, topology);
    const std::string name = verb;
    simulated["inline_step." + name] = difference(simulated, verb, 256, 128);
    simulated["slope_one_packet." + name] = difference(simulated, verb, 4096, 256) / (4096 - 256) * 1000;
    simulated["slope_many_packets." + name] =
        difference(simulated, verb, 1 << 20, 1 << 16) / ((1 << 20) - (1 << 16)) * 1000;
    if (wanted.contains("bandwidth." + name)) {
      simulated["bandwidth." + name] = bandwidth_gbps("ib_" + name + "_bw", topology);
    }
  }
  if (wanted.contains("fetch_add")) {
    for (const BandwidthLine& line :
         perftest::bandwidth_lines(client_output("ib_atomic_bw -F -A FETCH_AND_ADD -n 500", topology)))
      simulated["fetch_add"] = line.million_messages;
  }
  return simulated;
}

Simulated measure_hdr(const Wanted& wanted) {
  Simulated simulated;
  add_latencies(simulated, wanted, "write", "hdr_pair");
  return simulated;
}

}  // namespace verbatim::fidelity
