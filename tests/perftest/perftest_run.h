// A run of one perftest program on both hosts, and the figures it printed.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::perftest {

// A perftest program and its features. Add a program as a new row of programs().
struct Program {
  std::string name;            // "ib_write_bw"
  bool bandwidth = false;      // else latency
  bool one_sided = false;      // the responder's program sees nothing
  bool read = false;           // data is transferred to the caller
  bool polls_for_both = true;  // latency of a round trip halved; of a READ it is the whole trip
  long iterations = 1000;      // default
  long bytes = 2;              // default
  friend void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }
};
const std::vector<Program>& programs();
const Program& program(const std::string& name);

// The arguments of a run, and what follows from them.
struct Variant {
  std::string name;  // for test names
  std::string arguments;
  bool all_sizes = false;
  long bytes = -1;  // -1: the program's default
  long iterations = -1;
  long queue_pairs = 1;
  bool both_ways = false;
  bool gigabits = false;
  bool for_a_second = false;
  std::string server = "server";  // how the client names it
  friend void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.arguments; }
};

struct BandwidthLine {
  long bytes = 0, iterations = 0;
  double peak = 0, average = 0, million_messages = 0;
};
struct LatencyLine {
  long bytes = 0, iterations = 0;
  double minimum = 0, maximum = 0, typical = 0, average = 0;
};

std::vector<BandwidthLine> bandwidth_lines(const std::string& output);
std::vector<LatencyLine> latency_lines(const std::string& output);

support::RunReport run(const Program& program, const Variant& variant, const std::string& topology);

// Checks of every run: its end, its lines, its figures, and the number of packets in the
// fabric.
void expect_plausible(const Program& program, const Variant& variant, const support::RunReport& run);

// Payload per second that EDR 4x carries in packets of `bytes` long messages, in MiB/s as perftest counts: 80
// ps a byte, packets of at most 4096 bytes, each with LRH 8, BTH 12, ICRC 4 and VCRC 2.
double capacity_mib_per_second(long bytes);

}  // namespace verbatim::perftest
