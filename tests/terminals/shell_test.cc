// `verbatim shell` with a bash: keys from a file, and a person at a pseudo-terminal of the machine.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/processes.h"
#include "tests/support/verbatim_run.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim {
namespace {

using support::quoted;
using support::text_of_file;

const std::string kTopology = support::topology("two_hosts");

class Shell : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  // Returns the exit code; screen output is in `out`, other messages are in `err`.
  int verbatim(const std::string& words, const std::string& keys = "") {
    std::ofstream(at("keys"), std::ios::binary) << keys;
    const std::string command = "cd " + quoted(folder_.path()) + " && " + quoted(support::verbatim_program()) + " " + words +
                                " < keys > out 2> err";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int shell(const std::string& keys, const std::string& options = "") {
    return verbatim("shell " + options + " " + quoted(kTopology), keys);
  }
  std::string out() const { return text_of_file(at("out")); }
  std::string err() const { return text_of_file(at("err")); }

  support::TemporaryFolder folder_;
};

TEST_F(Shell, a_bash_runs_commands_and_a_session_is_shown_again_byte_for_byte_in_both_modes) {
  const std::string keys =
      "echo $((6*7)); tty; hostname\nsleep 5\n\x1ajobs\nbg\nfg\n\x03"
      "echo status $?\ncat &\nfg\nabc\n\x04"
      "stty size\nexit 3\n";
  ASSERT_EQ(shell(keys), 0) << err();
  const std::string shown = out();
  for (const char* expected : {"42\r\n/dev/pts/0\r\nserver\r\n", "^Z\r\n[1]+  Stopped                 sleep 5\r\n", "[1]+ sleep 5 &\r\n",
                               "fg\r\nsleep 5\r\n^C\r\n", "status 130\r\n", "fg\r\ncat\r\nabc\r\nabc\r\n", "24 80\r\n"}) {
    EXPECT_NE(shown.find(expected), std::string::npos) << expected << "\n" << shown;
  }
  ASSERT_EQ(shell(keys, "--call-by-call"), 0) << err();
  EXPECT_EQ(out(), shown);
  for (const char* words : {"replay session.rec", "replay --call-by-call session.rec", "replay session-2.rec"}) {
    ASSERT_EQ(verbatim(words), 0) << err();
    EXPECT_EQ(out(), shown) << words;
  }
}

TEST_F(Shell, two_hosts_play_ping_pong_and_a_command_runs_on_the_other_one_at_the_terminal) {
  ASSERT_EQ(shell("ibv_rc_pingpong -n 20 > here &\nsleep 0.1\non client ibv_rc_pingpong -n 20 server\nwait\ncat here\n"
                  "on client hostname\non client 'read line; echo got $line; tty; exit 9'\nhello\necho $?\n"
                  "on client\nhostname\nexit\n"),
            0)
      << err();
  const std::string shown = out();
  EXPECT_NE(shown.find("20 iters in"), std::string::npos) << shown;
  EXPECT_NE(shown.find("on client hostname\r\nclient\r\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("got hello\r\n/dev/pts/0\r\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("echo $?\r\n9\r\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("client:~# hostname\r\nclient\r\n"), std::string::npos) << shown;
  ASSERT_EQ(verbatim("replay session.rec"), 0) << err();
  EXPECT_EQ(out(), shown);
}

TEST_F(Shell, a_key_shows_the_next_terminal_and_each_keeps_what_it_has_said) {
  ASSERT_EQ(verbatim("shell " + quoted(kTopology) + " server client", "hostname\n\x1dhostname\n\x1d" "echo back\nexit\nexit\n"), 0) << err();
  const std::string shown = out();
  EXPECT_NE(shown.find("hostname\r\nserver\r\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("[terminal 2]\r\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("hostname\r\nclient\r\n"), std::string::npos) << shown;
  EXPECT_LT(shown.find("client\r\n"), shown.find("back\r\n")) << shown;
  ASSERT_EQ(verbatim("replay session.rec"), 0) << err();
  EXPECT_EQ(out(), shown);
}

TEST_F(Shell, every_terminal_of_a_session_can_be_shown_again) {
  ASSERT_EQ(verbatim("shell " + quoted(kTopology) + " server client", "hostname\n\x1dhostname\n\x1d" "echo back\nexit\nexit\n"), 0) << err();
  ASSERT_EQ(verbatim("replay --terminal 2 session.rec"), 0) << err();
  EXPECT_TRUE(out().starts_with("client:~# ")) << out();
  EXPECT_EQ(out().find("server"), std::string::npos) << out();
  ASSERT_EQ(verbatim("replay --terminal 1 session.rec"), 0) << err();
  EXPECT_NE(out().find("echo back\r\nback\r\n"), std::string::npos) << out();
  EXPECT_EQ(out().find("client"), std::string::npos) << out();
  ASSERT_EQ(verbatim("replay --terminal all session.rec"), 0) << err();
  EXPECT_NE(out().find("[terminal 2]\r\n"), std::string::npos) << out();
  EXPECT_LT(out().find("client\r\n"), out().find("back\r\n")) << out();
  for (const char* number : {"0", "3", "two"}) {
    EXPECT_EQ(verbatim(std::string("replay --terminal ") + number + " session.rec"), 2);
    EXPECT_NE(err().find("it has 1 (server), 2 (client)"), std::string::npos) << err();
  }
  ASSERT_EQ(verbatim("replay --json session.rec"), 0) << err();
  const auto document = nlohmann::json::parse(out(), nullptr, false);
  ASSERT_EQ(document["terminals"].size(), 2u) << out();
  EXPECT_EQ(document["terminals"][1]["host"], "client");
  EXPECT_NE(document["terminals"][1]["text"].get<std::string>().find("hostname\r\nclient\r\n"), std::string::npos) << out();
  EXPECT_EQ(document["same_digest"], true);
}

TEST_F(Shell, what_is_written_at_home_is_gone_with_the_session) {
  ASSERT_EQ(shell("cat there; pwd; echo $HISTFILE; echo x > there; ls\n"), 0) << err();
  const std::string shown = out();
  EXPECT_NE(shown.find("No such file or directory\r\n/root\r\n\r\nthere\r\n"), std::string::npos) << shown;
  ASSERT_EQ(verbatim("replay session.rec"), 0) << err();
  EXPECT_EQ(out(), shown);
}

TEST_F(Shell, a_session_whose_programs_have_changed_is_refused) {
  std::filesystem::copy_file("/usr/bin/true", at("tool"));
  ASSERT_EQ(shell("\"$OLDPWD/tool\" && echo fine\n"), 0) << err();
  EXPECT_NE(out().find("fine\r\n"), std::string::npos) << out();
  std::filesystem::remove(at("tool"));
  std::filesystem::copy_file("/usr/bin/false", at("tool"));
  EXPECT_EQ(verbatim("replay session.rec"), 2);
  EXPECT_NE(err().find("tool has changed"), std::string::npos) << err();
  EXPECT_EQ(verbatim("replay --relaxed session.rec"), 0) << err();
}

TEST_F(Shell, a_file_that_is_no_session_is_refused) {
  std::ofstream(at("session.rec")) << "{\"session\":1,\"garbage\":[]}\n";
  EXPECT_EQ(verbatim("replay session.rec"), 2);
  EXPECT_NE(err().find("is no line of a session"), std::string::npos) << err();
  EXPECT_EQ(shell("exit\n", "--session session.rec"), 2);
  EXPECT_NE(err().find("nothing was started"), std::string::npos) << err();
}

// A person: the other side of a terminal of the machine.
class Person {
 public:
  Person(const std::string& folder, std::vector<std::string> words, const char* kind = "dumb") {
    words.insert(words.begin(), support::verbatim_program());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const winsize size{30, 100, 0, 0};
    openpty(&own_, &far_, nullptr, nullptr, &size);
    tcgetattr(far_, &before_);
    child_ = fork();
    if (child_ == 0) {
      setsid();
      ioctl(far_, TIOCSCTTY, 0);
      for (const int fd : {0, 1, 2}) dup2(far_, fd);
      setenv("TERM", kind, 1);
      if (chdir(folder.c_str()) != 0) _exit(126);
      execv(argv[0], argv.data());
      _exit(127);
    }
  }
  ~Person() {
    if (own_ >= 0) close(own_);
    close(far_);
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  void type(const std::string& keys) { ASSERT_EQ(write(own_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size())); }
  // Waits until the screen has shown that behind what was waited for before.
  bool sees(const std::string& text) {
    constexpr int kPatienceMs = 60'000;
    std::size_t found;
    while ((found = seen_.find(text, at_)) == std::string::npos) {
      pollfd wait{own_, POLLIN, 0};
      char bytes[4096];
      if (poll(&wait, 1, kPatienceMs) <= 0) return false;
      const ssize_t n = read(own_, bytes, sizeof bytes);
      if (n <= 0) return false;
      seen_.append(bytes, static_cast<std::size_t>(n));
    }
    at_ = found + text.size();
    return true;
  }
  void stop(int signal) const { kill(child_, signal); }
  pid_t simulator() const { return child_; }
  int wait() {
    int status = 0;
    // Without a reader the output would block it.
    constexpr int kMostWaits = 3'000;
    for (int waits_made = 0; waitpid(child_, &status, WNOHANG) == 0; ++waits_made) {
      if (waits_made == kMostWaits) kill(child_, SIGKILL);
      pollfd waits{own_, POLLIN, 0};
      char bytes[4096];
      if (poll(&waits, 1, 20) > 0) {
        if (const ssize_t n = read(own_, bytes, sizeof bytes); n > 0) seen_.append(bytes, static_cast<std::size_t>(n));
      }
    }
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  bool has_settings_of_before() const {
    termios now;
    return tcgetattr(far_, &now) == 0 && now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
           now.c_oflag == before_.c_oflag;
  }
  const std::string& seen() const { return seen_; }
  // Output of programs: everything after the greeting.
  std::string screen() const {
    const std::size_t end = seen_.find("leave.");
    const std::size_t line = end == std::string::npos ? end : seen_.find("\r\n", end);
    return line == std::string::npos ? "" : seen_.substr(line + 2);
  }

 private:
  int own_ = -1, far_ = -1;
  pid_t child_ = -1;
  termios before_{};
  std::string seen_;
  std::size_t at_ = 0;
};

TEST_F(Shell, a_person_types_while_time_stands_still_interrupts_what_sleeps_and_sees_it_again) {
  Person person(folder_.path(), {"shell", kTopology});
  ASSERT_TRUE(person.sees("# ")) << person.seen();
  person.type("stty size\r");
  ASSERT_TRUE(person.sees("30 100\r\n")) << person.seen();
  person.type("date +%s.%N\r");
  ASSERT_TRUE(person.sees("\r\n1700000000.")) << person.seen();
  person.type("sleep 1000\r");
  ASSERT_TRUE(person.sees("1000\r\n")) << person.seen();
  person.type("\x1a");
  ASSERT_TRUE(person.sees("Stopped") && person.sees("# ")) << person.seen();
  person.type("fg\r");
  ASSERT_TRUE(person.sees("fg\r\nsleep 1000\r\n")) << person.seen();
  person.type("\x03");
  ASSERT_TRUE(person.sees("# ")) << person.seen();
  person.type("exit\r");
  EXPECT_EQ(person.wait(), 0) << person.seen();
  EXPECT_TRUE(person.has_settings_of_before());
  ASSERT_EQ(verbatim("replay session.rec"), 0) << err();
  const std::string shown = out();
  EXPECT_EQ(person.screen().substr(0, shown.size()), shown);
  EXPECT_NE(shown.find("Stopped"), std::string::npos);
  ASSERT_EQ(verbatim("replay --call-by-call session.rec"), 0) << err();
  EXPECT_EQ(out(), shown);
}

TEST_F(Shell, a_person_reads_first_what_this_is_and_how_to_leave) {
  Person person(folder_.path(), {"shell", kTopology, "server", "client"});
  ASSERT_TRUE(person.sees("verbatim: a shell on the simulated host server.")) << person.seen();
  EXPECT_TRUE(person.sees("exit or Ctrl-D: leave. Ctrl-]: next terminal, of server, client.")) << person.seen();
  ASSERT_TRUE(person.sees("server:~# ")) << person.seen();
  person.type("exit\r\x1d" "exit\r");
  EXPECT_EQ(person.wait(), 0) << person.seen();
  EXPECT_EQ(person.seen().find("virtual time 1"), std::string::npos) << "a dumb terminal has no status line";
}

// The status line is the simulator's: the record and the replay have the same bytes as without it.
TEST_F(Shell, a_status_line_shows_host_terminal_and_virtual_time_and_is_in_no_record) {
  Person person(folder_.path(), {"shell", kTopology, "server", "client"}, "xterm");
  ASSERT_TRUE(person.sees(" server | terminal 1 of 2 | virtual time ")) << person.seen();
  person.type("stty size; echo $((40+2))\r");
  ASSERT_TRUE(person.sees("29 100\r\n42\r\n")) << person.seen();
  person.type("\x1d");
  ASSERT_TRUE(person.sees(" client | terminal 2 of 2 | virtual time ")) << person.seen();
  person.type("sleep 1.2\r");
  // If virtual time follows real time, it is updated in the line.
  ASSERT_TRUE(person.sees("virtual time 1.")) << person.seen();
  person.type("exit\r");
  ASSERT_TRUE(person.sees(" server | terminal 1 of 2 | virtual time ")) << person.seen();
  person.type("exit\r");
  EXPECT_EQ(person.wait(), 0) << person.seen();
  EXPECT_NE(person.seen().rfind("\033[r"), std::string::npos) << "the scroll region is taken back";
  EXPECT_EQ(text_of_file(at("session.rec")).find("virtual time"), std::string::npos);
  for (const char* mode : {"", "--call-by-call "}) {
    ASSERT_EQ(verbatim(std::string("replay ") + mode + "session.rec"), 0) << err();
    EXPECT_NE(out().find("29 100\r\n42\r\n"), std::string::npos) << out();
    EXPECT_EQ(out().find("virtual time"), std::string::npos) << out();
  }
}

TEST_F(Shell, a_terminal_has_its_modes_again_when_the_simulator_is_told_to_end) {
  for (const int signal : {SIGHUP, SIGTERM, SIGSEGV}) {
    Person person(folder_.path(), {"shell", kTopology, "--session", "session" + std::to_string(signal)});
    ASSERT_TRUE(person.sees("# ")) << person.seen();
    person.stop(signal);
    EXPECT_NE(person.wait(), 0);
    EXPECT_TRUE(person.has_settings_of_before()) << signal;
    // As far as it was written.
    EXPECT_EQ(verbatim("replay session" + std::to_string(signal)), 0) << err();
    EXPECT_EQ(person.screen().substr(0, out().size()), out());
  }
}

TEST_F(Shell, another_real_terminal_is_attached_and_gets_a_host_of_its_own) {
  Person first(folder_.path(), {"shell", kTopology});
  ASSERT_TRUE(first.sees("server:")) << first.seen();
  Person second(folder_.path(), {"attach", "client"});
  ASSERT_TRUE(second.sees("client:")) << second.seen();
  second.type("hostname; tty; stty size\r");
  ASSERT_TRUE(second.sees("client\r\n/dev/pts/0\r\n30 100\r\n")) << second.seen();
  first.type("hostname\r");
  ASSERT_TRUE(first.sees("server\r\n")) << first.seen();
  second.type("exit\r");
  EXPECT_EQ(second.wait(), 0) << second.seen();
  EXPECT_TRUE(second.has_settings_of_before());
  Person third(folder_.path(), {"attach", "nowhere"});
  ASSERT_TRUE(third.sees("no host nowhere")) << third.seen();
  first.type("exit\r");
  EXPECT_EQ(first.wait(), 0) << first.seen();
  EXPECT_FALSE(std::filesystem::exists(at("session.rec.socket")));
  ASSERT_EQ(verbatim("replay session.rec"), 0) << err();
  EXPECT_EQ(first.screen().substr(0, out().size()), out());
  EXPECT_NE(err().find("1 more terminal was attached; --terminal 2 shows the first of them"), std::string::npos) << err();
  for (const char* mode : {"", "--call-by-call "}) {
    ASSERT_EQ(verbatim(std::string("replay --terminal 2 ") + mode + "session.rec"), 0) << err();
    EXPECT_NE(out().find("client\r\n/dev/pts/0\r\n30 100\r\n"), std::string::npos) << out();
    EXPECT_EQ(second.screen().substr(0, out().size()), out());
  }
  EXPECT_EQ(verbatim("attach client"), 2);
  EXPECT_NE(err().find("no session session.rec is going on"), std::string::npos) << err();
}

// The simulator waits by an epoll, a timer, an event, a pipe for signals and the sockets of attached terminals. A program's only
// descriptor of the simulator's is the connection by which its shim makes calls.
TEST_F(Shell, descriptors_by_which_the_session_waits_reach_no_program) {
  Person first(folder_.path(), {"shell", kTopology});
  ASSERT_TRUE(first.sees("server:~# ")) << first.seen();
  Person second(folder_.path(), {"attach", "client"});
  ASSERT_TRUE(second.sees("client:~# ")) << second.seen();
  second.type("echo ready; sleep 1000 | cat\r");
  ASSERT_TRUE(second.sees("\r\nready\r\n")) << second.seen();
  const auto program_called = [&](const std::string& name) {
    constexpr int kPatienceMs = 60'000, kLookMs = 10;
    for (int waited = 0; waited < kPatienceMs; waited += kLookMs) {
      for (const support::Process& process : support::descendants_of(first.simulator())) {
        if (process.name == name) return true;
      }
      usleep(kLookMs * 1000);
    }
    return false;
  };
  ASSERT_TRUE(program_called("sleep") && program_called("cat"));

  constexpr std::string_view kEventfd = "anon_inode:[eventfd]";
  std::set<std::string> own;
  for (const auto& [descriptor, name] : support::open_in(first.simulator())) {
    // Files of the machine may be open in both. Before Linux 5.2 eventfds have no number and are all equal here.
    const bool is_terminal = name.starts_with("/dev/pts/");
    if ((!name.starts_with("/") && name != kEventfd) || is_terminal || name.ends_with("/session.rec")) own.insert(name);
  }
  for (const char* kind : {"anon_inode:[eventpoll]", "anon_inode:[timerfd]", "anon_inode:[eventfd]", "pipe:", "socket:",
                           "/dev/pts/"})
    EXPECT_TRUE(std::ranges::any_of(own, [&](const std::string& name) { return name.starts_with(kind); })) << kind;
  int programs = 0;
  for (const support::Process& process : support::descendants_of(first.simulator())) {
    if (process.name == "keeper") continue;
    ++programs;
    const auto open = support::open_in(process.pid);
    EXPECT_TRUE(open.contains(protocol::kUsualDescriptors)) << process.name;
    for (const auto& [descriptor, name] : open) {
      if (descriptor != protocol::kUsualDescriptors) {
        EXPECT_FALSE(own.contains(name)) << process.name << ": " << descriptor << " is " << name;
      } else {
        EXPECT_TRUE(name.starts_with("socket:")) << process.name << ": " << name;
      }
    }
  }
  EXPECT_GE(programs, 4);  // two shells, sleep and cat
  first.type("exit\r");
  second.type("\x03" "exit\r");
  EXPECT_EQ(second.wait(), 0) << second.seen();
  EXPECT_EQ(first.wait(), 0) << first.seen();
}

}  // namespace
}  // namespace verbatim
