// Runs that fail: the exit code, and sentences with program, place and reason.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <regex>
#include <thread>

#include "tests/support/processes.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// `command` is the name of a program of this folder and its arguments.
std::string program(const std::string& command) {
  const std::size_t end = std::min(command.find(' '), command.size());
  return support::quoted(std::string(PROCESS_FOLDER) + "/" + command.substr(0, end)) + command.substr(end);
}

RunReport run(std::vector<std::string> commands, std::vector<std::string> options = {}) {
  return support::run({.commands = std::move(commands), .options = std::move(options)});
}

TEST(Outcome, two_servers_are_deadlocked_and_each_is_named) {
  const RunReport result = run({"server=ibv_rc_pingpong", "client=ibv_rc_pingpong"});
  EXPECT_EQ(result.code, 3) << result.story();
  EXPECT_EQ(result.report["outcome"], "deadlock");
  EXPECT_THAT(result.err, HasSubstr("verbatim: the programs are deadlocked at "));
  ASSERT_EQ(result.report["findings"].size(), 2u) << result.report["findings"];
  const char* who[] = {"server: ibv_rc_pingpong (pid 1000), thread 1000",
                       "client: ibv_rc_pingpong (pid 1001), thread 1001"};
  for (int i = 0; i < 2; ++i) {
    const std::string finding = result.report["findings"][static_cast<std::size_t>(i)];
    EXPECT_EQ(finding.find(std::string(who[i]) + " waits in accept on TCP socket listening on "), 0u)
        << finding;
    EXPECT_THAT(finding, HasSubstr(":18515 since "));
    EXPECT_THAT(result.err, HasSubstr("verbatim: " + finding + "\n"));
  }
  for (const auto& entry : result.report["programs"]) {
    EXPECT_TRUE(entry["exit_code"].is_null() && entry["signal"].is_null()) << "they were still running";
  }
}

TEST(Outcome, every_blocked_thread_of_a_deadlock_is_named) {
  const RunReport result = run({"server=" + program("stuck locked")});
  EXPECT_EQ(result.code, 3) << result.story();
  ASSERT_EQ(result.report["findings"].size(), 2u) << result.report["findings"];
  for (const auto& finding : result.report["findings"]) {
    EXPECT_THAT(finding.get<std::string>(), HasSubstr(" waits in futex")) << finding;
  }
}

// The wait may begin in a call that is executed before its time.
// Nearly every loop of an existing program reads thread-local memory: its stack guard, a lock, errno.
TEST(Outcome, an_empty_poll_loop_that_reads_thread_local_memory_is_seen_to_wait) {
  for (const std::string kind : {"plain", "canary", "mutex", "errno", "local"}) {
    const std::string command = "server=" + support::quoted(WAIT_FOR_NOTHING) + " " + kind;
    const RunReport result = run({command}, {"--time-limit", "1s"});
    EXPECT_EQ(result.code, 3) << kind << result.story();
    EXPECT_THAT(result.err, HasSubstr("polls completion queue")) << kind;
  }
}

TEST(Outcome, a_ring_of_queues_that_stay_empty_is_seen_to_wait) {
  const RunReport result = run({"server=" + support::quoted(WAIT_FOR_NOTHING) + " ring"}, {"--time-limit", "1s"});
  EXPECT_EQ(result.code, 3) << result.story();
  EXPECT_THAT(result.err, ContainsRegex("polls completion queues [0-9]+, [0-9]+, [0-9]+ and [0-9]+ since .*, and nothing can fill them any more"));
}

TEST(Outcome, a_spin_that_nothing_ends_is_told_with_its_line_and_what_it_waits_for) {
  const RunReport result = run({"server=" + support::quoted(WAIT_FOR_NOTHING) + " flag"}, {"--time-limit", "1s"});
  EXPECT_EQ(result.code, 3) << result.story();
  EXPECT_THAT(result.err, ContainsRegex("thread [0-9]+ spins at wait_for_nothing\\.c:[0-9]+ on memory at 0x"));
  const std::size_t address = result.out.find("0x");
  ASSERT_NE(address, std::string::npos) << result.out;
  EXPECT_THAT(result.err, ContainsRegex(result.out.substr(address, result.out.find('\n', address) - address) +
                                        " since .* us, and nothing can change it any more"));
}

