// The progress line at a terminal: it is shown, erased before the result, and has no influence.
#include <gmock/gmock.h>
#include <pty.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kClear[] = "\r\033[K";

// Standard error is a terminal of 60 columns; standard output is one if `out_is_terminal`.
Finished at_terminal(std::vector<std::string> words, bool out_is_terminal = false, const char* kind = "xterm") {
  words.insert(words.begin(), VERBATIM_PROGRAM);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int out = ::memfd_create("out", 0);
  int own = -1, far = -1;
  const winsize size{24, 60, 0, 0};
  EXPECT_EQ(::openpty(&own, &far, nullptr, nullptr, &size), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TERM", kind, 1);
    ::dup2(out_is_terminal ? far : out, 1);
    ::dup2(far, 2);
    ::close(own);
    if (::chdir(VERBATIM_SOURCE_DIR) != 0) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(far);
  Finished result;
  char bytes[4096];
  for (ssize_t n; (n = ::read(own, bytes, sizeof bytes)) > 0;) result.err.append(bytes, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(own);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = content_of(out);
  return result;
}

std::vector<std::string> long_run(const std::vector<std::string>& options, const std::string& iterations = "20000") {
  std::vector<std::string> words = {"run", "--topology", kTopology};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"server=ibv_rc_pingpong -n " + iterations, "client=ibv_rc_pingpong server -n " + iterations});
  return words;
}

std::string digest_in(const std::string& text) {
  const std::size_t at = text.find("digest ");
  return at == text.npos ? "" : text.substr(at, sizeof "digest " + 31);
}

TEST(Progress, a_run_shows_where_it_is_and_is_the_same_run) {
  const Finished seen = at_terminal(long_run({}));
  const Finished piped = verbatim(long_run({}));
  ASSERT_EQ(seen.code, 0) << seen.err;
  EXPECT_THAT(seen.err, HasSubstr("\rvirtual time "));
  EXPECT_THAT(seen.err, HasSubstr(" packets"));
  // Gone before the result.
  const std::size_t last = seen.err.rfind("\rvirtual time "), cleared = seen.err.rfind(kClear);
  EXPECT_LT(last, cleared);
  EXPECT_LT(cleared, seen.err.find("verbatim: virtual time"));
  EXPECT_EQ(digest_in(seen.err), digest_in(piped.err));
  EXPECT_NE(digest_in(seen.err), "");
  EXPECT_EQ(seen.out, piped.out);
  EXPECT_THAT(piped.err, Not(HasSubstr("\r")));
}

TEST(Progress, stays_within_the_terminals_width) {
  const Finished seen = at_terminal(long_run({"--time-limit", "100 s"}));
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = seen.err.find("\rvirtual", at)) != seen.err.npos; ++at, ++lines)
    EXPECT_LE(seen.err.find("\033[K", at) - at - 1, 59u);
  EXPECT_GT(lines, 0u);
}

TEST(Progress, is_not_shown_where_nobody_asked_for_it_or_it_cannot_be_taken_away) {
  EXPECT_THAT(at_terminal(long_run({"--quiet"}, "6000")).err, Not(HasSubstr("\033")));
  EXPECT_THAT(at_terminal(long_run({"--json"}, "6000")).err, Not(HasSubstr("\033")));
  EXPECT_THAT(at_terminal(long_run({}, "6000"), false, "dumb").err, Not(HasSubstr("\033")));
}

TEST(Progress, is_gone_before_a_program_writes_to_the_same_terminal) {
  const Finished seen = at_terminal({"run", "--topology", kTopology, "server=ibv_rc_pingpong -n 20000",
                                     "client=sh -c 'ibv_rc_pingpong -n 20000 server > /dev/null; echo the end'"},
                                    true);
  ASSERT_EQ(seen.code, 0) << seen.err;
  EXPECT_THAT(seen.err, HasSubstr("\rvirtual time "));
  const std::size_t end = seen.err.find("client| the end");
  ASSERT_NE(end, seen.err.npos) << seen.err;
  const std::size_t before = seen.err.rfind("virtual time ", end);
  EXPECT_NE(seen.err.substr(before, end - before).find(kClear), std::string::npos);
}

