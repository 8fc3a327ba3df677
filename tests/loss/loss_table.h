// One run for each packet of a program and each kind of fault, and a table of the results.
#pragma once

#include <string>
#include <vector>

namespace verbatim::loss {

struct Sweep {
  std::string golden;          // file in golden/
  std::string server, client;  // commands
  int every = 1;               // makes only every n-th run
};

// Runs the sweep and compares each line with the golden file. With VERBATIM_WRITE_GOLDEN=1 in the environment
// a whole sweep writes the file instead.
void expect_golden_outcomes(const Sweep& sweep);

Sweep pingpong_sweep(int every);
Sweep mixed_sweep();
Sweep mixed_without_retries_sweep();

}  // namespace verbatim::loss
