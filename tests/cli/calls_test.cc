// `--calls` prints the calls of programs, one line each, and changes nothing else of the run.
#include <filesystem>
#include <regex>

#include "sim/core/sanitizer.h"
#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

struct Called {
  Finished run;
  std::string calls;
  std::string digest;  // "digest 0123…"
};

Called run_with(std::vector<std::string> words, bool with_calls) {
  config::Folder folder;
  const std::string file = folder.path() + "/calls";
  words.insert(words.begin(), {"run", "--topology", kTopology});
  if (with_calls) words.insert(words.begin() + 1, {"--calls", file});
  Called called{verbatim(words), "", ""};
  config::Diagnostics diagnostics;
  if (with_calls) called.calls = config::read_file(file, diagnostics).value_or("(no file)");
  std::smatch found;
  if (std::regex_search(called.run.err, found, std::regex("digest [0-9a-f]+"))) called.digest = found.str();
  return called;
}

// Checks that regular expressions match in this order.
void expect_in_order(const std::string& text, const std::vector<std::string>& lines) {
  std::string rest = text;
  for (const std::string& line : lines) {
    std::smatch found;
    if (!std::regex_search(rest, found, std::regex("(^|\n)[0-9.]+ ms server 1000/1000 " + line + "(?=\n)"))) {
      ADD_FAILURE() << line << " is not there, or not behind those before it, in\n" << text;
      return;
    }
    rest = found.suffix();
  }
}

TEST(Calls, are_shown_with_what_they_were_given_and_what_came_of_them) {
  const Called called = run_with({"server='" CALLS_PROGRAM "'"}, true);
  EXPECT_EQ(called.run.code, 1) << called.run.err;
  expect_in_order(
      called.calls,
      {R"(openat\(AT_FDCWD, "/no/such\\n\\"file\\"", O_RDWR\|O_CREAT\|O_CLOEXEC, 0640\) = -1 ENOENT \(No such file or directory\) <.*>)",
       R"(openat\(AT_FDCWD, 0x10, O_RDONLY\) = -1 EFAULT \(Bad address\) <.*>)",
       R"(write\(1, 0x123456789000, 5\) = -1 EFAULT .*)", R"(read\(0, 0xffffffffffffffff, 5\) = .*)",
       R"(bind\(0, 0x20, 16\) = -1 .*)", R"(poll\(0x30, 3, 0\) = -1 EFAULT .*)",
       R"(epoll_ctl\(9, EPOLL_CTL_ADD, 8, 0x40\) = -1 EFAULT .*)", R"(execve\(0x50, 0x60, 0\) = -1 EFAULT .*)",
       R"(mmap\(0, 8192, PROT_READ\|PROT_WRITE, MAP_PRIVATE\|MAP_ANONYMOUS, -1, 0\) = 0x[0-9a-f]+)",
       R"(munmap\(0x[0-9a-f]+, 4096\) = 0)", R"(access\(0x[0-9a-f]+ffa, R_OK\) = -1 EFAULT .*)",
       R"(socketpair\(AF_UNIX, SOCK_STREAM\|SOCK_NONBLOCK, 0, \[3, 4\]\) = 0 <.*>)",
       R"(recvfrom\(3, 0x[0-9a-f]+, 64, 0, NULL, 0\) = -1 EAGAIN \(Resource temporarily unavailable\) <.*>)",
       R"(write\(4, "01234567890123456789012345678901"..., 41\) = 41 <.*>)",
       R"(read\(3, "012", 3\) = 3 <.*>)", R"((clock_)?nanosleep\(.*\{0 s, 1500 ns\}.*\) = 0 <.* us>)",
       R"(clock_gettime\(CLOCK_MONOTONIC, \{\d+ s, \d+ ns\}\) = 0( <.*>)?)",
       R"(... 999 more calls of clock_gettime, until [0-9.]+ ms)", R"(exit_group\(7\) <unfinished ...>)"});
}

