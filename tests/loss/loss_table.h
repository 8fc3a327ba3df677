// One run for each packet of a program and each thing that can happen to it, and the table of how they ended.
#pragma once

#include <string>
#include <vector>

namespace verbatim::loss {

struct Sweep {
  std::string golden;          // file in golden/
  std::string server, client;  // commands
  int every = 1;               // only every so many-th run
};

// Runs the sweep and compares each line with the golden file. With VERBATIM_WRITE_GOLDEN=1 in the environment
// a whole sweep writes the file instead.
void expect_golden_outcomes(const Sweep& sweep);

Sweep pingpong_sweep(int every);
Sweep mixed_sweep();
Sweep mixed_without_retries_sweep();

}  // namespace verbatim::loss
