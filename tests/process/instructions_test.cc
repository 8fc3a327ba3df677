// The run decides the results of machine-dependent instructions: they do not depend on the machine, on the
// mechanism that handles them, or on the processor.
#include <gmock/gmock.h>
#include <sched.h>

#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kFolder = PROCESS_FOLDER;
const std::string kCommand =
    "client=" + support::quoted(kFolder + "/instructions") + " " + support::quoted(kFolder + "/libinstructions_plugin.so");

support::RunReport run_with(std::vector<std::string> options, const std::string& more = "") {
  return support::run({.commands = {kCommand + more}, .options = std::move(options)});
}

const support::RunReport& reference() {
  static const support::RunReport run = run_with({});
  return run;
}

void expect_like_reference(const std::vector<std::string>& options) {
  const support::RunReport other = run_with(options);
  EXPECT_EQ(other.output("client"), reference().output("client"));
  EXPECT_EQ(other.digest(), reference().digest());
  EXPECT_EQ(other.report["determinism"], "exact") << other.story();
}

TEST(Instructions, all_are_answered_and_the_run_is_exact) {
  ASSERT_EQ(reference().code, 0) << reference().story();
  EXPECT_EQ(reference().report["determinism"], "exact") << reference().story();
  const std::string& out = reference().output("client");
  EXPECT_THAT(out, Not(HasSubstr("AGAIN")));
  EXPECT_THAT(out, Not(HasSubstr("went back")));
  EXPECT_THAT(out, HasSubstr("rdtscp 0 rdpid 0 lsl 0 getcpu 0 0 sched_getcpu 0"));
  EXPECT_THAT(out, HasSubstr("supports: popcnt 1 sse4.2 1 avx 0 avx2 0 avx512f 0"));
  EXPECT_THAT(out, HasSubstr("caches: 49152 64 1310720 33554432"));
  EXPECT_THAT(out, HasSubstr("vdso 0"));
  EXPECT_THAT(out, HasSubstr("library: level 2 "));
  // No token of std::random_device fails.
  for (const char* token : {"\ndefault ", "\nrdseed ", "\nrdrand ", "\nrdrnd ", "\ngetentropy ", "\n/dev/urandom "})
    EXPECT_THAT(out, HasSubstr(token));
}

// Random numbers and times depend on the seed; the processor's properties do not.
TEST(Instructions, follow_the_seed) {
  const support::RunReport other = run_with({"--seed", "2"});
  const auto lines = [](const support::RunReport& run, const std::string& start) {
    std::istringstream stream(run.output("client"));
    std::string found;
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with(start)) found += line + "\n";
    }
    return found;
  };
  for (const char* random : {"rdrand", "rdseed", "default", "library 0", "made ", "thread", "child", "parent"})
    EXPECT_TRUE(lines(other, random).empty() || lines(other, random) != lines(reference(), random)) << random;
  for (const char* fixed : {"cpuid", "supports", "caches", "auxiliary", "rdtscp"})
    EXPECT_EQ(lines(other, fixed), lines(reference(), fixed)) << fixed;
}

TEST(Instructions, call_by_call_gives_the_same) { expect_like_reference({"--call-by-call"}); }
TEST(Instructions, without_jumps) { expect_like_reference({"--assume-missing", "jumps"}); }
TEST(Instructions, with_all_calls_replaced) { expect_like_reference({"--assume-missing", "call-traps"}); }
TEST(Instructions, without_the_counters_trap) { expect_like_reference({"--assume-missing", "tsc-trap"}); }
TEST(Instructions, without_stops_of_the_loader) { expect_like_reference({"--assume-missing", "loader-stop"}); }
TEST(Instructions, with_the_vdso_in_place) { expect_like_reference({"--assume-missing", "vdso"}); }
TEST(Instructions, without_overcommit) { expect_like_reference({"--assume-missing", "overcommit"}); }
TEST(Instructions, without_anything_that_has_a_second_way) {
  expect_like_reference({"--assume-missing", "tsc-trap,jumps,loader-stop,overcommit,vdso"});
}

TEST(Instructions, on_another_processor) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  int last = -1;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) last = core;
  }
  expect_like_reference({"--core", std::to_string(last)});
}

// Code in memory that stays writable is executed step by step where it contains such instructions.
TEST(Instructions, are_answered_in_writable_code) {
  const support::RunReport run = run_with({}, " writable");
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.report["determinism"], "exact") << run.story();
  EXPECT_THAT(run.output("client"), HasSubstr("writable: cpuid 40982201 as elsewhere"));
  EXPECT_THAT(run.output("client"), HasSubstr("writable: xgetbv 0 rdpid 0 lsl 0"));
  EXPECT_THAT(run.output("client"), Not(HasSubstr("AGAIN")));
  EXPECT_THAT(run.output("client"), Not(HasSubstr("went back")));
  for (const char* missing : {"tsc-trap", "jumps", "tsc-trap,jumps,loader-stop,overcommit,vdso"}) {
    const support::RunReport other = run_with({"--assume-missing", missing}, " writable");
    EXPECT_EQ(other.output("client"), run.output("client")) << missing;
    EXPECT_EQ(other.digest(), run.digest()) << missing;
    EXPECT_EQ(other.report["determinism"], "exact") << other.story();
  }
}

}  // namespace
}  // namespace verbatim
