// Conditions that must not influence a run, and programs for testing this.
#pragma once

#include <sys/types.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::determinism {

// Everything around a run that has no part in its result.
struct Surroundings {
  std::string name;
  support::RunRequest request;  // without commands
  bool loaded = false;          // a busy process on every processor
  bool without_aslr = false;
};

// Several pairs of programs, each a run, as short as has hundreds of hand-overs between programs and simulator: verbs by polling
// and by events, perftest, TCP, threads, randomness, Python.
struct Workload {
  std::string name;
  std::vector<std::string> commands;
  friend void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }
};
const std::vector<Workload>& workloads();

// In these surroundings, with the whole text trace.
support::RunReport run_in(const Surroundings& surroundings, const Workload& workload);
// All workloads, one after another.
std::vector<support::RunReport> run_all(const Surroundings& surroundings);

// Fails the test when anything that is promised to be the same differs. The number of the engine's own steps
// is part of it unless the mode (call by call or in slices) differs.
enum class Steps { kSame, kAny };
void expect_same(const support::RunReport& run, const support::RunReport& reference, Steps steps = Steps::kSame);
// Compares all workloads.
void expect_same(const std::vector<support::RunReport>& runs, const std::vector<support::RunReport>& reference);

// Processes that compute while the object exists.
class Load {
 public:
  explicit Load(int per_processor);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  std::vector<pid_t> children_;
};

// The processors this process may use, in order.
std::vector<int> allowed_cores();

}  // namespace verbatim::determinism
