// A debugger that holds one program stops the whole fabric, and the run's digest does not know of it.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

const char kServer[] = "server=ibv_rc_pingpong -n 8000";
const char kClient[] = "client=ibv_rc_pingpong -n 8000 server";

pid_t start(const std::string& out) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  const std::string topology = support::topology("two_hosts"), program = support::verbatim_program();
  ::execl(program.c_str(), program.c_str(), "run", "--stuck-after", "1s", "--out", out.c_str(), "--topology",
          topology.c_str(), kServer, kClient, nullptr);
  ::_exit(127);
}

// The first process that `parent` has started and that has become ibv_rc_pingpong; 0 when there is none.
pid_t program_of(pid_t parent) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = support::text_of_file("/proc/" + name + "/stat");
    const std::string wanted = "(ibv_rc_pingpong) ";
    const std::size_t at = stat.find(wanted);
    if (at == std::string::npos) continue;
    if (std::stoi(stat.substr(at + wanted.size() + 2)) == parent) return std::stoi(name);
  }
  return 0;
}

TEST(Debugger, holding_a_program_changes_nothing) {
  if (cli::run_command({"gdb", "--version"}).code != 0) GTEST_SKIP() << "gdb is not installed";
  const support::RunReport undisturbed =
      support::run({.commands = {kServer, kClient}, .options = {"--stuck-after", "1s"}});
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.story();

  const support::TemporaryFolder folder;
  bool held = false;
  for (int attempt = 0; attempt < 5 && !held; ++attempt) {
    const std::string out = folder.path() + "/" + std::to_string(attempt);
    const pid_t child = start(out);
    ASSERT_GT(child, 0);
    pid_t program = 0;
    for (int tries = 0; tries < 1000 && program == 0; ++tries, ::usleep(1000)) program = program_of(child);
    ::usleep(static_cast<useconds_t>(20'000 * attempt));
    const auto before = std::chrono::steady_clock::now();
    // Two seconds under the debugger, twice what a program may compute, once at a stop and once running.
    const auto gdb =
        cli::run_command({"gdb", "-q", "-batch", "-nx", "-p", std::to_string(program), "-ex",
                          "handle SIGSYS nostop noprint pass", "-ex", "handle SIGSEGV nostop noprint pass",
                          "-ex", "info registers rip", "-ex", "shell sleep 2", "-ex", "detach"});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    held = program != 0 && seconds >= 2 && gdb.out.find("rip") != std::string::npos &&
           gdb.out.find("detached") != std::string::npos;
    int status = 0;
    pid_t ended = 0;
    for (int tries = 0; tries < 6000 && ended == 0; ++tries, ::usleep(10'000))
      ended = ::waitpid(child, &status, WNOHANG);
    if (ended == 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      FAIL() << "the run does not go on after the debugger has gone\n" << gdb.out << gdb.err;
    }
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << gdb.out << gdb.err;
    const auto report = nlohmann::json::parse(support::text_of_file(out + "/run.json"), nullptr, false);
    ASSERT_TRUE(report.is_object());
    EXPECT_EQ(report["digest"], undisturbed.digest()) << gdb.out << gdb.err;
    if (held) {
      EXPECT_GE(report["wall_seconds"], 2.0) << "the fabric waited";
    }
  }
  EXPECT_TRUE(held) << "the debugger never caught the program in time";
}

// gdb's commands come from standard input, which is not a terminal here.
cli::Finished run_with_gdb(const std::string& options, const std::string& commands) {
  const std::string words = support::quoted(support::verbatim_program()) + " run --topology " +
                            support::quoted(support::topology("two_hosts")) + " " + options +
                            " 'server=ibv_rc_pingpong -n 20' 'client=ibv_rc_pingpong -n 20 server'";
  return cli::run_command({"/bin/sh", "-c", "printf '" + commands + "' | " + words});
}

std::string digest_in(const std::string& text) {
  const std::size_t at = text.find("digest ");
  return at == std::string::npos ? "" : text.substr(at + 7, 32);
}

TEST(Debugger, is_started_on_a_program_by_name_and_changes_nothing) {
  if (cli::run_command({"gdb", "--version"}).code != 0) GTEST_SKIP() << "gdb is not installed";
  const cli::Finished plain = run_with_gdb("", "");
  ASSERT_EQ(plain.code, 0) << plain.err;
  const cli::Finished stopped = run_with_gdb(
      "--gdb client", "set pagination off\\nset breakpoint pending on\\nbreak ibv_create_cq\\ncontinue\\ndelete\\ncontinue\\n");
  EXPECT_EQ(stopped.code, 0) << stopped.out << stopped.err;
  EXPECT_NE(stopped.out.find("Breakpoint 1, "), std::string::npos) << stopped.out << stopped.err;
  EXPECT_EQ(digest_in(stopped.err), digest_in(plain.err)) << stopped.err;
  const cli::Finished later = run_with_gdb("--gdb server:1 --gdb-at 100.2ms", "info registers rip\\ndetach\\n");
  EXPECT_NE(later.out.find("rip "), std::string::npos) << later.out << later.err;
  EXPECT_EQ(digest_in(later.err), digest_in(plain.err)) << later.err;
}

TEST(Debugger, asks_the_fabric_that_stands_still) {
  if (cli::run_command({"gdb", "--version"}).code != 0) GTEST_SKIP() << "gdb is not installed";
  const cli::Finished plain = run_with_gdb("", "");
  const cli::Finished asked = run_with_gdb(
      "--gdb client",
      "set pagination off\\nmonitor now\\nbreak ibv_modify_qp\\ncontinue\\ncontinue\\ncontinue\\nmonitor now\\nmonitor qps\\n"
      "monitor cqs client\\nmonitor trace 2\\nmonitor packets\\nmonitor moment\\ndelete\\ncontinue\\n");
  EXPECT_EQ(asked.code, 0) << asked.out << asked.err;
  EXPECT_EQ(digest_in(asked.err), digest_in(plain.err)) << asked.err;
  const auto says = [&](const char* text) { EXPECT_NE(asked.out.find(text), std::string::npos) << text << "\n" << asked.out; };
  says("is held at 100000.000 us");
  says("server: ibv_rc_pingpong (pid 1000): QP 72 RC RTS, connected to ");
  says("client: ibv_rc_pingpong (pid 1001): QP 72 RC RTR, connected to ");
  says("CQ 128: 0 of 512 completions wait to be polled");
  says("hca/client  qp-state  qpn=72 from=1 to=2");
  says("no packet is on a cable or in a switch");
  says("there is no moment");
}

// Traps of memory accesses (--spec-accesses) raise SIGSEGV; gdb does not stop for them.
TEST(Debugger, holds_programs_whose_accesses_to_memory_trap) {
  if (cli::run_command({"gdb", "--version"}).code != 0) GTEST_SKIP() << "gdb is not installed";
  const auto run_with = [](const std::string& options, const std::string& commands) {
    const std::string program = support::quoted(std::string(PROCESS_FOLDER) + "/unlocked") + " threads";
    const std::string words = support::quoted(support::verbatim_program()) +
                              " run --freedom spec --spec-accesses --seed 3 --topology " +
                              support::quoted(support::topology("two_hosts")) + " " + options + " 'server=" + program + "'";
    return cli::run_command({"/bin/sh", "-c", "printf '" + commands + "' | " + words});
  };
  const cli::Finished plain = run_with("", "");
  ASSERT_EQ(plain.code, 0) << plain.err;
  const cli::Finished held =
      run_with("--gdb server", "set pagination off\\nbreak add\\ncontinue\\nstepi\\nstepi\\ncontinue\\ndelete\\ncontinue\\n");
  EXPECT_EQ(held.code, 0) << held.out << held.err;
  EXPECT_NE(held.out.find("Breakpoint 1, "), std::string::npos) << held.out << held.err;
  EXPECT_EQ(held.out.find("received signal"), std::string::npos) << held.out;
  EXPECT_EQ(digest_in(held.err), digest_in(plain.err)) << held.err;
}

TEST(Debugger, goes_back_to_an_earlier_moment_of_the_same_run) {
  if (cli::run_command({"gdb", "--version"}).code != 0) GTEST_SKIP() << "gdb is not installed";
  const cli::Finished plain = run_with_gdb("", "");
  const support::TemporaryFolder folder;
  const std::string log = folder.path() + "/log";
  // The second gdb reads the input that the first one has not read: it is written when that has exited.
  const std::string words =
      "{ printf 'set pagination off\\nbreak ibv_modify_qp\\ncontinue\\ncontinue\\ncontinue\\nmonitor back 30us\\n'; "
      "until grep -q 'Attaching to process .*' '" + log + "' && [ $(grep -c 'Attaching to process' '" + log + "') = 2 ]; do sleep 0.05; done; "
      "printf 'info breakpoints\\nmonitor now\\ncontinue\\nmonitor now\\ndelete\\ncontinue\\n'; } | " +
      support::quoted(support::verbatim_program()) + " run --topology " + support::quoted(support::topology("two_hosts")) +
      " --gdb client 'server=ibv_rc_pingpong -n 20' 'client=ibv_rc_pingpong -n 20 server' > '" + log + "' 2>&1";
  const cli::Finished run = cli::run_command({"/bin/sh", "-c", words});
  const std::string text = support::text_of_file(log);
  EXPECT_EQ(run.code, 0) << text;
  EXPECT_NE(text.find("the run goes back to 1003"), std::string::npos) << text;
  EXPECT_NE(text.find("<ibv_modify_qp>"), std::string::npos) << "breakpoints are kept\n" << text;
  EXPECT_EQ(digest_in(text), digest_in(plain.err)) << text;
  // The last change of state is before us again.
  const std::size_t begun = text.rfind("Attaching to process");
  EXPECT_NE(text.find("Breakpoint 1, ", begun), std::string::npos) << text;
}

TEST(Debugger, of_a_program_that_is_not_there_is_refused) {
  for (const char* options : {"--gdb nobody", "--gdb client:2", "--gdb client:x", "--gdb client --gdb-at soon", "--gdb-at 1ms", "--gdb client --gdb-commands /nowhere", "--gdb-commands /dev/null"})
    EXPECT_EQ(run_with_gdb(options, "").code, 2) << options;
  const cli::Finished never = run_with_gdb("--gdb client --gdb-at 50s", "");
  EXPECT_EQ(never.code, 1);
  EXPECT_NE(never.err.find("gdb was not started: the run ended before its time"), std::string::npos) << never.err;
}

}  // namespace
}  // namespace verbatim
