// The same program natively and in the simulator has the same output and the same exit status.
#include <unistd.h>

#include <utility>

#include "tests/cli/command.h"
#include "tests/process/programs.h"

namespace verbatim::process {
namespace {

using cli::Finished;
using support::RunReport;

// Only the standard streams are open, as in the simulator.
Finished run_natively(const std::string& command) {
  return cli::run_command({"env", "-i", "PATH=/usr/bin:/bin", "sh", "-c",
                           "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- " + path_of(command)});
}

class SameProgram : public ::testing::TestWithParam<Program> {};

RunReport run_simulated(const Program& program, std::vector<std::string> options) {
  support::RunRequest request;
  request.commands = {"server=" + path_of(program.command)};
  request.options = std::move(options);
  return support::run(request);
}

// In slices, call by call, and with every system call replaced from the beginning; the sweep tests the other
// variants.
TEST_P(SameProgram, natively_and_in_the_simulator_however_it_is_run) {
  const Finished native = run_natively(GetParam().command);
  ASSERT_EQ(native.code, GetParam().signal != 0 ? 128 + GetParam().signal : GetParam().code) << native.out << native.err;
  const RunReport run = run_simulated(GetParam(), {});
  EXPECT_EQ(run.output("server"), native.out) << run.story();
  EXPECT_EQ(run.errors("server"), native.err);
  EXPECT_EQ(run.code, native.code == 0 ? 0 : 1) << run.story();
  const auto& program = run.report["programs"][0];
  if (GetParam().signal == 0) {
    EXPECT_EQ(program["exit_code"], GetParam().code);
    EXPECT_TRUE(program["signal"].is_null());
  } else {
    EXPECT_EQ(program["signal"], GetParam().signal);
    EXPECT_TRUE(program["exit_code"].is_null());
  }
  // Only the program's death is reported; other warnings would mean calls that are not simulated.
  for (const auto& warning : run.report["warnings"]) {
    EXPECT_NE(warning.get<std::string>().find("died of signal"), std::string::npos) << warning;
  }
  const RunReport calls = run_simulated(GetParam(), {"--call-by-call"});
  EXPECT_EQ(run.digest(), calls.digest()) << run.story() << calls.story();
  const RunReport replaced = run_simulated(GetParam(), {"--assume-missing", "call-traps"});
  EXPECT_EQ(run.digest(), replaced.digest()) << run.story() << replaced.story();
}

// Delayed processes and threads get signals before they have executed anything.
TEST(Process, signals_before_the_first_step_are_not_lost_whoever_is_late) {
  for (const std::string program : {"signal_group", "signal_at_start"}) {
    for (int seed = 1; seed <= 6; ++seed) {
      support::RunRequest request;
      request.commands = {"server=" + path_of(program)};
      request.options = {"--freedom", "spec", "--seed", std::to_string(seed)};
      const support::RunReport run = support::run(request);
      ASSERT_EQ(run.code, 0) << run.story();
      request.options.push_back("--call-by-call");
      EXPECT_EQ(support::run(request).digest(), run.digest()) << run.story();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plain, SameProgram, ::testing::ValuesIn(plain_programs()), name_of);
INSTANTIATE_TEST_SUITE_P(Programs, SameProgram, ::testing::ValuesIn(programs_with_arguments()), name_of);
INSTANTIATE_TEST_SUITE_P(Ends, SameProgram, ::testing::ValuesIn(programs_that_end()), name_of);

// Processes of two hosts may have the same numbers, and their contexts the same names.
TEST(Simulated, hosts_have_asynchronous_contexts_of_their_own) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("async_io"), "client=" + path_of("async_io")};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), run.output("client"));
  EXPECT_NE(run.output("client").find("a copy of the process has none of them: 5\n"), std::string::npos) << run.story();
}

// A poke that coincides with a signal's delivery, before the handler has run, does not prove that the loop
// still runs.
TEST(Simulated, pokes_at_any_time_find_handlers_that_have_run) {
  for (const char* period : {"1", "50", "3000"}) {
    support::RunRequest request;
    request.commands = {"server=" + path_of("spin_signals")};
    request.options = {"--poke-period", period};
    const RunReport run = support::run(request);
    EXPECT_EQ(run.code, 0) << period << " us: " << run.story();
    EXPECT_EQ(run.output("server"), "own handler: 100 times\nanother thread's handler: 100 times\n")
        << period;
  }
}

