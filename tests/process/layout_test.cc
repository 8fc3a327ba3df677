// Programs are at the same addresses, with randomisation switched off and with the simulator moving them.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::process {
namespace {

using ::testing::HasSubstr;

// Position-independent, at fixed addresses, and with segments aligned to 2 MiB; each executes the next one,
// the last a script.
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

// The kernel chooses another address each time.
TEST(Layout, of_moved_programs_is_the_same_many_times) {
  for (int i = 0; i < 20; ++i) expect_like_usual({"--assume-missing", "layout"});
}

// The length of the loader's cache depends on the libraries that a machine has. The shell's libraries and
// those that Python loads later are found by it.
TEST(Layout, does_not_depend_on_how_many_libraries_the_loaders_cache_knows) {
  const std::string script =
      "import ctypes, ctypes.util\nctypes.CDLL('libibverbs.so.1')\n"
      "print(*(line.split()[0] for line in open('/proc/self/maps') if not line.endswith('ld.so.cache\\n')))";
  support::RunRequest request{.commands = {"server=bash -c 'cat /proc/self/maps'", "client=python3 -c " + support::quoted(script)}};
  if (cli::run_command({"python3", "-c", ""}).code != 0) GTEST_SKIP() << "python3 is not installed";
  if (cli::run_command({"unshare", "-Ur", "--mount", "true"}).code != 0) GTEST_SKIP() << "this machine makes no name spaces of users";
  const support::RunReport usual = support::run(request);
  EXPECT_EQ(usual.code, 0) << usual.story();
  for (const char* options : {"", "--call-by-call", "--assume-missing layout", "--assume-missing loader-stop"}) {
    request.options.clear();
    std::istringstream words(options);
    for (std::string word; words >> word;) request.options.push_back(word);
    const support::TemporaryFolder folder;
    request.wrapper = {"unshare", "-Ur", "--mount", "sh", "-c",
                       "cache=$0 && cp /etc/ld.so.cache $cache && chmod 644 $cache && truncate -s +300000 $cache && "
                       "mount --bind $cache /etc/ld.so.cache && exec \"$@\"",
                       folder.path() + "/cache"};
    const support::RunReport other = support::run(request);
    EXPECT_EQ(other.code, 0) << other.story();
    EXPECT_EQ(other.output("server"), usual.output("server")) << options;
    EXPECT_EQ(other.output("client"), usual.output("client")) << options;
    EXPECT_EQ(other.digest(), usual.digest()) << options;
  }
}

}  // namespace
}  // namespace verbatim::process
