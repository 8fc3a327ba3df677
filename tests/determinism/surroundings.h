// Environments that must not influence a run, and workloads for testing this.
#pragma once

#include <sys/types.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::determinism {

// Properties of the environment that must not influence the result.
struct Surroundings {
  std::string name;
  support::RunRequest request;  // without commands
  bool loaded = false;          // a busy process on every processor
  bool without_aslr = false;
};

// A pair of programs, run once per environment: short, but with hundreds of hand-overs between programs and
// simulator. Workloads: verbs with polling and with events, perftest, TCP, threads, randomness, Python.
struct Workload {
  std::string name;
  std::vector<std::string> commands;
  friend void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }
};
const std::vector<Workload>& workloads();

// Runs the workload in the environment, with a complete text trace.
support::RunReport run_in(const Surroundings& surroundings, const Workload& workload);
// All workloads, one after another.
std::vector<support::RunReport> run_all(const Surroundings& surroundings);

// Fails the test if anything differs that must be the same. The number of engine steps may differ only
// between the modes (call by call and slices).
enum class Steps { kSame, kAny };
void expect_same(const support::RunReport& run, const support::RunReport& reference, Steps steps = Steps::kSame);
// Compares all workloads.
void expect_same(const std::vector<support::RunReport>& runs, const std::vector<support::RunReport>& reference);

// Processes that keep processors busy while the object exists.
class Load {
 public:
  explicit Load(int per_processor);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  std::vector<pid_t> children_;
};

// The processors that this process may use, in ascending order.
std::vector<int> allowed_cores();

}  // namespace verbatim::determinism
