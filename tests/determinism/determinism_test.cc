// The promise: the same inputs and seed give the same bytes, whatever differs around the run.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <tuple>

#include "tests/cli/command.h"
#include "tests/determinism/surroundings.h"

namespace verbatim::determinism {
namespace {

namespace fs = std::filesystem;
using support::RunReport;

const std::vector<RunReport>& reference() {
  static const std::vector<RunReport> kRuns = run_all({});
  return kRuns;
}

void expect_unchanged(const Surroundings& surroundings) { expect_same(run_all(surroundings), reference()); }

TEST(OneDigest, quiet_and_again) { expect_unchanged({}); }

TEST(OneDigest, every_processor_busy) { expect_unchanged({.loaded = true}); }

TEST(OneDigest, another_processor) {
  const int last = allowed_cores().back();
  if (last == allowed_cores().front()) GTEST_SKIP() << "this machine has one processor";
  expect_unchanged({.request = {.options = {"--core", std::to_string(last)}}});
}

// Whether the simulator has a processor of its own: never, while one is free, always, or now and then, at moments that the
// machine decides; on quiet processors and on busy ones (the other pairs are in the sweep).
using Use = std::tuple<const char*, bool>;
class SecondCore : public ::testing::TestWithParam<Use> {};

TEST_P(SecondCore, one_digest) {
  const auto& [use, loaded] = GetParam();
  if (allowed_cores().size() == 1 && !loaded) GTEST_SKIP() << "this machine has one processor";
  expect_unchanged({.request = {.options = {"--second-core", use}}, .loaded = loaded});
}

INSTANTIATE_TEST_SUITE_P(Uses, SecondCore,
                         ::testing::Values(Use{"never", false}, Use{"free", false}, Use{"always", false}, Use{"changing", false},
                                           Use{"free", true}, Use{"changing", true}),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_loaded" : "");
                         });

TEST(OneDigest, call_by_call_with_a_second_core) {
  for (const char* use : {"never", "changing"}) {
    expect_same(run_all({.request = {.options = {"--call-by-call", "--second-core", use}}}), reference(), Steps::kAny);
  }
}

TEST(OneDigest, addresses_not_randomised) { expect_unchanged({.without_aslr = true}); }

// Long and odd variables, another locale and home, a preloaded library that does not exist.
TEST(OneDigest, another_environment) {
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

// Limits, priority, file mode mask and open descriptors of whoever starts the run.
TEST(OneDigest, another_shell) {
  rlimit stack, files;
  ASSERT_EQ(::getrlimit(RLIMIT_STACK, &stack), 0);
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit small_stack{1 << 20, stack.rlim_max}, few_files{512, files.rlim_max};
  const mode_t mask = ::umask(077);
  std::vector<int> open;
  for (int i = 0; i < 30; ++i) open.push_back(::dup(1));  // without close-on-exec
  ::setrlimit(RLIMIT_STACK, &small_stack);
  ::setrlimit(RLIMIT_NOFILE, &few_files);
  const std::vector<RunReport> runs = run_all({});
  ::setrlimit(RLIMIT_STACK, &stack);
  ::setrlimit(RLIMIT_NOFILE, &files);
  for (const int fd : open) ::close(fd);
  ::umask(mask);
  expect_same(runs, reference());
}

TEST(OneDigest, another_working_directory) {
  const support::TemporaryFolder folder;
  const std::string deep = folder.path() + "/a folder/" + std::string(200, 'd') + "/" + std::string(100, 'e');
  fs::create_directories(deep);
  expect_unchanged({.request = {.working_directory = deep}});
}

// An installed tree in a path of another length, with a space in it: libraries, profiles and topology come
// from there.
TEST(OneDigest, installed_elsewhere) {
  const support::TemporaryFolder folder;
  const std::string prefix = folder.path() + "/installed here, in a rather long path/v 1";
  const auto installed = cli::run_command({"cmake", "--install", VERBATIM_BINARY_DIR, "--prefix", prefix});
  ASSERT_EQ(installed.code, 0) << installed.err;
  Surroundings surroundings;
  surroundings.request.program = prefix + "/bin/verbatim";
  surroundings.request.topology = prefix + "/share/verbatim/topologies/two_hosts.json";
  expect_unchanged(surroundings);
}

// How often a thread without a call is looked at is a matter of wall-clock time: it costs, and decides
// nothing.
TEST(OneDigest, another_poke_period) {
  expect_unchanged({.request = {.options = {"--poke-period", "7"}}});
  expect_unchanged({.request = {.options = {"--poke-period", "20000"}}});
}

// Every call handed to the supervisor, as the oracle has it.
TEST(OneDigest, call_by_call) {
  expect_same(run_all({.request = {.options = {"--call-by-call"}}}), reference(), Steps::kAny);
}

// The comparison above can fail: the same program with an address in its trace does not pass it.
TEST(OneDigest, a_planted_address_is_seen) {
  const support::RunRequest request{.commands = {"server=true"}, .trace = true, .program = VERBATIM_LEAKY};
  const RunReport first = support::run(request), second = support::run(request);
  ASSERT_EQ(first.code, 0) << first.story();
  EXPECT_NE(first.digest(), second.digest());
  EXPECT_NE(first.trace, second.trace);
}

TEST(Verify, finds_a_planted_address_and_names_the_record) {
  const RunReport run =
      support::run({.commands = {"server=ibv_rc_pingpong -n 10", "client=ibv_rc_pingpong -n 10 server"},
                    .options = {"--verify"},
                    .program = VERBATIM_LEAKY});
  EXPECT_EQ(run.code, 1) << run.story();
  EXPECT_THAT(run.err, ::testing::HasSubstr("verbatim: verify: the runs differ first in record 0:\n"));
  EXPECT_THAT(run.err, ::testing::HasSubstr("program-warning"));
}

TEST(Verify, passes_sound_runs) {
  for (const Workload& workload : workloads()) {
    const RunReport run = support::run({.commands = workload.commands, .options = {"--verify"}});
    EXPECT_EQ(run.code, 0) << workload.name << run.story();
    EXPECT_THAT(run.err, ::testing::HasSubstr("both runs have the same trace")) << workload.name;
  }
}

}  // namespace
}  // namespace verbatim::determinism