TEST(Progress, many_runs_show_how_many_are_done) {
  const Finished seen = at_terminal({"run", "--topology", kTopology, "--seeds", "1..40", "--jobs", "2",
                                     "client=/usr/bin/python3 -I -c 'import sys; sys.exit(0)'"});
  EXPECT_EQ(seen.out, "seeds 1..40: 40 as expected, 0 failed\n");
  EXPECT_THAT(seen.err, HasSubstr(" of 40 runs, 0 failed"));
  EXPECT_TRUE(seen.err.ends_with(kClear)) << seen.err;
}

TEST(Progress, a_sweep_shows_how_many_points_have_run) {
  const support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/s.json") << R"({"topology": ")" << support::topology("two_hosts") << R"(",
    "programs": [{"host": "client", "command": "/usr/bin/python3 -I -c 'import sys; sys.exit(0)'"}]})";
  const Finished seen = at_terminal({"sweep", folder.path() + "/s.json", "--vary", "seed=1..40", "--jobs", "2", "--out", folder.path() + "/out"});
  EXPECT_THAT(seen.out, HasSubstr("40 of 40 points, 0 failed; "));
  EXPECT_THAT(seen.err, HasSubstr(" of 40 points"));
  EXPECT_TRUE(seen.err.ends_with(kClear)) << seen.err;
}

TEST(Progress, a_grading_shows_how_many_runs_are_done) {
  const support::TemporaryFolder folder;
  ASSERT_EQ(verbatim({"lab", "start", "1", folder.path() + "/lab"}).code, 0);
  const Finished seen = at_terminal({"grade", folder.path() + "/lab"});
  EXPECT_THAT(seen.err, HasSubstr("\r01-first-pingpong: compiles"));
  EXPECT_TRUE(seen.err.ends_with(kClear)) << seen.err;
}

TEST(Progress, a_search_and_what_makes_its_failure_small_show_their_runs) {
  const support::TemporaryFolder folder;
  const std::string program = "'" + std::string(VERBATIM_LITMUS) + "/last_byte' ";
  const auto explore = [&](const std::string& variant) {
    return at_terminal({"explore", "--runs", "150", "--keep-going", "--out", folder.path() + "/found", "--topology", kTopology,
                        "server=" + program + variant, "client=" + program + variant + " server"});
  };
  const Finished fixed = explore("fixed");
  EXPECT_EQ(fixed.code, 0) << fixed.out;
  EXPECT_THAT(fixed.err, HasSubstr(" a second, 0 failed"));
  EXPECT_LT(fixed.err.rfind(" a second, 0 failed\033[K"), fixed.err.rfind(kClear));
  EXPECT_THAT(fixed.err, HasSubstr("verbatim: 150 runs in "));
  EXPECT_THAT(fixed.out, Not(HasSubstr("\033")));
  const Finished buggy = explore("buggy");
  EXPECT_EQ(buggy.code, 1) << buggy.out;
  EXPECT_THAT(buggy.out, Not(HasSubstr("\033")));
  const Finished shrunk = at_terminal({"shrink", folder.path() + "/found/failure-1.replay"});
  EXPECT_EQ(shrunk.code, 0) << shrunk.err;
  EXPECT_TRUE(shrunk.err.empty() || shrunk.err.ends_with(kClear)) << shrunk.err;
}

TEST(Progress, a_report_says_what_it_does) {
  const support::TemporaryFolder folder;
  const std::string recording = folder.path() + "/run.rec";
  ASSERT_EQ(verbatim({"run", "--quiet", "--record", recording, "--topology", kTopology, "server=true"}).code, 0);
  const Finished seen = at_terminal({"report", recording, "-o", folder.path() + "/page"});
  EXPECT_THAT(seen.err, HasSubstr("\rreport: reads "));
  EXPECT_TRUE(seen.err.ends_with(kClear)) << seen.err;
}

}  // namespace
}  // namespace verbatim::cli
