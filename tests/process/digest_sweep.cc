// Slow: each program twenty times, one digest.
#include "tests/process/programs.h"
#include "tests/support/one_digest.h"

namespace verbatim::process {
namespace {

class TwentyRuns : public ::testing::TestWithParam<Program> {};

TEST_P(TwentyRuns, give_one_digest) {
  support::expect_one_digest({.commands = {"server=" + path_of(GetParam().command)}});
}

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
