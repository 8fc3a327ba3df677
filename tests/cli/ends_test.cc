// Ends of runs: interrupted, unable to write output, programs that cannot be started.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "sim/core/sanitizer.h"
#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

using config::Folder;

std::string text_of(const std::string& path) {
  config::Diagnostics diagnostics;
  return config::read_file(path, diagnostics).value_or("(no file)");
}

// Each run prints hello on the server; `how` is a shell command that runs "$@".
Finished run_by(const std::string& how, const std::string& out) {
  return run_command({"/usr/bin/python3", "-I", "-c", how, VERBATIM_PROGRAM, "run", "--out", out, "--topology", kTopology,
                      "server=echo hello"});
}

void expect_reported(const Finished& run, const std::string& out) {
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_NE(run.err.find("verbatim: standard output is not complete: "), std::string::npos) << run.err;
  EXPECT_EQ(text_of(out + "/server.stdout"), "hello\n");
  EXPECT_TRUE(nlohmann::json::parse(text_of(out + "/run.json")).is_object());
}

TEST(StandardOutput, that_is_full_is_an_error) {
  Folder folder;
  expect_reported(run_by("import sys, subprocess; sys.exit(subprocess.call(sys.argv[1:], stdout=open('/dev/full', 'w')))",
                     folder.path() + "/out"),
              folder.path() + "/out");
}

TEST(StandardOutput, that_is_closed_is_an_error_and_no_other_file_gets_it) {
  Folder folder;
  expect_reported(run_by("import os, sys; os.close(0); os.close(1); os.execv(sys.argv[1], sys.argv[1:])", folder.path() + "/out"),
              folder.path() + "/out");
}

TEST(StandardOutput, that_nobody_reads_is_an_error) {
  Folder folder;
  expect_reported(run_by("import os, sys, subprocess; r, w = os.pipe(); os.close(r); "
                     "sys.exit(subprocess.call(sys.argv[1:], stdout=w))",
                     folder.path() + "/out"),
              folder.path() + "/out");
}

TEST(StandardOutput, that_is_full_is_an_error_of_every_verb) {
  for (const char* words : {"describe topologies/two_hosts.json", "check topologies/two_hosts.json", "--version"}) {
    const Finished run = run_command({"/bin/sh", "-c", std::string("exec \"$0\" ") + words + " > /dev/full", VERBATIM_PROGRAM});
    EXPECT_EQ(run.code, 1) << words << ": " << run.err;
  }
}

TEST(RunJson, that_cannot_be_written_is_an_error) {
  Folder folder;
  const std::string out = folder.path() + "/out";
  std::filesystem::create_directory(out);
  std::filesystem::create_symlink("/dev/full", out + "/run.json");
  const Finished run = verbatim({"run", "--out", out, "--topology", kTopology, "server=true"});
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("verbatim: cannot write \"" + out + "/run.json\": No space left on device\n"), std::string::npos) << run.err;
  EXPECT_TRUE(std::filesystem::is_symlink(out + "/run.json"));
}

TEST(Start, a_program_that_cannot_be_started_ends_the_run_at_once) {
  Folder folder;
  const std::string program = folder.path() + "/gone", out = folder.path() + "/out";
  std::filesystem::copy_file("/bin/true", program);
  const Finished run = verbatim({"run", "--out", out, "--topology", kTopology, "server=rm " + program,
                                 "server=sh -c 'sleep 1000; echo on'", "client=" + program});
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("verbatim: client: " + program + ": No such file or directory\n"), std::string::npos) << run.err;
  EXPECT_EQ(run.out, "");
  const auto json = nlohmann::json::parse(text_of(out + "/run.json"));
  EXPECT_EQ(json["outcome"], "not-started");
  EXPECT_EQ(json["virtual_time_ps"], 200'000'000'000);  // the time at which it should have started
}

TEST(Start, programs_that_name_more_files_than_a_host_shows_end_the_run_with_a_sentence) {
  Folder folder;
  std::string command = "server=true";
  for (int i = 0; i < 300; ++i) {
    const std::string name = folder.path() + "/" + std::to_string(i);
    std::filesystem::create_directory(name);
    command += " " + name;
  }
  const Finished run = verbatim({"run", "--topology", kTopology, command});
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("verbatim: server: its programs name more than 256 files and folders in their arguments and "
                         "environment, or longer names than 131072 bytes; name a folder above them\n"),
            std::string::npos)
      << run.err;
}

