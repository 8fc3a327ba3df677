// Divided searches and campaigns: results do not depend on the division, nothing that has ended is lost, and
// nothing incomplete is shown as whole.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/command.h"
#include "tests/support/browser.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using support::text_of_file;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

class Campaign : public ::testing::Test {
 protected:
  // The program is a copy, which tests may change.
  Campaign() { fs::copy_file(std::string(VERBATIM_LITMUS) + "/last_byte", path("program")); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  Finished explore(std::vector<std::string> options, const std::string& variant = "buggy") const {
    options.insert(options.begin(), {"explore", "--shrink-time", "300s"});
    options.insert(options.end(), {"--topology", support::topology("two_hosts"),
                                   "server=./program " + variant, "client=./program " + variant + " server"});
    return verbatim(std::move(options), folder_.path());
  }
  Finished collect(const std::string& out) const {
    return verbatim({"explore", "--collect", out}, folder_.path());
  }
  Finished share(const std::string& out, int number) const {
    return run_command({path(out) + "/job.sh", std::to_string(number)}, folder_.path());
  }
  // explore.json with another folder's name.
  std::string results(const std::string& out, const std::string& as) const {
    std::string text = text_of_file(path(out + "/explore.json"));
    for (std::size_t at; (at = text.find("/" + out + "/")) != text.npos;)
      text.replace(at, out.size() + 2, "/" + as + "/");
    return text;
  }
  // Runs a command, and kills it with SIGKILL when the file has this number of lines.
  int kill_after(std::vector<std::string> words, const std::string& file, std::size_t lines) const {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      if (::chdir(folder_.path().c_str()) != 0 || std::freopen("/dev/null", "w", stdout) == nullptr)
        ::_exit(126);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    for (int i = 0; i < 6000 && lines_of(text_of_file(file)).size() < lines; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  support::TemporaryFolder folder_;
};

TEST_F(Campaign, results_do_not_depend_on_the_division) {
  ASSERT_EQ(explore({"--runs", "250", "--shares", "1", "--out", "one"}).code, 0);
  ASSERT_EQ(explore({"--runs", "250", "--shares", "3", "--out", "three"}).code, 0);
  EXPECT_EQ(run_command({path("one/job.sh"), "0", "--jobs", "1"}).code, 0);
  // In another order, from another folder.
  for (const int number : {2, 0, 1})
    EXPECT_EQ(run_command({path("three/job.sh"), std::to_string(number), "--jobs", "2"}, "/").code, 0);
  const Finished one = collect("one"), three = collect("three");
  EXPECT_EQ(one.code, 1) << one.out << one.err;
  EXPECT_THAT(one.out, HasSubstr("explored 250 schedules"));
  EXPECT_THAT(one.out, HasSubstr("the pieces of a message reach memory in another order"));
  EXPECT_EQ(results("one", "x"), results("three", "x"));
  EXPECT_EQ(lines_of(one.out).size(), lines_of(three.out).size());
  EXPECT_EQ(Json::parse(text_of_file(path("one/explore.json")))["missing_units"], 0);

  // The failure is repeated from its file.
  const std::string replay = Json::parse(text_of_file(path("three/explore.json")))["failures"][0]["replay"];
  EXPECT_THAT(verbatim({"replay", "--quiet", replay}).out,
              HasSubstr("replay: the same failure, with the same digest"));

  // A second collection explains nothing again, and says the same.
  const auto written = fs::last_write_time(replay);
  EXPECT_EQ(collect("three").out, three.out);
  EXPECT_EQ(fs::last_write_time(replay), written);
}

TEST_F(Campaign, the_first_unit_is_the_beginning_of_an_undivided_search) {
  ASSERT_EQ(explore({"--runs", "100", "--shares", "1", "--out", "divided"}).code, 0);
  EXPECT_EQ(share("divided", 0).code, 0);
  collect("divided");
  explore({"--runs", "100", "--keep-going", "--out", "whole"});
  const Json divided = Json::parse(text_of_file(path("divided/explore.json"))),
             whole = Json::parse(text_of_file(path("whole/explore.json")));
  for (const char* key : {"runs", "different", "failed", "sites", "windows"})
    EXPECT_EQ(divided[key], whole[key]) << key;
}

TEST_F(Campaign, a_killed_share_loses_only_its_unit_and_is_named) {
  ASSERT_EQ(explore({"--runs", "1500", "--shares", "2", "--out", "s"}, "fixed").code, 0);
  EXPECT_EQ(share("s", 1).code, 0);
  const std::string file = path("s/results/share-0.1.jsonl");
  ASSERT_EQ(kill_after({path("s/job.sh"), "0", "--jobs", "1"}, file, 3), SIGKILL);
  const std::size_t kept = lines_of(text_of_file(file)).size() - 1;
  ASSERT_LT(kept, 8u) << "the share was killed too late";
  const Finished half = collect("s");
  EXPECT_EQ(half.code, 71) << half.out << half.err;
  EXPECT_THAT(half.out, HasSubstr("incomplete: " + std::to_string(7 + kept) + " of 15 units have results\n"));
  EXPECT_THAT(half.out, HasSubstr(" of share 0, whose last attempt (results/share-0.1.jsonl, machine "));
  EXPECT_THAT(half.out, HasSubstr("run them:  for i in 0; do "));
  EXPECT_THAT(text_of_file(path("s/junit.xml")), HasSubstr("failures=\"1\""));
  const Finished rest = share("s", 0);
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.out,
              HasSubstr("share 0: " + std::to_string(8 - kept) + (kept == 7 ? " unit, " : " units, ")));
  const Finished whole = collect("s");
  EXPECT_EQ(whole.code, 0) << whole.out << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("0 of 1500 runs failed"));
  EXPECT_THAT(whole.out, Not(HasSubstr("incomplete")));
}

TEST_F(Campaign, another_content_of_the_program_is_refused_by_name) {
  ASSERT_EQ(explore({"--runs", "200", "--shares", "2", "--out", "s"}).code, 0);
  EXPECT_EQ(share("s", 0).code, 0);
  std::ofstream(path("program"), std::ios::app) << "x";
  const Finished refused = share("s", 1);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("/program has another content"));
  const Finished collected = collect("s");
  EXPECT_THAT(collected.out, HasSubstr("results/share-1.1.jsonl of machine "));
  EXPECT_THAT(collected.out, HasSubstr(": refused: "));
  EXPECT_THAT(collected.out, HasSubstr("incomplete: 1 of 2 units have results"));
  EXPECT_THAT(collected.err, HasSubstr("failures are not made small here: "));
  // Other work does not get into the same folder.
  const Finished other = explore({"--runs", "200", "--shares", "2", "--out", "s"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("/program has changed since); name another folder with --out"));
}

TEST_F(Campaign, a_full_folder_leaves_whole_lines_and_the_share_goes_on_later) {
  ASSERT_EQ(explore({"--runs", "1000", "--shares", "1", "--out", "s"}).code, 0);
  const std::string script =
      "mount -t tmpfs -o size=12k none s/results || exit 99; s/job.sh 0; code=$?; cp s/results/share-0.1.jsonl kept; exit $code";
  const Finished full = run_command({"unshare", "--mount", "sh", "-c", script}, folder_.path());
  if (full.code == 99 || full.err.find("unshare failed") != full.err.npos)
    GTEST_SKIP() << "this machine refuses mounts: " << full.err;
  EXPECT_EQ(full.code, 71) << full.err;
  EXPECT_THAT(
      full.err,
      HasSubstr(
          "s/results/share-0.1.jsonl: No space left on device; the results written before it are whole"));
  const std::string kept = text_of_file(path("kept"));
  ASSERT_TRUE(kept.ends_with("\n"));
  for (const std::string& line : lines_of(kept)) EXPECT_TRUE(Json::accept(line)) << line;
  fs::copy_file(path("kept"), path("s/results/share-0.1.jsonl"));
  EXPECT_EQ(share("s", 0).code, 0);
  EXPECT_THAT(collect("s").out, HasSubstr("explored 1000 schedules"));
}

TEST_F(Campaign, goes_on_after_a_kill_and_shows_every_failure_once) {
  const std::vector<std::string> words = {VERBATIM_PROGRAM,
                                          "explore",
                                          "--until",
                                          "60s",
                                          "--out",
                                          "c",
                                          "--topology",
                                          support::topology("two_hosts"),
                                          "server=./program buggy",
                                          "client=./program buggy server"};
  const std::string file = path("c/results/share-0.1.jsonl");
  ASSERT_EQ(kill_after(words, file, 4), SIGKILL);
  const std::vector<std::string> lines = lines_of(text_of_file(file));
  const int kept = static_cast<int>(lines.size()) - 1;
  ASSERT_TRUE(Json::accept(lines.back())) << lines.back();
  const std::int64_t used = Json::parse(lines.back())["ended"].get<std::int64_t>() -
                            Json::parse(lines.front())["begun"].get<std::int64_t>();
  const Finished rest =
      run_command({VERBATIM_PROGRAM, "explore", "--until", std::to_string(used + 3) + "s", "--junit", "j.xml",
                   "--out", "c", "--topology", support::topology("two_hosts"), "server=./program buggy",
                   "client=./program buggy server"},
                  folder_.path());
  EXPECT_EQ(rest.code, 1) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr(std::to_string(100 * kept) + " schedules and "));
  const Json results = Json::parse(text_of_file(path("c/explore.json")));
  EXPECT_GT(results["runs"], 100 * kept);
  ASSERT_EQ(results["failures"].size(), 1u);
  EXPECT_LE(results["failures"][0]["decisions"].size(), 3u);
  EXPECT_THAT(text_of_file(path("j.xml")), HasSubstr("failures=\"1\""));
  const std::string page = text_of_file(path("c/index.html"));
  for (const char* part : {"first seen ", "last seen ", "verbatim replay ",
                           "the pieces of a message reach memory in another order", "New outcomes over time",
                           "After a repair", "│"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* part : {"<script", "http://", "https://", "src="}) EXPECT_THAT(page, Not(HasSubstr(part)));

  // The time is used up: nothing runs.
  const Finished after =
      run_command({VERBATIM_PROGRAM, "explore", "--until", "1s", "--out", "c", "--topology",
                   support::topology("two_hosts"), "server=./program buggy", "client=./program buggy server"},
                  folder_.path());
  EXPECT_EQ(Json::parse(text_of_file(path("c/explore.json")))["runs"], results["runs"]);
  EXPECT_EQ(after.code, 1);

  if (!support::Browser::is_installed()) GTEST_SKIP() << "no browser is installed";
  support::Browser browser(path("profile"));
  if (!browser.is_running()) GTEST_SKIP() << "the browser does not run here";
  browser.open(path("c/index.html"));
  EXPECT_TRUE(browser.wait_for("document.querySelectorAll('details').length == 1", 20));
  EXPECT_EQ(browser.value_of("document.querySelectorAll('figure svg').length"), 2);
  EXPECT_EQ(browser.value_of("document.documentElement.scrollWidth <= innerWidth"), true);
  EXPECT_EQ(browser.errors(), "");
}

TEST_F(Campaign, an_interruption_keeps_whole_units_and_ends_soon) {
  const std::string script =
      "\"$0\" explore --until 1h --out c --topology \"$1\" 'server=./program buggy' 'client=./program buggy server' & "
      "until [ \"$(cat c/results/share-0.1.jsonl 2>/dev/null | wc -l)\" -ge 3 ]; do sleep 0.05; done; "
      "kill -TERM $!; wait $!";
  const Finished ended =
      run_command({"sh", "-c", script, VERBATIM_PROGRAM, support::topology("two_hosts")}, folder_.path());
  EXPECT_EQ(ended.code, 5) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("interrupted"));
  EXPECT_THAT(ended.out, HasSubstr("failure 1: "));
  EXPECT_THAT(text_of_file(path("c/index.html")), HasSubstr("interrupted"));
  const Json results = Json::parse(text_of_file(path("c/explore.json")));
  EXPECT_EQ(results["runs"], 100 * (lines_of(text_of_file(path("c/results/share-0.1.jsonl"))).size() - 1));
}

