// Programs lie at the same addresses, whether randomisation is switched off or they are moved.
#include <gmock/gmock.h>

#include "tests/support/verbatim_run.h"

namespace verbatim::process {
namespace {

using ::testing::HasSubstr;

// Position-independent, at fixed addresses, and with parts that are aligned to 2 MiB; each becomes the next, then a script.
const std::string kProgram = PROCESS_FOLDER "/places", kFixed = PROCESS_FOLDER "/places_fixed",
                  kAligned = PROCESS_FOLDER "/places_aligned", kScript = SCRIPT_FOLDER "/places/again.sh";

support::RunReport run_with(std::vector<std::string> options) {
  options.insert(options.end(), {"--seed", "5"});
  return support::run({.commands = {"server=" + support::quoted(kProgram) + " " + support::quoted(kFixed),
                                    "client=" + support::quoted(kAligned) + " " + support::quoted(kScript),
                                    "client=env -i " + support::quoted(kFixed)},
                       .options = std::move(options)});
}

const support::RunReport& usual() {
  static const support::RunReport kRun = run_with({});
  return kRun;
}

void expect_like_usual(std::vector<std::string> options) {
  const support::RunReport moved = run_with(std::move(options));
  EXPECT_EQ(moved.code, 0) << moved.story();
  EXPECT_EQ(moved.output("server"), usual().output("server"));
  EXPECT_EQ(moved.output("client"), usual().output("client"));
  EXPECT_EQ(moved.digest(), usual().digest());
}

TEST(Layout, is_that_of_the_table) {
  EXPECT_EQ(usual().code, 0) << usual().story();
  EXPECT_THAT(usual().output("server"), HasSubstr("told 3 0x555555554040\n"));
  EXPECT_THAT(usual().output("server"), HasSubstr("told 3 0x400040\n"));
  EXPECT_THAT(usual().output("client"), HasSubstr("told 3 0x555555400040\n"));
  EXPECT_THAT(usual().output("server"), HasSubstr("told 33 0\n"));
  EXPECT_THAT(usual().output("server"), HasSubstr("mapping 0x6eff"));
  EXPECT_THAT(usual().output("server"), HasSubstr("stack 0x7fff"));
  EXPECT_THAT(usual().output("server"),
              HasSubstr("low mapping 0x40000000\nlow mapping 0x40001000\nlow mapping 0x4004b000\nlow mapping 0x50000000\n"
                        "low mapping 0x40001000\nlow mapping 0x7ffff000\nlow mapping 0x4004d000\n"
                        "low mapping 0xffffffffffffffff\nlow mapping in a gap 0x4034d000\n"
                        "low mapping of nothing 0xffffffffffffffff\n"));
}

TEST(Layout, of_moved_programs_is_the_same) { expect_like_usual({"--assume-missing", "layout"}); }
TEST(Layout, of_moved_programs_is_the_same_call_by_call) { expect_like_usual({"--assume-missing", "layout", "--call-by-call"}); }
TEST(Layout, of_moved_programs_is_the_same_with_every_second_way) {
  expect_like_usual({"--assume-missing", "layout,tsc-trap,jumps,loader-stop"});
}

// The kernel draws an address each time.
TEST(Layout, of_moved_programs_is_the_same_many_times) {
  for (int i = 0; i < 20; ++i) expect_like_usual({"--assume-missing", "layout"});
}

}  // namespace
}  // namespace verbatim::process