// The server waits for a client that has failed: the failure comes first.
TEST(Deadlock, after_the_failure_of_a_program_names_that_program_first) {
  const Finished run = verbatim({"run", "--topology", kTopology, "server=ibv_rc_pingpong", "client=sh -c 'sleep 1; exit 7'"});
  EXPECT_EQ(run.code, 3) << run.err;
  const std::size_t failed = run.err.find("verbatim: on host client, `sh -c 'sleep 1; exit 7'` ended with exit code 7 at 1.1");
  const std::size_t dead = run.err.find("verbatim: the other programs are deadlocked at 1.1");
  EXPECT_LT(failed, dead) << run.err;
  EXPECT_NE(dead, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("on host client", failed + 20), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("start that one first"), std::string::npos) << run.err;
}

TEST(Deadlock, of_a_server_that_was_started_after_its_client_names_the_order) {
  const Finished run = verbatim({"run", "--topology", kTopology, "client=ibv_rc_pingpong server", "server=ibv_rc_pingpong"});
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_TRUE(std::regex_search(run.err, std::regex("on host client, `ibv_rc_pingpong server` ended with exit code 1 at [0-9.]+ us, before the program of "
                                                    "server was started at 100000.000 us: if it needs that one, start that one first\n")))
      << run.err;
}

TEST(Deadlock, with_a_misspelt_host_in_a_command_names_it) {
  const Finished run = verbatim({"run", "--topology", kTopology, "server=ibv_rc_pingpong", "client=ibv_rc_pingpong sever"});
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_TRUE(std::regex_search(run.err, std::regex("ended with exit code 1 at [0-9.]+ us; no host is named \"sever\": if it is meant as one, is it \"server\"\\?\n")))
      << run.err;
}

TEST(Limits, of_the_caller_that_are_too_small_are_told_as_by_check_host) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer needs more address space than these limits leave";
  for (const auto& [limit, told] :
       {std::pair("ulimit -n 1155", "the hard limit on open files is lower (ulimit -Hn); raise it"),
        std::pair("ulimit -n 256", "the hard limit on open files is lower (ulimit -Hn); raise it"),
        std::pair("ulimit -v 400000", "the hard limit on address space is lower (ulimit -Hv); raise it"),
        std::pair("ulimit -d 20000", "the hard limit on the data segment is lower (ulimit -Hd); raise it"),
        std::pair("ulimit -s 4000", "the hard limit on the stack is lower (ulimit -Hs); raise it"),
        std::pair("ulimit -s 64", "the hard limit on the stack is lower (ulimit -Hs); raise it"),
        std::pair("ulimit -f 1000000", "the hard limit on the size of files is lower (ulimit -Hf); raise it")}) {
    const std::string limited = std::string(limit) + "; exec \"$0\" \"$@\"";
    const Finished run =
        run_command({"/bin/sh", "-c", limited, VERBATIM_PROGRAM, "run", "--topology", kTopology, "server=true"});
    EXPECT_EQ(run.code, 2) << limit;
    EXPECT_NE(run.err.find(told), std::string::npos) << limit << ": " << run.err;
    EXPECT_NE(run.err.find("; nothing was started\n"), std::string::npos) << run.err;
    const Finished check = run_command({"/bin/sh", "-c", limited, VERBATIM_PROGRAM, "check", "--host"});
    EXPECT_EQ(check.code, 2) << limit;
    EXPECT_NE(check.out.find(told), std::string::npos) << limit << ": " << check.out;
  }
}

TEST(Limits, on_open_files_that_are_just_enough_leave_room_for_exec) {
  const std::string exec = "server=sh -c 'exec 5< README.md; exec sh -c \"head -c 10 <&5\"'";
  const Finished run = run_command({"/bin/sh", "-c", "ulimit -n 1156; exec \"$0\" \"$@\"", VERBATIM_PROGRAM, "run", "--quiet", "--topology",
                                    kTopology, exec});
  EXPECT_EQ(run.code, 0) << run.err;
}

