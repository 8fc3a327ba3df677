// Measurements on real adapters, repeated with the same program: perftest's, unmodified.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/perftest/perftest_run.h"
#include "tests/reproduce/fabric.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

using perftest::BandwidthLine;
using perftest::LatencyLine;

// Output of the client of a pair of perftest programs; "" on failure, with the reason on standard error.
std::string client_output(const std::string& command, const Shape& shape) {
  const support::TemporaryFolder folder;
  const support::RunReport run = support::run_pair(command, command + " server", shape.write(folder.path()));
  if (run.code == 0) return run.output("client");
  std::fprintf(stderr, "reproduce: %s\n", run.story().c_str());
  return "";
}

Shape pair(const Json& adapter, const std::string& rate) {
  Shape shape("roce");
  shape.set("interface_mtu", kJumbo);
  shape.profile("adapter", adapter);
  shape.fabric_switch("leaf", "spectrum");
  for (const char* host : {"server", "client"}) {
    shape.host(host, "adapter");
    shape.cable(host, "leaf", rate);
  }
  return shape;
}

// Average Gb/s of ib_write_bw; nullopt if it has not run.
std::optional<double> write_gbps(const Shape& shape, const std::string& size, const std::string& depth) {
  const std::string command = "ib_write_bw -F --report_gbits -n 2000 -s " + size + " -t " + depth;
  for (const BandwidthLine& line : perftest::bandwidth_lines(client_output(command, shape))) return line.average;
  return std::nullopt;
}

// Hosts h0 to h2 with ConnectX-5 at a leaf with 5.2 MB of memory that neither pauses nor marks.
Shape lossy_leaf(Json changes = Json::object()) {
  // One of eight priorities is lossless; no packets use it.
  changes["virtual_lanes"] = 8;
  const Json adapter = changed_profile("connectx5", changes);
  const Json leaf = changed_profile("spectrum", {{"shared_memory",
                                                  {{"size", "5200000 B"},
                                                   {"reserved", "0 B"},
                                                   {"lossy_alpha_log2", 7},
                                                   {"output_alpha_log2", 7}}},
                                                 {"marking", nullptr}});
  Shape shape("roce");
  shape.set("interface_mtu", kJumbo);
  shape.profile("adapter", adapter);
  shape.profile("lossy_leaf", leaf);
  shape.fabric_switch("leaf", "lossy_leaf");
  for (const char* host : {"h0", "h1", "h2"}) {
    shape.host(host, "adapter");
    shape.cable(host, "leaf", "100 Gbps", {{"pfc", {{"lossless_priorities", "7"}}}});
  }
  return shape;
}

// The receive buffer measured by the source: it drains at 96.6 Gb/s, a packet of 4,096 bytes in 339 ns; if
// the next packet would not fit, the sender is notified, once in 3.53 ms for each queue pair.
Json measured_receive_buffer() {
  constexpr int kCyclesPerPacket = 203;  // at 600 MHz
  return {{"receive_buffer", "262016 B"},
          {"receive_check", {{"interval_cycles", kCyclesPerPacket}}},
          {"congestion_control",
           {{"cnp_receive_buffer", "257000 B"}, {"min_time_between_cnps", "3530 us"}, {"cnp_scope", "queue-pair"}}}};
}

struct Program {
  std::string host, command, start = "0 s";
};

support::RunReport run_programs(const Shape& shape, const std::vector<Program>& programs) {
  const support::TemporaryFolder folder;
  shape.write(folder.path());
  Json scenario = {{"name", "reproduce"}, {"topology", "topology.json"}, {"programs", Json::array()}};
  for (const Program& program : programs)
    scenario["programs"].push_back({{"host", program.host}, {"command", program.command}, {"start", program.start}});
  const std::string path = folder.path() + "/scenario.json";
  std::ofstream(path) << scenario.dump(1);
  support::RunRequest request;
  request.scenario = path;
  support::RunReport run = support::run(request);
  if (run.code != 0) std::fprintf(stderr, "reproduce: %s\n", run.story().c_str());
  return run;
}

// Figures printed by a reader of port counters.
struct Counters {
  double data = 0, packets = 0, notifications = 0;
};
std::string reader(const std::string& direction) {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/", counter = port + "counters/port_" + direction;
  return "cat " + counter + "_data " + counter + "_packets " + port + "hw_counters/np_cnp_sent";
}
// Those of all programs whose output is three numbers, in the order of reading.
std::vector<Counters> counters_of(const support::RunReport& run) {
  std::vector<Counters> all;
  for (const auto& [name, text] : run.outputs) {
    if (name.find(".stdout") == std::string::npos) continue;
    std::istringstream stream(text);
    Counters read;
    std::string rest;
    if (stream >> read.data >> read.packets >> read.notifications && !(stream >> rest)) all.push_back(read);
  }
  std::ranges::sort(all, {}, &Counters::packets);
  return all;
}

// Utilisation of a line of 100 Gb/s, in %, from the counters at two times: words of four bytes, plus preamble
// and gap per packet.
double wire_percent(const Counters& from, const Counters& to, double seconds) {
  constexpr double kWord = 4, kBetweenFrames = 20;
  const double bytes = (to.data - from.data) * kWord + (to.packets - from.packets) * kBetweenFrames;
  return bytes * 8 / (100e9 * seconds) * 100;
}

// Runs for a second; the client waits another second before it connects.
std::string bandwidth_program(int port) {
  return "ib_write_bw -F --report_gbits -q 4 -s 1048576 -D 1 -p " + std::to_string(port);
}