TEST_F(Campaign, two_processes_do_not_search_in_one_folder) {
  fs::create_directories(path("c"));
  const std::string script =
      "\"$0\" explore --until 5s --out c --topology \"$1\" 'server=./program fixed' 'client=./program fixed server' >/dev/null & "
      "until [ -e c/results/share-0.1.jsonl ]; do sleep 0.05; done; "
      "\"$0\" explore --until 5s --out c --topology \"$1\" 'server=./program fixed' 'client=./program fixed server'; code=$?; "
      "kill -9 $!; exit $code";
  const Finished second =
      run_command({"sh", "-c", script, VERBATIM_PROGRAM, support::topology("two_hosts")}, folder_.path());
  EXPECT_EQ(second.code, 2) << second.out << second.err;
  EXPECT_THAT(second.err, HasSubstr("another process searches in this folder"));
}

TEST_F(Campaign, wrong_options_are_refused) {
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"--shares", "2"}, "--shares: needs --runs"},
      {{"--slurm", "--runs", "5", "--strategy", "delay:1"}, "--strategy delay:1 is one sequence"},
      {{"--until", "nonsense"}, "--until: \"nonsense\""},
      {{"--until", "0h"}, "--until: \"0 s\" is not above zero"},
      {{"--until", "0m"}, "--until: \"0 s\" is not above zero"},
      {{"--until", "1s", "--runs", "5"}, "excludes"},
      {{"--collect", "nowhere"}, "nowhere/split.json"},
  };
  for (const auto& [options, text] : wrong) {
    const Finished run = explore(options);
    EXPECT_EQ(run.code, 2) << text << run.out;
    EXPECT_THAT(run.err, HasSubstr(text));
  }
  EXPECT_THAT(verbatim({"share", "nowhere", "0"}, folder_.path()).err, HasSubstr("nowhere/split.json"));
  ASSERT_EQ(explore({"--runs", "100", "--shares", "1", "--out", "s"}).code, 0);
  EXPECT_THAT(verbatim({"share", "s", "7"}, folder_.path()).err, HasSubstr("there is no share 7"));
  EXPECT_THAT(verbatim({"run", "--collect", "s"}, folder_.path()).err,
              HasSubstr("write `verbatim explore --collect s`"));
  std::ofstream(path("s/split.json"), std::ios::trunc) << "{\"split\": 1, \"version\": \"0\", \"words\": []}";
  EXPECT_EQ(collect("s").code, 2);
}

