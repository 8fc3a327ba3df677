// Makes a run in slices and one call by call, and compares them.
#pragma once

#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::equality {

struct BothModes {
  support::RunReport slices, call_by_call;
};

// Adds a trace to the request; its options must not select a mode.
BothModes run_both(support::RunRequest request);
// Runs a scenario file instead of a topology and commands.
BothModes run_both(const std::string& scenario);

// The scenarios that the project ships, by name.
std::vector<std::string> shipped_scenarios();
std::string path_of_scenario(const std::string& name);

// Whether the run is exact, or weak only because of generated code that reads the clock with instructions
// that this machine cannot trap (`tsc-trap` of `verbatim check --host`).
bool is_as_exact_as_the_machine_allows(const support::RunReport& run);

// Fails the test if the modes differ in trace, output, digest or a promised value of run.json, or if the run
// did not end with exit code 0 and exact determinism.
void expect_equal(const BothModes& runs);

// The lines around the first difference of two texts, "" if they are equal.
std::string first_difference(const std::string& slices, const std::string& call_by_call);

}  // namespace verbatim::equality
