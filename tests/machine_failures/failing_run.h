// One run of `verbatim` in which one use of one function of libc fails (failing_machine.c), and its
// judgement.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace verbatim::machine_failures {

struct Failure {
  std::string function;  // "write"
  std::string error;     // "ENOSPC", or "short"
  unsigned use = 0;      // from 1 on; 0: none fails
};

struct Outcome {
  int code = -1;                                // of verbatim; 128 + signal
  std::string err;                              // what it printed
  std::string digest;                           // of the run; empty: there is none
  std::map<std::string, unsigned> uses;         // by function
  std::map<std::string, std::uintmax_t> files;  // in --out, with their sizes
  std::string wrong;                            // empty: the run ended as it should
  std::string command;                          // to repeat it by hand
};

// PID and mount namespaces can be made, as root: without them a lost process id could end processes of
// others.
bool can_confine();

// A function, with the errors to try.
using Function = std::pair<std::string, std::vector<std::string>>;
std::vector<Function> functions();

// Runs two programs that talk, and a shell. `usual`: the same run without a failure, nullptr: it is this one.
Outcome run_with(const Failure& failure, const Outcome* usual);

// The run without a failure, made once.
const Outcome& usual_run();

// Lets uses of the function fail with each of its errors: all of them, or the first two, the middle and the last
// one. Prints how the runs ended, and reports wrong ones. Skips the test if can_confine() is false.
void expect_right_ends(const Function& function, bool every_use);

}  // namespace verbatim::machine_failures