// Fails with the seeds whose first random byte is divisible by four.
const char kAtTimes[] =
    "client=/usr/bin/python3 -I -c 'import os, sys; sys.exit(3 * (os.urandom(1)[0] % 4 == 0))'";

TEST_F(Campaign, seeds_in_shares_give_the_same_as_undivided) {
  const std::vector<std::string> words = {
      "run", "--topology", support::topology("two_hosts"), "--seeds", "3..14", "--junit", "j.xml"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    more.push_back(kAtTimes);
    return verbatim(more, folder_.path());
  };
  const Finished whole = with({"--out", "whole"});
  ASSERT_EQ(whole.code, 1) << whole.err;
  const std::string junit = text_of_file(path("j.xml"));
  fs::remove(path("j.xml"));
  ASSERT_EQ(with({"--out", "s", "--shares", "5"}).code, 0);
  for (const int number : {4, 0, 2, 3}) EXPECT_EQ(share("s", number).code, 0);
  const Finished half = verbatim({"run", "--collect", "s"}, folder_.path());
  EXPECT_THAT(half.out, HasSubstr(", 3 did not finish\n"));
  EXPECT_THAT(half.out, HasSubstr("missing: 3 units of share 1, which never ran\n"));
  EXPECT_EQ(Json::parse(text_of_file(path("s/seeds.json")))["missing"], 3);
  EXPECT_EQ(share("s", 1).code, 0);
  const Finished merged = verbatim({"run", "--collect", "s"}, folder_.path());
  EXPECT_EQ(merged.code, 1) << merged.err;
  EXPECT_EQ(merged.out, whole.out);
  EXPECT_EQ(text_of_file(path("s/seeds.json")), text_of_file(path("whole/seeds.json")));
  EXPECT_EQ(text_of_file(path("j.xml")), junit);
  for (const char* option : {"--shares=2", "--slurm"}) {
    const Finished wrong = verbatim(
        {"run", "--topology", support::topology("two_hosts"), option, "server=true"}, folder_.path());
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("needs --seeds, which are divided"));
    EXPECT_THAT(wrong.err, HasSubstr("needs --out, the folder of the shares"));
  }
}

