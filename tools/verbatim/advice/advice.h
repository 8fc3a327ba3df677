// The cause of a shrunk failure and what to do, derived from the records of its run.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/advice/evidence.h"

namespace verbatim::cli {

struct Advice {
  std::string cause;
  std::string remedy;
  bool is_proven = true;  // false: the records fit, but another cause is possible
};

// The advice of the first rule that proves its mechanism; else of the first one whose mechanism is possible;
// else nothing.
std::vector<Advice> advice_of(const Evidence& evidence);

}  // namespace verbatim::cli
