#include "tests/perftest/perftest_run.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

namespace verbatim::perftest {

using support::RunReport;

namespace {

constexpr long kMtu = 4096;
constexpr long kMib = 1 << 20;

long packets_of(long bytes) { return std::max(1l, (bytes + kMtu - 1) / kMtu); }

// Numbers of the lines that hold nothing but `count` or more of them.
std::vector<std::vector<double>> number_lines(const std::string& output, std::size_t count) {
  std::vector<std::vector<double>> lines;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::vector<double> numbers;
    double number;
    while (words >> number) numbers.push_back(number);
    if (words.eof() && numbers.size() >= count) lines.push_back(std::move(numbers));
  }
  return lines;
}

std::vector<long> sizes_of(const Program& program, const Variant& variant) {
  if (!variant.all_sizes) return {variant.bytes >= 0 ? variant.bytes : program.bytes};
  std::vector<long> sizes;
  for (long size = 2; size <= 1 << 23; size *= 2) sizes.push_back(size);
  return sizes;
}

void expect_bandwidth(const Program& program, const Variant& variant, const BandwidthLine& line,
                      bool client) {
  const double directions = variant.both_ways ? 2 : 1;
  const double unit = variant.gigabits ? 8 * static_cast<double>(kMib) / 1e9 : 1;
  const double capacity = directions * capacity_mib_per_second(line.bytes) * unit;
  // The receiver of SENDs counts from its first polled completions on, of which there may be sixteen at once:
  // so many messages have no part in its time.
  const auto n = static_cast<double>(line.iterations);
  const bool late = program.name == "ib_send_bw" && !client && !variant.both_ways;
  EXPECT_LE(line.average, capacity * (late ? n / (n - 17) : 1.0005));
  if (line.bytes >= 65536) {
    EXPECT_GE(line.average, 0.97 * capacity) << "large messages fill the link";
  }
  // With -D only averages are kept.
  if (client && !variant.for_a_second) {
    EXPECT_GE(line.peak * 1.0001 + 0.01, line.average);
  }
  EXPECT_GT(line.average, 0);
  // Two figures for the same value; six decimals of millions and two of the rate are printed.
  const double from_rate = line.million_messages * 1e6 * static_cast<double>(line.bytes) / kMib * unit;
  EXPECT_NEAR(from_rate, line.average,
              0.01 + static_cast<double>(line.bytes) / kMib * unit + line.average * 1e-4);
}

void expect_latency(const Variant& variant, const std::vector<LatencyLine>& lines) {
  double before = 0;
  for (const LatencyLine& line : lines) {
    EXPECT_LE(line.minimum, line.typical);
    EXPECT_LE(line.typical, line.maximum);
    constexpr double kPrinted = 0.0101;  // hundredths, of which 2.39 and 2.38 are doubles a little more than 0.01 apart
    EXPECT_GE(line.average + kPrinted, line.minimum);
    EXPECT_LE(line.average, line.maximum + kPrinted);
    // Two PCI Express crossings and a wire; with the message's own time on the wire at 80 ps a byte.
    const double wire_us = static_cast<double>(line.bytes) * 80e-6;
    EXPECT_GE(line.typical, 0.5 + wire_us);
    EXPECT_LE(line.typical, 8 + 2 * wire_us);
    EXPECT_GE(line.typical + 0.03, before) << "a longer message takes longer; polls have a grid of 20 ns";
    before = line.typical;
  }
  if (!lines.empty() && variant.all_sizes) {
    EXPECT_GT(lines.back().typical, 100 * lines.front().typical);
  }
}

}  // namespace

const std::vector<Program>& programs() {
  static const std::vector<Program> kPrograms = {
      {.name = "ib_send_bw", .bandwidth = true, .iterations = 1000, .bytes = 65536},
      {.name = "ib_send_lat"},
      {.name = "ib_write_bw", .bandwidth = true, .one_sided = true, .iterations = 5000, .bytes = 65536},
      {.name = "ib_write_lat", .one_sided = true},
      {.name = "ib_read_bw",
       .bandwidth = true,
       .one_sided = true,
       .read = true,
       .iterations = 1000,
       .bytes = 65536},
      {.name = "ib_read_lat", .one_sided = true, .read = true, .polls_for_both = false},
  };
  return kPrograms;
}