TEST(Outcome, a_crash_is_told_with_its_signal_and_address) {
  const RunReport result = run({"server=" + program("end segv"), "client=true"});
  EXPECT_EQ(result.code, 1) << result.story();
  EXPECT_THAT(result.err, HasSubstr("was ended by signal 11 (SIGSEGV) at "));
  EXPECT_THAT(result.err, ContainsRegex("on host server, `.*/end'? segv`"));
  EXPECT_THAT(result.err, HasSubstr("died of signal 11 (Segmentation fault) at address 0x1234"));
  EXPECT_EQ(result.report["programs"][1]["exit_code"], 0) << "the others go on";
}

TEST(Outcome, an_exit_code_is_told) {
  const RunReport result = run({"server=" + program("end exit 3"), "client=true"});
  EXPECT_EQ(result.code, 1) << result.story();
  EXPECT_THAT(result.err,
              ContainsRegex("verbatim: on host server, `.*/end'? exit 3` ended with exit code 3 at 0\\."));
}

TEST(Outcome, a_time_limit_ends_a_run_that_would_go_on) {
  const RunReport result = run({"server=sleep 100"}, {"--time-limit", "10s"});
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_EQ(result.report["outcome"], "time-limit");
  EXPECT_EQ(result.report["virtual_time_ps"], 10'000'000'000'000);
  EXPECT_THAT(result.err, HasSubstr("the limit of 10.000000000 s of virtual time was reached"));
  EXPECT_EQ(run({"server=sleep 9"}, {"--time-limit", "10s"}).code, 0) << "not before the limit";
}

TEST(Outcome, a_time_limit_tells_what_each_thread_waits_for) {
  const RunReport result = run({"server=sleep 100", "client=" + support::quoted(WAIT_FOR_NOTHING) + " plain"}, {"--time-limit", "10s"});
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, ContainsRegex("server: sleep \\(pid [0-9]+\\), thread [0-9]+ waits in sleep since"));
  EXPECT_THAT(result.err, ContainsRegex("client: wait_for_nothing \\(pid [0-9]+\\), thread [0-9]+ polls completion queue [0-9]+ since"));
}

// The loop must be executed: its cost and the reason are reported.
TEST(Outcome, a_poll_loop_that_is_not_proven_to_wait_is_told) {
  const RunReport result = run({"server=" + support::quoted(WAIT_FOR_NOTHING) + " random"}, {"--time-limit", "3s"});
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, ContainsRegex("thread [0-9]+: [0-9.]+ s of [0-9.]+ s of real time in a poll loop that finds nothing at "
                                        "wait_for_nothing\\.c:[0-9]+, which could not be proven to be a wait, since it "
                                        "(changes a value in each iteration by different amounts|"
                                        "accesses memory at an address that changes in each iteration)"));
  EXPECT_THAT(result.err, ContainsRegex("thread [0-9]+ polls completion queue [0-9]+ at 3\\."));
  const auto& waiting = result.report["waiting"];
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0]["parked_ps"], 0);
  EXPECT_GT(waiting[0]["polling_seconds"], 0.2);
  const RunReport parked = run({"server=" + support::quoted(WAIT_FOR_NOTHING) + " plain", "client=sleep 5"}, {"--time-limit", "4s"});
  EXPECT_GT(parked.report["waiting"][0]["parked_ps"], 3'900'000'000'000) << parked.story();
  EXPECT_EQ(parked.report["waiting"][0]["not_proven"], "");
}

