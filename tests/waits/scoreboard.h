// Measures how the simulator handles a waiting loop.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::waits {

enum class How {
  kByProof,   // parked: the loop is proven to wait, and its turns are not executed
  kByEffect,  // executed, many turns in one slice
  kNot,       // executed with repeated hand-overs of the token, or the run did not end
};

struct Score {
  How how = How::kNot;
  double cpu_seconds = 0;  // of the whole run
  std::string reason;      // why it is not proven; "" if it is
  support::RunReport run;
};

// Whether the programs of this variant were built, for example "gcc-O2".
bool is_built(const std::string& variant);
// All cases in the order of their tables.
std::vector<std::string> cases_of(const std::string& variant);
// Those of continued.c, which are compared with execution only.
std::vector<std::string> continued_cases_of(const std::string& variant);

support::RunRequest request(const std::string& variant, const std::string& wait_case, int microseconds);
Score score(const std::string& variant, const std::string& wait_case, int microseconds, const std::string& time_limit = "10s");

// Runs every case of the variant. Fails the test for cases that are not parked by proof and not in `known`,
// and for known ones that are. Prints a line for each that is not parked, and the sum.
void expect_parked(const std::string& variant, const std::set<std::string>& known);

// The cases that are executed with every compiler, each with its reason.
std::set<std::string> not_proven(const std::string& variant);

}  // namespace verbatim::waits
