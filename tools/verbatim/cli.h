// What the verbs of the command line share: exit codes, options, and their entry points, one file each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.h"

namespace verbatim::cli {

enum ExitCode : int {
  kAsExpected = 0,
  kProgramFailed = 1,  // or an expectation was not met
  kUsage = 2,          // usage or file error; nothing was started
  kDeadlock = 3,
  kLimit = 4,
  kInterrupted = 5,
  kInternalError = 70,
  kMachineFault = 71,  // the machine ended a program, or had no room for what the run needs
};

struct RunOptions {
  std::vector<std::string> arguments;  // SCENARIO.json, or HOST=COMMAND …
  std::string topology;
  std::string stagger = "100 ms";
  std::optional<std::int64_t> seed;
  std::string seeds;    // "A..B"
  int jobs = 0;         // of --seeds: runs at a time; 0: one for each allowed processor
  std::string freedom;  // friendly or spec; empty: the scenario's
  std::string out;
  std::string time_limit;
  std::string stuck_after;
  std::string trace;
  std::vector<std::string> faults;  // each one fault of a scenario, as JSON
  std::vector<std::string> checks;  // each NAME=off|warn|error
  std::string pcap;
  std::uint32_t snap_length = 0;  // bytes of a packet in the capture, 0: all
  std::string
      explain_latency;  // a file; "-": latency.txt and latency.json in --out, else standard error; empty: no
  std::string log = "warn";
  int core = -1;
  std::string second_core;  // empty: as `core` has it
  bool call_by_call = false;
  std::string strict = "refuse";  // what is not simulated: "refuse", or "warn" and let it through
  std::vector<std::string> assume_missing;  // facilities of the machine that are not to be used
  int poke_period_us = 0;  // of tests: wall time, without influence on results; 0: the supervisor's choice
  bool keep_files = false;  // of the hosts' own folders, in --out
  bool quiet = false;
  bool verify = false;
  int record_fd = -1;     // of `run --verify`: where the run's trace goes
  std::uint64_t pad = 0;  // of `run --verify`: bytes allocated first, to move everything else
};

// main(), with every exit code it can have.
int start(int argc, char** argv);

struct CheckOptions {
  std::vector<std::string> files;
  bool host = false;
  bool lists_facilities = false;  // names for --assume-missing, and nothing else
  std::vector<std::string> assume_missing;
};
int check(const CheckOptions& options);
int describe(const std::string& topology);
int write_schemas(const std::string& folder);
int run(const RunOptions& options);

// `verbatim: sentence` on standard error.
void complain(const std::string& sentence);
// Every finding on a line of its own; then how many.
void print(const config::Diagnostics& diagnostics);

}  // namespace verbatim::cli