TEST(Simulated, two_thousand_threads_at_once) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("many_threads 2000")};
  const RunReport slices = support::run(request);
  constexpr int kMachineFault = 71;
  if (slices.code == kMachineFault) GTEST_SKIP() << "this machine has no room for as many threads: " << slices.err;
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.output("server"), "2000 threads\n") << slices.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), slices.digest());
}

// The maximum number for a process; the machine need not permit it that many files.
TEST(Simulated, sixty_five_thousand_descriptors) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("many_descriptors 65536 500")};
  const RunReport slices = support::run(request);
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.output("server"),
            "65536 descriptors\nepoll: 52327 watched\n/proc/self/fd: 65536\nchild: 0\nas asked\n");
  EXPECT_EQ(slices.report["determinism"], "exact") << slices.story();
}

// A copy instead of shared memory would cause silent errors.
TEST(Simulated, processes_that_share_memory_are_refused_by_name) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("clone_memory")};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.output("server"), "EINVAL, shared 0\nEINVAL, shared 0\n") << run.story();
  ASSERT_EQ(run.report["warnings"].size(), 1u) << run.story();
  EXPECT_NE(run.report["warnings"][0].get<std::string>().find("CLONE_VM"), std::string::npos) << run.story();
  EXPECT_EQ(run.report["determinism"], "exact");
}

// A pending poke is not a signal that the program waits for, and ends no wait in its place.
TEST(Simulated, pokes_at_any_time_end_no_wait_for_a_signal) {
  for (const char* program : {"signal_between", "signal_waits", "select_sets", "highest_signal"}) {
    support::RunRequest request;
    request.commands = {"server=" + path_of(program)};
    request.options = {"--poke-period", "20000"};
    const RunReport undisturbed = support::run(request);
    ASSERT_EQ(undisturbed.code, 0) << undisturbed.story();
    for (int period = 1; period <= 30; ++period) {
      request.options = {"--poke-period", std::to_string(period)};
      EXPECT_EQ(support::run(request).digest(), undisturbed.digest()) << program << ", " << period << " us";
    }
  }
}

// The name contains the process id, because shared memory has the machine's names.
TEST(TwoPrograms, of_one_host_share_memory_and_signals) {
  const std::string name = "/verbatim-two-programs-" + std::to_string(::getpid());
  const std::string first = path_of("two_programs " + name + " first"),
                    second = path_of("two_programs " + name + " second");
  const Finished native =
      cli::run_command({"sh", "-c", "{ " + first + " & " + second + "; wait; } | sort"});
  EXPECT_EQ(native.out, "first: \"memory\", 1 by name, 2 by descriptor\nsecond: 3\n") << native.err;
  support::RunRequest request;
  request.commands = {"server=" + first, "server=" + second};
  const RunReport slices = support::run(request);
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.out, "server| first: \"memory\", 1 by name, 2 by descriptor\nserver.2| second: 3\n")
      << slices.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), slices.digest());
}

// Beyond Linux' guarantees: the counter runs exactly at the stated frequency.
TEST(Simulated, counter_runs_at_the_stated_frequency) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("clocks")};
  const support::TemporaryFolder folder;
  const std::string scenario = folder.path() + "/s.json";
  FILE* file = std::fopen(scenario.c_str(), "w");
  std::fprintf(
      file,
      R"({"topology": "%s", "programs": [{"host": "server", "command": %s, "env": {"EXACT_COUNTER": "1"}}]})",
      support::topology("two_hosts").c_str(), nlohmann::json(path_of("clocks")).dump().c_str());
  std::fclose(file);
  const Finished run = cli::run_command({support::verbatim_program(), "run", scenario});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
}