// No virtual time passes meanwhile, so its condition cannot change.
TEST(Outcome, a_program_that_computes_for_long_is_told_where) {
  const RunReport result = run({"server=" + support::quoted(WAIT_FOR_NOTHING) + " busy", "client=true"});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, ContainsRegex("server: wait_for_nothing \\(pid [0-9]+\\), thread [0-9]+: [0-9.]+ s of [0-9.]+ s of real time in computation at or near "
                                        "wait_for_nothing\\.c:[0-9]+, in which no virtual time passes"));
  EXPECT_GT(result.report["waiting"][0]["computing_seconds"], 3.0);
}

// Processor time of the process, in seconds; 0: it has ended.
double processor_time_of(pid_t pid) {
  clockid_t clock;
  timespec time;
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Libraries that print a backtrace of a crash send the signal again afterwards.
TEST(Outcome, a_deadly_signal_of_a_program_has_no_address) {
  const RunReport result = run({"server=sh -c 'kill -SEGV $$'"});
  EXPECT_EQ(result.code, 1) << result.story();
  EXPECT_THAT(result.err, HasSubstr("died of signal 11 (Segmentation fault), which a program sent\n"));
  EXPECT_THAT(result.err, Not(HasSubstr("at address")));
}

// The program computes for less than a second, and meanwhile another program of the machine has its processor for four.
TEST(Outcome, a_program_that_the_machine_does_not_schedule_does_not_compute) {
  std::atomic<bool> has_ended = false;
  bool was_stopped = false;
  std::thread machine([&] {
    const pid_t own = ::getpid();
    while (!has_ended && !was_stopped) {
      for (const support::Process& process : support::descendants_of(own)) {
        if (process.name != "sh" || processor_time_of(process.pid) < 0.1) continue;
        was_stopped = ::kill(process.pid, SIGSTOP) == 0;
        ::sleep(4);
        ::kill(process.pid, SIGCONT);
        break;
      }
      ::usleep(5000);
    }
  });
  const RunReport result = run({"server=sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'"});
  has_ended = true;
  machine.join();
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_TRUE(was_stopped);
  EXPECT_THAT(result.err, Not(HasSubstr("in computation")));
  for (const auto& waiting : result.report["waiting"]) EXPECT_LT(waiting["computing_seconds"], 3.0);
}

// Virtual time ends after 106 days; a sleep until then takes the requested time, and none ends early.
TEST(Outcome, sleeps_are_of_any_length) {
  const std::vector<std::string> options = {"--time-limit", "9223372s"};
  EXPECT_EQ(run({"server=sleep 105d"}, options).report["virtual_time_ps"].get<std::int64_t>() / 1'000'000'000'000,
            105 * 86400);
  for (const char* command : {"sleep 106d", "sleep 107d", "sleep 1000000000", "timeout 200d sleep 300d",
                              "python3 -c 'import time; time.sleep(1e9)'",
                              "python3 -c 'import select; select.select([], [], [], 1e8)'",
                              "python3 -c 'import threading; threading.Event().wait(5e6 * 2)'",
                              "python3 -c 'import signal; signal.setitimer(signal.ITIMER_REAL, 1e9, 1e9); signal.pause()'"}) {
    const RunReport result = run({std::string("server=") + command}, options);
    EXPECT_EQ(result.code, 4) << result.story();
    EXPECT_EQ(result.report["outcome"], "time-limit");
    EXPECT_EQ(result.report["virtual_time_ps"], 106ll * 86400 * 1'000'000'000'000);
    EXPECT_THAT(result.err, HasSubstr("virtual time ends after 106 days"));
  }
  // A sleeping background process does not keep the run from ending.
  EXPECT_EQ(run({"server=sleep 1000000000 &", "client=sleep 1"}).code, 0);
}

TEST(Outcome, timers_of_any_interval_come_when_they_should) {
  const RunReport result = run({"server=python3 -c 'import signal, time; n = [0]\n"
                                "signal.signal(signal.SIGALRM, lambda *_: print(round(time.monotonic() - t)))\n"
                                "t = time.monotonic(); signal.setitimer(signal.ITIMER_REAL, 60 * 86400, 80 * 86400)\n"
                                "signal.pause(); time.sleep(1000)'"},
                               {"--time-limit", "9000000s"});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.output("server"), "5184000\n");
}

