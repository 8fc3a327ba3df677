// Many seeds of one litmus program, and what became of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::litmus {

// A pair of programs, and additional settings of its runs.
struct Pair {
  std::string name;                  // of the program
  bool fails_when_friendly = false;  // the bug also occurs on ordinary hardware
  std::string fault;                 // for --fault; empty: none
  std::string check;                 // for --check, as an error; empty: none
  bool accesses = false;             // with --spec-accesses
  int seeds = 40;                    // among which one is to fail with freedom spec
};
void PrintTo(const Pair& pair, std::ostream* out);
const std::vector<Pair>& pairs();

// A program of services/, and what a search is to say of it.
struct Service {
  std::string name;
  std::string symptom;         // regular expression: how it fails
  std::string explanation;     // and its text, once the failure is small
  bool is_found_soon = false;  // within six runs
};
void PrintTo(const Service& service, std::ostream* out);
const std::vector<Service>& services();
// `explore` of `buggy` with these options finds the failure; with `is_explained` its explanation is checked as well.
void expect_found(const Service& service, const std::vector<std::string>& options, bool is_explained = false);

struct Seeds {
  int code = -1;
  std::vector<std::int64_t> failed;
  std::int64_t as_expected = -1;
  std::string story;  // for a failing test
};
// `run --seeds first..last`.
Seeds run_seeds(const Pair& pair, const std::string& variant, const std::string& freedom, std::int64_t first,
                std::int64_t last);
// One run, with --out.
support::RunReport run_seed(const Pair& pair, const std::string& variant, const std::string& freedom,
                            std::int64_t seed, bool call_by_call = false);

// Choices of a seed do not depend on the mode. Call by call, a program that polls during a timeout takes
// long: if timeouts may occur, nothing is compared.
void expect_same_in_both_modes(const Pair& pair, std::int64_t first, std::int64_t last);

}  // namespace verbatim::litmus