// A program whose call is refused gets an errno, and the user a warning that names the call.
TEST(Simulated, refused_calls_are_named) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("refused")};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(
      run.output("server"),
      "io_uring_setup: ENOSYS\nopenat2: ENOSYS\nfutex_waitv: ENOSYS\n"
      "FUTEX_WAIT_REQUEUE_PI: ENOSYS\nsend of urgent data: EOPNOTSUPP\n"
      "time stamps of TCP: ENOPROTOOPT\n"
      "terminal: ENODEV\n"
      "statistics of protocols: ENOENT\n"
      "9999: ENOSYS\n511: ENOSYS\n"
      "9999 again: ENOSYS\nand on\n");
  std::vector<std::string> expected;
  const auto expect = [&](const std::string& text) {
    expected.push_back("server: refused (pid 1000): " + text);
  };
  for (const char* name : {"io_uring_setup", "openat2", "futex_waitv"}) {
    expect(std::string(name) +
           " is not simulated; the program got ENOSYS (with --strict=warn it would reach the "
           "machine's own kernel)");
  }
  expect(
      "futex FUTEX_WAIT_REQUEUE_PI is not simulated; the program got ENOSYS; wait with FUTEX_WAIT_BITSET and "
      "lock "
      "with FUTEX_LOCK_PI, as the C library does");
  expect("urgent data (MSG_OOB) is not simulated; the program got EOPNOTSUPP");
  expect("socket option 29 of level 1 is not simulated; the program got ENOPROTOOPT");
  expect("terminals are not simulated; the program that opened /dev/console got ENODEV");
  expect("/proc/self/net/netstat is not simulated; the program got ENOENT (with --strict=warn it would get the "
         "machine's own)");
  for (const char* name : {"9999", "511"}) {
    expect("system call " + std::string(name) + " is not simulated; the program got ENOSYS");
  }
  EXPECT_EQ(run.report["warnings"], nlohmann::json(expected)) << "each once, in order";
  for (const std::string& warning : expected) EXPECT_NE(run.err.find(warning), std::string::npos) << run.err;
}

// --strict=warn: calls that are not simulated reach the machine's kernel, and the run is reported as weak,
// with the reason.
TEST(Simulated, unknown_calls_can_be_let_through) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("refused")};
  request.options = {"--strict=warn"};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("server").find("openat2: success\n"), std::string::npos) << run.story();
  EXPECT_NE(run.output("server").find("9999: ENOSYS\n"), std::string::npos);
  EXPECT_EQ(run.report["determinism"], "weak");
  ASSERT_EQ(run.report["weak"].size(), 4u) << run.report["weak"];
  EXPECT_EQ(
      run.report["weak"][1],
      "server: refused (pid 1000): openat2 is not simulated; it reached the machine's own kernel");
  EXPECT_NE(run.err.find("weak"), std::string::npos) << run.err;
}

TEST(Simulated, watches_of_what_is_not_the_hosts_own_are_told_of) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("watched_elsewhere")};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "16384 events, 128 descriptors, 65536 watches\n");
  std::vector<std::string> expected;
  for (const char* path : {"/usr", "/usr/bin/env", "/proc/1000/status"}) {
    expected.push_back(std::string("server: watched_elsewhere (pid 1000): ") + path +
                       " is not in one of the host's own folders, so inotify reports no changes of it");
  }
  EXPECT_EQ(run.report["warnings"], nlohmann::json(expected));
  EXPECT_EQ(run.report["determinism"], "exact");
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

