// The same inputs and seed give the same bytes, whatever differs in the environment.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/determinism/surroundings.h"

namespace verbatim::determinism {
namespace {

namespace fs = std::filesystem;
using support::RunReport;

// Undisturbed: made once for all that is compared with it.
const RunReport& reference(const Workload& workload) {
  static std::map<std::string, RunReport> runs;
  const auto known = runs.find(workload.name);
  return known != runs.end() ? known->second : runs.emplace(workload.name, run_in({}, workload)).first->second;
}

class OneDigest : public ::testing::TestWithParam<Workload> {
 protected:
  static void expect_unchanged(const Surroundings& surroundings, Steps steps = Steps::kSame) {
    expect_same(run_in(surroundings, GetParam()), reference(GetParam()), steps);
  }
};

// The simulator has a processor of its own while one is free.
TEST_P(OneDigest, quiet_and_again) { expect_unchanged({}); }

TEST_P(OneDigest, every_processor_busy) { expect_unchanged({.loaded = true}); }

TEST_P(OneDigest, another_processor) {
  const int last = allowed_cores().back();
  if (last == allowed_cores().front()) GTEST_SKIP() << "this machine has one processor";
  expect_unchanged({.request = {.options = {"--core", std::to_string(last)}}});
}

// Whether the simulator has a processor of its own: never, always, or now and then, at moments that the machine decides; on quiet
// processors and on busy ones (the other pairs are in the sweep).
TEST_P(OneDigest, second_core_never) { expect_unchanged({.request = {.options = {"--second-core", "never"}}}); }

TEST_P(OneDigest, second_core_always) {
  if (allowed_cores().size() == 1) GTEST_SKIP() << "this machine has one processor";
  expect_unchanged({.request = {.options = {"--second-core", "always"}}});
}

TEST_P(OneDigest, second_core_changing) {
  if (allowed_cores().size() == 1) GTEST_SKIP() << "this machine has one processor";
  expect_unchanged({.request = {.options = {"--second-core", "changing"}}});
}

TEST_P(OneDigest, second_core_changing_busy) {
  expect_unchanged({.request = {.options = {"--second-core", "changing"}}, .loaded = true});
}

// Every call handed to the supervisor, as the oracle has it.
TEST_P(OneDigest, call_by_call) { expect_unchanged({.request = {.options = {"--call-by-call"}}}, Steps::kAny); }

TEST_P(OneDigest, call_by_call_with_a_second_core) {
  for (const char* use : {"never", "changing"})
    expect_unchanged({.request = {.options = {"--call-by-call", "--second-core", use}}}, Steps::kAny);
}

TEST_P(OneDigest, addresses_not_randomised) { expect_unchanged({.without_aslr = true}); }

// Long and odd variables, another locale and home, a preloaded library that does not exist.
TEST_P(OneDigest, another_environment) {
  Surroundings surroundings;
  surroundings.request.environment = {{"LANG", "C"},
                                      {"LC_ALL", "POSIX"},
                                      {"HOME", "/nowhere"},
                                      {"PATH", "/sbin:" + std::string(::getenv("PATH"))},
                                      {"LD_BIND_NOW", "1"},
                                      {"MALLOC_PERTURB_", "85"},
                                      {"GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"},
                                      {"TZ", "Asia/Tokyo"},
                                      {"LONG", std::string(50'000, 'v')}};
  expect_unchanged(surroundings);
}

// Limits, priority, umask and open descriptors of the caller.
TEST_P(OneDigest, another_shell) {
  const RunReport& undisturbed = reference(GetParam());
  rlimit stack, files;
  ASSERT_EQ(::getrlimit(RLIMIT_STACK, &stack), 0);
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit small_stack{1 << 20, stack.rlim_max}, few_files{512, files.rlim_max};
  const mode_t mask = ::umask(077);
  std::vector<int> open;
  for (int i = 0; i < 30; ++i) open.push_back(::dup(1));  // without close-on-exec
  ::setrlimit(RLIMIT_STACK, &small_stack);
  ::setrlimit(RLIMIT_NOFILE, &few_files);
  const RunReport run = run_in({}, GetParam());
  ::setrlimit(RLIMIT_STACK, &stack);
  ::setrlimit(RLIMIT_NOFILE, &files);
  for (const int fd : open) ::close(fd);
  ::umask(mask);
  expect_same(run, undisturbed);
}

TEST_P(OneDigest, another_working_directory) {
  const support::TemporaryFolder folder;
  const std::string deep = folder.path() + "/a folder/" + std::string(200, 'd') + "/" + std::string(100, 'e');
  fs::create_directories(deep);
  expect_unchanged({.request = {.working_directory = deep}});
}

// An installed tree at a path of another length, with a space in it, from which libraries, profiles and
// topology are loaded.
TEST_P(OneDigest, installed_elsewhere) {
  static const support::TemporaryFolder folder;
  const std::string prefix = folder.path() + "/installed here, in a rather long path/v 1";
  if (!fs::exists(prefix)) {
    const auto installed = cli::run_command({"cmake", "--install", VERBATIM_BINARY_DIR, "--prefix", prefix});
    ASSERT_EQ(installed.code, 0) << installed.err;
  }
  Surroundings surroundings;
  surroundings.request.program = prefix + "/bin/verbatim";
  surroundings.request.topology = prefix + "/share/verbatim/topologies/two_hosts.json";
  expect_unchanged(surroundings);
}

// How often a thread without a call is looked at is a matter of wall-clock time: it costs, and decides
// nothing.
TEST_P(OneDigest, another_poke_period) {
  expect_unchanged({.request = {.options = {"--poke-period", "7"}}});
  expect_unchanged({.request = {.options = {"--poke-period", "20000"}}});
}

TEST_P(OneDigest, verify_finds_no_difference) {
  const RunReport run = support::run({.commands = GetParam().commands, .options = {"--verify"}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.err, ::testing::HasSubstr("both runs have the same trace"));
}

INSTANTIATE_TEST_SUITE_P(Of, OneDigest, ::testing::ValuesIn(workloads()), [](const auto& info) { return info.param.name; });

// CTest runs groups of workloads, which are named where the tests are built; none may be left out there.
TEST(Workloads, are_all_in_a_group) {
  std::istringstream names(DETERMINISM_WORKLOADS);
  const std::set<std::string> in_groups{std::istream_iterator<std::string>(names), {}};
  for (const Workload& workload : workloads()) EXPECT_TRUE(in_groups.contains(workload.name)) << workload.name;
}

// The comparison can fail: the same program with an address in its trace does not pass it.
TEST(Differences, a_planted_address_is_seen) {
  const support::RunRequest request{.commands = {"server=true"}, .options = {"--plant-address"}, .trace = true};
  const RunReport first = support::run(request), second = support::run(request);
  ASSERT_EQ(first.code, 0) << first.story();
  EXPECT_NE(first.digest(), second.digest());
  EXPECT_NE(first.trace, second.trace);
}

TEST(Differences, verify_finds_a_planted_address_and_names_the_record) {
  const RunReport run =
      support::run({.commands = {"server=ibv_rc_pingpong -n 10", "client=ibv_rc_pingpong -n 10 server"},
                    .options = {"--verify", "--plant-address"}});
  EXPECT_EQ(run.code, 1) << run.story();
  EXPECT_THAT(run.err, ::testing::HasSubstr("verbatim: verify: the runs differ first in record 0:\n"));
  EXPECT_THAT(run.err, ::testing::HasSubstr("program-warning"));
}

}  // namespace
}  // namespace verbatim::determinism
