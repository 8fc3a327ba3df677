// Slow: each program twenty times, with its system calls replaced at once, when they are frequent, or never:
// one digest.
#include "tests/process/programs.h"
#include "tests/support/one_digest.h"

namespace verbatim::process {
namespace {

class TwentyRuns : public ::testing::TestWithParam<Program> {};

TEST_P(TwentyRuns, give_one_digest) {
  support::expect_one_digest({.commands = {"server=" + path_of(GetParam().command)}});
}

class TrapsOrJumps : public ::testing::TestWithParam<Program> {};

TEST_P(TrapsOrJumps, give_one_digest) {
  support::RunRequest request;
  request.commands = {"server=" + path_of(GetParam().command)};
  const support::RunReport usual = support::run(request);
  for (const char* const missing : {"call-traps", "jumps"}) {
    request.options = {"--assume-missing", missing};
    const support::RunReport other = support::run(request);
    EXPECT_EQ(usual.digest(), other.digest()) << missing << ": " << usual.story() << other.story();
  }
  request.options = {"--assume-missing", "call-traps", "--call-by-call"};
  EXPECT_EQ(usual.digest(), support::run(request).digest());
}

INSTANTIATE_TEST_SUITE_P(Plain, TrapsOrJumps, ::testing::ValuesIn(plain_programs()), name_of);
INSTANTIATE_TEST_SUITE_P(Programs, TrapsOrJumps, ::testing::ValuesIn(programs_with_arguments()), name_of);
INSTANTIATE_TEST_SUITE_P(Ends, TrapsOrJumps, ::testing::ValuesIn(programs_that_end()), name_of);
INSTANTIATE_TEST_SUITE_P(Plain, TwentyRuns, ::testing::ValuesIn(plain_programs()), name_of);
INSTANTIATE_TEST_SUITE_P(Programs, TwentyRuns, ::testing::ValuesIn(programs_with_arguments()), name_of);
INSTANTIATE_TEST_SUITE_P(Ends, TwentyRuns, ::testing::ValuesIn(programs_that_end()), name_of);

TEST(TwentyRuns, of_pairs_give_one_digest) {
  support::expect_one_digest(
      {.commands = {"server=" + path_of("server"), "client=" + path_of("client server")}});
  support::expect_one_digest(
      {.commands = {"server=" + path_of("udp_echo"), "client=" + path_of("udp_echo server")}});
}

TEST(TwentyRuns, of_an_interpreter_give_one_digest) {
  support::expect_one_digest(
      {.commands = {"server=python3 " + support::quoted(SCRIPT_FOLDER "/everything.py")}});
}

}  // namespace
}  // namespace verbatim::process