// Unrelated programs of one host; one of them starts while the other watches.
TEST(Simulated, programs_of_a_host_hear_of_each_others_files_and_of_no_other_hosts) {
  const support::TemporaryFolder folder;
  const std::string watcher = folder.path() + "/watcher.py", scenario = folder.path() + "/s.json";
  FILE* file = std::fopen(watcher.c_str(), "w");
  std::fputs(R"(import ctypes, os, struct, time
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0)
assert libc.inotify_add_watch(fd, b"/tmp", 0x308) == 1  # IN_CREATE, IN_DELETE, IN_CLOSE_WRITE
start, names = time.monotonic_ns(), []
while names.count(0x200) < 2:
  bytes = os.read(fd, 4096)
  while bytes:
    _, mask, _, size = struct.unpack("iIII", bytes[:16])
    print(hex(mask), bytes[16:16 + size].rstrip(b"\0").decode(), round((time.monotonic_ns() - start) / 1e6), "ms")
    names.append(mask)
    bytes = bytes[16 + size:]
)", file);
  std::fclose(file);
  file = std::fopen(scenario.c_str(), "w");
  std::fprintf(file, R"({"topology": "%s", "programs": [
    {"host": "server", "command": ["python3", "%s"]},
    {"host": "server", "start": "10 ms", "command": ["sh", "-c", "echo x > /tmp/a; sleep 0.01; rm /tmp/a"]},
    {"host": "client", "start": "12 ms", "command": ["sh", "-c", "echo x > /tmp/b; rm /tmp/b"]},
    {"host": "server", "start": "40 ms", "command": ["sh", "-c", "echo x > /tmp/c; rm /tmp/c"]}]})",
               support::topology("two_hosts").c_str(), watcher.c_str());
  std::fclose(file);
  const std::string expected = "server| 0x100 a 10 ms\nserver| 0x8 a 10 ms\nserver| 0x200 a 20 ms\n"
                               "server| 0x100 c 40 ms\nserver| 0x8 c 40 ms\nserver| 0x200 c 40 ms\n";
  for (const char* mode : {"--seed=1", "--call-by-call"}) {
    const Finished run = cli::run_command({support::verbatim_program(), "run", mode, scenario});
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    EXPECT_EQ(run.out, expected) << run.err;
  }
}

TEST(Simulated, tail_follows_a_name) {
  support::RunRequest request;
  request.commands = {"server=sh -c 'touch /tmp/log; (sleep 0.01; echo one >> /tmp/log; sleep 0.01; mv /tmp/log /tmp/old; "
                      "echo two > /tmp/log; sleep 0.01; echo three >> /tmp/log) & timeout 0.05 tail -F /tmp/log'"};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.output("server"), "one\ntwo\nthree\n") << run.story();
  EXPECT_TRUE(run.report["warnings"].empty()) << run.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

// Names are sorted, whatever order the file system uses.
TEST(Simulated, folders_are_told_in_order) {
  const support::TemporaryFolder folder;
  std::string expected;
  for (const int i : {7, 3, 9, 1, 0, 8, 2, 6, 5, 4}) {
    std::fclose(std::fopen((folder.path() + "/name" + std::to_string(i)).c_str(), "w"));
  }
  for (int i = 0; i < 10; ++i) expected += "name" + std::to_string(i) + "\n";
  const RunReport run = support::run({.commands = {"server=ls -U"}, .working_directory = folder.path()});
  EXPECT_EQ(run.output("server"), expected) << run.story();
}

TEST(Simulated, a_stopped_program_that_nobody_continues_is_a_deadlock) {
  const RunReport run = support::run({.commands = {"server=sh -c 'kill -STOP $$'"}});
  EXPECT_EQ(run.code, 3) << run.story();
  EXPECT_NE(run.err.find("is stopped by signal 19, and no process sends it SIGCONT"), std::string::npos) << run.err;
}

// Calls that block are executed early in a slice: the run ends at their time, when files are recorded.
TEST(Simulated, a_deadlock_is_at_the_time_of_the_last_call_in_both_modes) {
  for (const std::string last : {"exec cat /tmp/pipe", "exec 3<> /tmp/pipe; read line <& 3"}) {
    const std::vector<std::string> commands = {"server=sh -c 'echo text > /tmp/file; mkfifo /tmp/pipe; " + last + "'"};
    const RunReport slices = support::run({.commands = commands});
    const RunReport calls = support::run({.commands = commands, .options = {"--call-by-call"}});
    EXPECT_EQ(slices.code, 3) << slices.story();
    EXPECT_EQ(slices.report["virtual_time_ps"], calls.report["virtual_time_ps"]) << slices.story() << calls.story();
    EXPECT_EQ(slices.digest(), calls.digest());
  }
}

TEST(Simulated, time_passes_only_as_asked) {
  const RunReport run = support::run({.commands = {"server=sleep 1000"}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_GE(run.virtual_ms(), 1'000'000);
  EXPECT_LT(run.virtual_ms(), 1'000'001);
  EXPECT_LT(run.wall_seconds, 100);
}

}  // namespace
}  // namespace verbatim::process