// A program that only a limit of real time stops is stopped soon after it, and its activity is reported.
TEST(Outcome, a_program_that_computes_for_ever_is_given_up) {
  for (const char* how : {"stuck computing", "stuck thread"}) {
    const RunReport result = run({"server=" + program(how)}, {"--stuck-after", "1s"});
    EXPECT_EQ(result.code, 4) << result.story();
    EXPECT_EQ(result.report["outcome"], "stuck");
    EXPECT_THAT(result.err, HasSubstr("server: stuck (pid 1000)"));
    EXPECT_THAT(result.err, HasSubstr("without a call"));
    EXPECT_EQ(result.output("server"), "started\n");
    EXPECT_GE(result.wall_seconds, 1);
    EXPECT_LT(result.wall_seconds, 60);
  }
}

// "Without a call" is reported only if it is true.
TEST(Outcome, a_loop_of_calls_that_take_no_time_is_told_as_such) {
  const RunReport result = run({"server=" + program("stuck calling")}, {"--stuck-after", "1s"});
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, HasSubstr(" none of which takes virtual time (the last is access)"));
  EXPECT_THAT(result.err, Not(HasSubstr("without a call")));
}

TEST(Outcome, a_loop_of_calls_that_only_the_kernel_sees_is_not_said_to_make_none) {
  const RunReport result = run({"server=" + program("stuck mapping")}, {"--stuck-after", "1s"});
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, HasSubstr("much of it in the kernel, in calls that take no virtual time, such as mmap"));
  EXPECT_THAT(result.err, Not(HasSubstr("without a call")));
}

// No other thread can change the flag: whether that is proven or the limit is reached, the run ends and names
// the program.
TEST(Outcome, a_program_that_waits_for_memory_that_nobody_changes_is_given_up) {
  const RunReport result = run({"server=" + program("stuck waiting")}, {"--stuck-after", "1s"});
  EXPECT_TRUE(result.code == 3 || result.code == 4) << result.story();
  EXPECT_THAT(result.err, HasSubstr("server: stuck (pid 1000)"));
  EXPECT_LT(result.wall_seconds, 60);
}

TEST(Outcome, a_program_asleep_in_a_call_of_the_kernels_own_is_given_up_and_the_call_is_named) {
  // A file on which this process holds a lease; it ignores the kernel's request to release it.
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  const auto before = ::signal(SIGIO, SIG_IGN);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::fcntl(file, F_SETLEASE, F_WRLCK), 0);
  const RunReport result = run({"server=" + program("stuck asleep ") + path}, {"--stuck-after", "1s"});
  ::close(file);
  ::signal(SIGIO, before);
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_THAT(result.err, HasSubstr("sleeps in the kernel in openat("));
  EXPECT_LT(result.wall_seconds, 60);
}

TEST(Outcome, stuck_after_leaves_other_runs_alone) {
  const RunReport result = run({"server=ibv_rc_pingpong -n 10", "client=ibv_rc_pingpong -n 10 server"},
                               {"--stuck-after", "100 s"});
  const RunReport other = run({"server=ibv_rc_pingpong -n 10", "client=ibv_rc_pingpong -n 10 server"});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.digest(), other.digest());
  EXPECT_EQ(run({"server=true"}, {"--stuck-after", "soon"}).code, 2);
}

TEST(Outcome, verify_ends_with_the_same_code) {
  const RunReport result =
      run({"server=" + program("end signal 15"), "client=ibv_rc_pingpong"}, {"--verify"});
  EXPECT_EQ(result.code, 3) << result.story();
  EXPECT_THAT(result.err, HasSubstr("verbatim: verify: both runs have the same trace\n"));
}

}  // namespace
}  // namespace verbatim
