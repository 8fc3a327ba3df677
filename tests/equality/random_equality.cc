#include "tests/equality/random_equality.h"

#include "tests/equality/both_modes.h"

namespace verbatim::equality {

void expect_equal_for_seeds(const RandomPrograms& programs) {
  for (std::uint64_t seed = programs.first; seed < programs.first + programs.count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Odd seeds use the program built without optimisation: the same behaviour with other loops.
    const std::string program =
        support::quoted(seed % 2 == 0 ? RANDOM_PROGRAM : RANDOM_PROGRAM_PLAIN) + " " + std::to_string(seed) +
        (programs.places ? "m" : "");
    const char* topology = seed % 3 == 0 ? "two_hosts_direct" : "two_hosts";
    std::vector<std::string> options = {"--time-limit", "10s", "--stuck-after", "30s"};
    if (programs.spec) options.insert(options.end(), {"--freedom", "spec", "--seed", std::to_string(seed)});
    // A program that waits for ever is an error of the test; the time limit makes it fail soon.
    expect_equal(run_both({.topology = topology,
                           .commands = {"server=" + program, "client=" + program + " server"},
                           .options = options}));
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace verbatim::equality