TEST_F(Campaign, points_in_shares_give_the_same_as_undivided) {
  fs::copy_file(support::topology("leaf_spine_16_roce"), path("fabric.json"));
  std::ofstream(path("s.json"))
      << R"({"topology": "fabric.json", "workloads": [{"pattern": "random", "sizes": "websearch", "load": 0.2, "duration": "20 us"}]})";
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"sweep", "s.json", "--vary", "workloads/0/load=0.2,0.4", "--vary", "seed=1..2"});
    return verbatim(more, folder_.path());
  };
  const Finished whole = with({"--out", "whole"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  ASSERT_EQ(with({"--out", "s", "--shares", "3"}).code, 0);
  for (const int number : {2, 0}) EXPECT_EQ(share("s", number).code, 0);
  const Finished half = verbatim({"sweep", "--collect", "s"}, folder_.path());
  EXPECT_EQ(half.code, 71) << half.out << half.err;
  EXPECT_THAT(half.out, HasSubstr("3 of 4 points"));
  EXPECT_THAT(half.out, HasSubstr("missing: 1 unit of share 1, which never ran\n"));
  EXPECT_EQ(share("s", 1).code, 0);
  EXPECT_EQ(verbatim({"sweep", "--collect", "s"}, folder_.path()).code, 0);
  for (const char* file : {"/results.csv", "/results.jsonl"})
    EXPECT_EQ(text_of_file(path(std::string("s") + file)), text_of_file(path(std::string("whole") + file)));
}

}  // namespace
}  // namespace verbatim::cli
