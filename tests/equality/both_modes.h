// Makes a run in slices and one call by call, and compares them.
#pragma once

#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::equality {

struct BothModes {
  support::RunReport slices, call_by_call;
};

// The request gets a trace; its options must not name a mode.
BothModes run_both(support::RunRequest request);
// A scenario file instead of a topology and commands.
BothModes run_both(const std::string& scenario);

// The scenarios that the project ships, by name.
std::vector<std::string> shipped_scenarios();
std::string path_of_scenario(const std::string& name);

// Exact, or weak for nothing but code that the program makes while it runs, where the machine cannot trap the instructions in
// it that read its clock (`tsc-trap` of `verbatim check --host`).
bool is_as_exact_as_the_machine_allows(const support::RunReport& run);

// Fails the test when the modes differ in trace, output, digest or anything that run.json promises, or when
// the run did not end as expected: exit code 0, and exact.
void expect_equal(const BothModes& runs);

// The lines around the first difference of two texts, "" when there is none.
std::string first_difference(const std::string& slices, const std::string& call_by_call);

}  // namespace verbatim::equality