double reported_gbps(const support::RunReport& run, const std::string& host) {
  for (const BandwidthLine& line : perftest::bandwidth_lines(run.output(host))) return line.average;
  return 0;
}

constexpr const char* kWindowBegins = "1400 ms";
constexpr const char* kWindowEnds = "1800 ms";
constexpr double kWindowSeconds = 0.4;

}  // namespace

Simulated measure_connectx5_sizes(const Wanted& wanted) {
  Simulated simulated;
  const Shape connectx5 = pair(changed_profile("connectx5", Json::object()), "100 Gbps");
  const auto add = [&](const std::string& key, const Shape& shape, const std::string& size, const std::string& depth,
                       double unit) {
    if (!wanted.contains(key)) return;
    if (const auto rate = write_gbps(shape, size, depth)) simulated[key] = *rate / unit;
  };
  add("depth_1.8192", connectx5, "8192", "1", 1);
  add("depth_1.65536", connectx5, "65536", "1", 1);
  add("asymptote.1048576", connectx5, "1048576", "128", 1);
  for (const LatencyLine& line : perftest::latency_lines(client_output("ib_write_lat -F -n 1000 -s 2", connectx5)))
    simulated["round_trip.2"] = 2 * line.typical;
  const Shape connectx7 = pair(changed_profile("connectx7_ndr", {{"congestion_control", {{"controller", "none"}}}}), "400 Gbps");
  constexpr double kBitsPerByte = 8;
  for (const std::string size : {"32768", "65536", "131072"})
    add("connectx7.in_flight_16." + size, connectx7, size, "16", kBitsPerByte);
  return simulated;
}

namespace {

constexpr double kQueuePairs = 8;  // of both programs together

void add_incast(Simulated& simulated, const std::string& prefix, const Shape& shape) {
  const support::RunReport incast = run_programs(shape, {{"h0", bandwidth_program(18515)},
                                                         {"h0", bandwidth_program(18516)},
                                                         {"h1", bandwidth_program(18515) + " h0"},
                                                         {"h2", bandwidth_program(18516) + " h0"},
                                                         {"h0", reader("rcv"), kWindowBegins},
                                                         {"h0", reader("rcv"), kWindowEnds}});
  if (incast.code != 0) return;
  const double first = reported_gbps(incast, "h1"), second = reported_gbps(incast, "h2");
  simulated[prefix + ".goodput"] = first + second;
  simulated[prefix + ".share"] = first / (first + second) * 100;
  const std::vector<Counters> read = counters_of(incast);
  if (read.size() != 2) return;
  simulated[prefix + ".wire"] = wire_percent(read[0], read[1], kWindowSeconds);
  constexpr double kPacketGigabits = 4096 * 8 / 1e9;
  const double arrived_gbps = (read[1].packets - read[0].packets) * kPacketGigabits / kWindowSeconds;
  simulated[prefix + ".tax"] = (1 - (first + second) / arrived_gbps) * 100;
  simulated[prefix + ".notifications"] = (read[1].notifications - read[0].notifications) / kWindowSeconds / kQueuePairs;
}

}  // namespace

Simulated measure_connectx5_incast(const Wanted& wanted) {
  Simulated simulated;
  const Shape shape = lossy_leaf();
  add_incast(simulated, "incast", shape);
  const auto is_of_buffer = [](const std::string& key) { return key.starts_with("receive_buffer."); };
  if (std::ranges::any_of(wanted, is_of_buffer)) add_incast(simulated, "receive_buffer", lossy_leaf(measured_receive_buffer()));
  const support::RunReport fan_out = run_programs(shape, {{"h1", bandwidth_program(18515)},
                                                          {"h2", bandwidth_program(18516)},
                                                          {"h0", bandwidth_program(18515) + " h1"},
                                                          {"h0", bandwidth_program(18516) + " h2"},
                                                          {"h0", reader("xmit"), kWindowBegins},
                                                          {"h0", reader("xmit"), kWindowEnds}});
  if (const std::vector<Counters> read = counters_of(fan_out); fan_out.code == 0 && read.size() == 2) {
    simulated["fan_out.wire"] = wire_percent(read[0], read[1], kWindowSeconds);
  }
  return simulated;
}

Simulated measure_alibabacloud_12(const Wanted&) {
  // A Trident 3 has cells of 256 bytes.
  const Json curve = {
      {"priorities", "0-7"}, {"kmin", "102400 B"}, {"kmax", "416000 B"}, {"pmax_percent", 20}, {"source", "the issue"}};
  Shape shape("roce");
  shape.profile("trident3", changed_profile("hpcc_switch", {{"marking", {{"queues", Json::array({curve})}}}}));
  shape.fabric_switch("leaf", "trident3");
  for (const auto& [host, rate] : {std::pair("server", "25 Gbps"), std::pair("client", "100 Gbps")}) {
    shape.host(host, "connectx5");
    shape.cable(host, "leaf", rate);
  }
  const support::TemporaryFolder folder;
  const std::string command = "ib_write_bw -F -s 52428800 -n 10";
  const support::RunReport run = support::run_pair(command, command + " server", shape.write(folder.path()));
  if (run.code != 0) {
    std::fprintf(stderr, "reproduce: %s\n", run.story().c_str());
    return {};
  }
  const bool has_paused = run.report.contains("congestion") && run.report["congestion"].value("pauses", 0) > 0;
  return {{"pauses.dcqcn_nv", has_paused ? 1 : 0}};
}

}  // namespace verbatim::reproduce