const Program& program(const std::string& name) {
  for (const Program& program : programs()) {
    if (program.name == name) return program;
  }
  ADD_FAILURE() << "no program " << name;
  return programs().front();
}

double capacity_mib_per_second(long bytes) {
  const double wire_bytes = static_cast<double>(bytes + 26 * packets_of(bytes));
  return static_cast<double>(bytes) / (wire_bytes * 80e-12) / kMib;
}

std::vector<BandwidthLine> bandwidth_lines(const std::string& output) {
  std::vector<BandwidthLine> lines;
  for (const auto& n : number_lines(output, 5)) {
    lines.push_back({std::lround(n[0]), std::lround(n[1]), n[2], n[3], n[4]});
  }
  return lines;
}

std::vector<LatencyLine> latency_lines(const std::string& output) {
  std::vector<LatencyLine> lines;
  // With -D fewer columns: bytes, iterations, average, transactions per second.
  for (const auto& n : number_lines(output, 4)) {
    if (n.size() >= 6) {
      lines.push_back({std::lround(n[0]), std::lround(n[1]), n[2], n[3], n[4], n[5]});
    } else {
      lines.push_back({std::lround(n[0]), std::lround(n[1]), n[2], n[2], n[2], n[2]});
    }
  }
  return lines;
}

RunReport run(const Program& program, const Variant& variant, const std::string& topology) {
  const std::string command = program.name + (variant.arguments.empty() ? "" : " ") + variant.arguments;
  return support::run(
      {.topology = topology, .commands = {"server=" + command, "client=" + command + " " + variant.server}});
}

void expect_plausible(const Program& program, const Variant& variant, const RunReport& run) {
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
  EXPECT_EQ(run.report["determinism"], "exact");
  EXPECT_EQ(run.report["outcome"], "finished");
  const std::vector<long> sizes = sizes_of(program, variant);
  const long iterations = variant.iterations > 0 ? variant.iterations : program.iterations;
  for (const char* host : {"server", "client"}) {
    SCOPED_TRACE(std::string(host) + ":\n" + run.output(host));
    const bool client = std::string(host) == "client";
    // One-sided latency is reported only by the side that reads clocks; for READs that is the client.
    if (!client && program.read && !program.bandwidth) continue;
    std::vector<std::pair<long, long>> counted;
    if (program.bandwidth) {
      for (const BandwidthLine& line : bandwidth_lines(run.output(host))) {
        expect_bandwidth(program, variant, line, client);
        counted.emplace_back(line.bytes, line.iterations);
      }
      // The passive end of one-sided traffic prints what the other one has measured, once.
      if (!client && program.one_sided && !variant.both_ways && variant.all_sizes) continue;
    } else {
      const auto lines = latency_lines(run.output(host));
      expect_latency(variant, lines);
      for (const LatencyLine& line : lines) counted.emplace_back(line.bytes, line.iterations);
    }
    ASSERT_EQ(counted.size(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(counted[i].first, sizes[i]);
      if (!variant.for_a_second) {
        EXPECT_EQ(counted[i].second, iterations * variant.queue_pairs);
      }
    }
  }
  if (variant.for_a_second) return;
  // Each message is its packets and one answer; a READ its request and the packets of its response. Nothing
  // was lost, nothing sent twice.
  const long directions = (program.bandwidth ? variant.both_ways : program.polls_for_both) ? 2 : 1;
  long packets = 0;
  for (const long size : sizes)
    packets += iterations * variant.queue_pairs * directions * (packets_of(size) + 1);
  EXPECT_EQ(run.report["packets"], packets);
}

}  // namespace verbatim::perftest