// Each program needs address space of the simulator for shared memory; the limit suffices for one, not for
// eight.
TEST(Limits, that_are_too_small_for_so_many_programs_end_the_run_with_a_sentence) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer needs more address space than this limit leaves";
  std::vector<std::string> words = {"/bin/sh", "-c", "ulimit -v 20000000; exec \"$0\" \"$@\"", VERBATIM_PROGRAM, "run",
                                    "--topology", kTopology, "--stagger", "0 s"};
  for (int i = 0; i < 8; ++i) words.push_back("server=sleep 1000");
  const Finished run = run_command(words);
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_NE(run.err.find("cannot map the memory shared with a program: Cannot allocate memory; raise the limits on address "
                         "space (ulimit -Hv)"),
            std::string::npos)
      << run.err;
}

// The seed's first random byte decides whether the program fails, never ends, or succeeds.
const char kProgram[] =
    "client=/usr/bin/python3 -I -c 'import os, sys\nn = os.urandom(1)[0]\nwhile n % 8 == 1: pass\nsys.exit(3 * (n % 4 == 0))'";

// The program makes calls continuously, and would end by itself after some seconds.
TEST(Interrupt, ends_a_run_whose_program_never_waits) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    Folder folder;
    const std::string lines = folder.path() + "/lines";
    ::signal(SIGHUP, SIG_DFL);
    const Finished run = run_command(
        {"/bin/sh", "-c",
         "lines=$1; shift; \"$0\" \"$@\" > $lines 2>&1 & until pgrep -P $! python3 >/dev/null; do sleep 0.05; done; sleep 0.3; kill -" +
             std::to_string(signal) + " $!; wait $!",
         VERBATIM_PROGRAM, lines, "run", "--topology", kTopology,
         "server=/usr/bin/python3 -I -c 'for i in range(60000): "
         "open(\"/proc/self/status\").close()'"});
    EXPECT_EQ(run.code, 5) << signal << text_of(lines);
  }
}

// A wait for a starting program may be interrupted by a signal. This is rare: without a retry one run of
// twelve fails.
TEST(Start, goes_on_whatever_signals_come_meanwhile) {
  const std::string storm =
      "import os, signal, subprocess, sys\n"
      "for i in range(40):\n"
      "    run = subprocess.Popen(sys.argv[1:])\n"
      "    while run.poll() is None:\n"
      "        for i in range(20): os.kill(run.pid, signal.SIGCHLD)\n"
      "    if run.returncode != 0: sys.exit(run.returncode)\n";
  const Finished runs = run_command({"/usr/bin/python3", "-I", "-c", storm, VERBATIM_PROGRAM, "run", "--topology", kTopology,
                                     "server=true", "client=true", "server=echo here", "client=true"});
  EXPECT_EQ(runs.code, 0) << runs.out << runs.err;
}

TEST(Seeds, interrupted_ones_keep_what_is_known) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    Folder folder;
    const std::string out = folder.path() + "/out", lines = folder.path() + "/lines";
    ::signal(SIGHUP, SIG_DFL);  // the caller may ignore SIGHUP
    const Finished run = run_command(
        {"/bin/sh", "-c",
         "lines=$1; shift; \"$0\" \"$@\" > $lines & "
         "until grep -q 'exit code' $lines; do sleep 0.05; done; kill -" + std::to_string(signal) +
             " $!; wait $!; code=$?; cat $lines; exit $code",
         VERBATIM_PROGRAM, lines, "run", "--topology", kTopology, "--seeds", "1..100000", "--jobs", "2", "--out", out, kProgram});
    EXPECT_EQ(run.code, 5) << run.out << run.err;
    std::smatch found;
    ASSERT_TRUE(std::regex_search(
        run.out, found,
        std::regex("\nseeds 1..100000: (\\d+) as expected, (\\d+) failed, (\\d+) did not finish: interrupted\n(same failure as seed \\d+: "
                   "\\d+ runs\n)*repeat: .+\n")))
        << run.out;
    const int as_expected = std::stoi(found[1]), failed = std::stoi(found[2]), left = std::stoi(found[3]);
    EXPECT_EQ(as_expected + failed + left, 100'000);
    EXPECT_GE(failed, 1);
    const auto json = nlohmann::json::parse(text_of(out + "/seeds.json"));
    EXPECT_EQ(json["seeds"].size(), static_cast<std::size_t>(as_expected + failed));
    EXPECT_EQ(json["failed"].size(), static_cast<std::size_t>(failed));
    EXPECT_EQ(json["interrupted"], true);
  }
}

}  // namespace
}  // namespace verbatim::cli
