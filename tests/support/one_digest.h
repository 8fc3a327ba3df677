// Repeats a run under different conditions that must not influence its digest.
#pragma once

#include <sched.h>

#include <cstdio>

#include "tests/support/verbatim_run.h"

namespace verbatim::support {

// The runs use all processors in turn, with poke periods from 1 us to 500 us. Fails the test at the
// first run whose digest, exit code or output differs from the first one's, and prints the common
// digest.
inline void expect_one_digest(RunRequest request, int runs = 20) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<std::string> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(std::to_string(core));
  }
  const std::vector<std::string> options = request.options;
  RunReport first;
  for (int i = 0; i < runs; ++i) {
    constexpr int kPokes[] = {50, 1, 7, 200, 500};
    request.options = options;
    request.options.insert(request.options.end(),
                           {"--core", cores[static_cast<std::size_t>(i) % cores.size()], "--poke-period",
                            std::to_string(kPokes[static_cast<std::size_t>(i) % std::size(kPokes)])});
    RunReport run = support::run(request);
    if (i == 0) {
      ASSERT_FALSE(run.digest().empty()) << run.story();
      first = std::move(run);
      continue;
    }
    ASSERT_EQ(run.digest(), first.digest()) << "run " << i + 1 << run.story() << first.story();
    ASSERT_EQ(run.code, first.code) << run.story();
    ASSERT_EQ(run.outputs, first.outputs) << run.story();
  }
  std::printf("%d runs: %s\n", runs, first.digest().c_str());
}

}  // namespace verbatim::support