TEST(Calls, change_nothing_of_the_run) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"server='" CALLS_PROGRAM "'"},
        {"server='" CALLS_PROGRAM "' signal"},
        {"server='" CALLS_PROGRAM "' execute"},
        {"--freedom", "spec", "--seed", "7", "server=ibv_rc_pingpong -n 10",
         "client=ibv_rc_pingpong -n 10 server"},
        {"server=ibv_rc_pingpong -e -n 10", "client=ibv_rc_pingpong -e -n 10 server"},
        {"server=sh -c 'echo a | cat; ls /proc | wc -l'"}}) {
    const Called with = run_with(words, true), without = run_with(words, false);
    std::vector<std::string> slowly = words;
    slowly.insert(slowly.begin(), "--call-by-call");
    EXPECT_EQ(with.digest, without.digest) << words.back();
    EXPECT_EQ(with.digest, run_with(slowly, false).digest) << words.back();
    EXPECT_NE(with.digest, "") << with.run.err;
    EXPECT_EQ(with.run.out, without.run.out);
    EXPECT_EQ(with.calls, run_with(words, true).calls);
  }
}

TEST(Calls, that_nobody_ends_are_unfinished) {
  const Called called = run_with({"server='" CALLS_PROGRAM "' hang"}, true);
  EXPECT_EQ(called.run.code, 3) << called.run.err;
  EXPECT_TRUE(called.calls.ends_with(" ms server 1000/1000 pause() <unfinished ...>\n")) << called.calls;
}

TEST(Calls, of_a_handler_lie_within_the_one_that_was_interrupted) {
  const Called called = run_with({"server='" CALLS_PROGRAM "' signal"}, true);
  expect_in_order(called.calls,
                  {R"(alarm\(1\) = 0 <.*>)", R"(pause\(\) = -1 EINTR \(Interrupted system call\) <1.* s>)",
                   R"(getppid\(\) = \d+ <.*>)"});
}

TEST(Calls, of_the_program_that_one_becomes_follow) {
  const Called called = run_with({"server='" CALLS_PROGRAM "' execute"}, true);
  expect_in_order(called.calls, {R"(execve\("/bin/true", \["true", "--of"\], 0x[0-9a-f]+\) = 0)",
                                 R"(exit_group\(0\) <unfinished ...>)"});
}

TEST(Calls, of_verbs_are_shown_as_they_are_made) {
  const Called called = run_with({"server=ibv_rc_pingpong -n 2", "client=ibv_rc_pingpong -n 2 server"}, true);
  EXPECT_EQ(called.run.code, 0) << called.run.err;
  expect_in_order(
      called.calls,
      {R"(ibv_reg_mr\(0x[0-9a-f]+, 4096, LOCAL_WRITE\) = MR lkey 0x[0-9a-f]+.* <.*>)",
       R"(ibv_create_cq\(cqe \d+\) = CQ \d+ <.*>)",
       R"(ibv_create_qp\(RC, max_send_wr 1, max_recv_wr \d+\) = QP \d+ <.*>)",
       R"(ibv_modify_qp\(.*INIT.*\) = 0 <.*>)", R"(ibv_post_recv\(QP \d+, wr_id 1, 4096 bytes\) = 0 <.*>)",
       R"(ibv_modify_qp\(.*RTR.*dest_qp \d+.*\) = 0 <.*>)", R"(ibv_poll_cq\(CQ \d+\) = 0 <.*>)",
       R"(... [0-9,]+ more polls of CQ \d+ in vain, until [0-9.]+ ms)",
       R"(ibv_poll_cq\(CQ \d+\) = 1 \[wr_id 1 success\] <.*>)",
       R"(ibv_post_send\(QP \d+, wr_id 2, SEND, 4096 bytes\) = 0 <.*>)", R"(ibv_destroy_qp\(.*\) = 0 <.*>)"});
}

TEST(Calls, are_not_for_many_seeds) {
  const Finished run =
      verbatim({"run", "--seeds", "1..2", "--calls", "/dev/null", "--topology", kTopology, "server=true"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("--seeds: cannot be used with --calls"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace verbatim::cli
