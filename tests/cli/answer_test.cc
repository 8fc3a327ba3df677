// --json and --quiet of every verb: standard output is one JSON document, or, with --quiet, only the
// description of a failure.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/observe/digest_sink.h"
#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Fails when the seed's first random byte is divisible by four.
const char kSometimes[] =
    "client=/usr/bin/python3 -I -c 'import os, sys; sys.exit(3 * (os.urandom(1)[0] % 4 == 0))'";

std::vector<std::string> pair_of(const std::string& program, const std::string& variant) {
  const std::string path = "'" + std::string(VERBATIM_LITMUS) + "/" + program + "' " + variant;
  return {"--topology", kTopology, "server=" + path, "client=" + path + " server"};
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The whole of standard output is one document with these three entries.
json document_of(const Finished& run, const std::string& verb) {
  json document = json::parse(run.out, nullptr, false);
  EXPECT_TRUE(document.is_object()) << run.out << run.err;
  if (!document.is_object()) return json::object();
  EXPECT_EQ(document.value("verb", ""), verb);
  EXPECT_EQ(document.value("exit_code", -1), run.code);
  EXPECT_FALSE(document.value("version", "").empty());
  return document;
}

class Answers : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  // A failure of a litmus program and its replay file, made once for all tests.
  static const Finished& explored() {
    static const Finished run = verbatim(with({"explore", "--json", "--record", "--runs", "60", "--shrink-time", "300s", "--out", found()},
                                              pair_of("last_byte", "buggy")));
    return run;
  }
  static std::string found() {
    static const support::TemporaryFolder folder;
    return folder.path() + "/found";
  }

  support::TemporaryFolder folder_;
};

TEST_F(Answers, run_has_its_report_without_what_differs_from_run_to_run) {
  const std::vector<std::string> words = {"run", "--json", "--topology", kTopology, "server=echo hello", "client=sh -c 'exit 4'"};
  const Finished run = verbatim(words);
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, verbatim(words).out);
  const json document = document_of(run, "run");
  EXPECT_EQ(document["run"]["programs"][1]["exit_code"], 4);
  EXPECT_EQ(document["run"]["digest"].get<std::string>().size(), 32u);
  EXPECT_FALSE(document["run"].contains("wall_seconds"));
  EXPECT_THAT(document["wrong"][0].get<std::string>(), HasSubstr("exit code 4"));
}

TEST_F(Answers, a_verified_run_tells_of_the_comparison) {
  const json same = document_of(verbatim({"run", "--json", "--verify", "--topology", kTopology, "server=true"}), "run");
  EXPECT_EQ(same["verify"]["same"], true);
  EXPECT_EQ(same["run"]["outcome"], "finished");
}

TEST_F(Answers, seeds_have_an_entry_each) {
  const Finished run =
      verbatim({"run", "--json", "--topology", kTopology, "--seeds", "1..12", "--record", at("kept"), kSometimes});
  EXPECT_EQ(run.code, 1);
  const json document = document_of(run, "run");
  EXPECT_EQ(document["seeds"].size(), 12u);
  ASSERT_FALSE(document["failed"].empty());
  EXPECT_THAT(document["repeat"].get<std::string>(), HasSubstr("--seed " + document["failed"][0].dump()));
  // One kind of failure, with its first seed.
  ASSERT_EQ(document["recordings"].size(), 1u);
  EXPECT_EQ(document["recordings"][0], at("kept") + "/seed-" + document["failed"][0].dump() + ".rec");
  for (const char* verb : {"explain", "ladder"}) EXPECT_EQ(verbatim({verb, document["recordings"][0]}).code, 0) << verb;
}

TEST_F(Answers, explore_has_what_is_in_its_file_and_a_recording_that_everything_reads) {
  EXPECT_EQ(explored().code, 1) << explored().err;
  json document = document_of(explored(), "explore");
  for (const char* name : {"verb", "exit_code"}) document.erase(name);
  EXPECT_EQ(document, json::parse(support::text_of_file(found() + "/explore.json"), nullptr, false));
  ASSERT_EQ(document["failures"].size(), 1u);
  const std::string recording = document["failures"][0].value("recording", "");
  EXPECT_EQ(recording, found() + "/failure-1.rec");
  const json page = document_of(verbatim({"report", "--json", recording, "-o", at("page"), "--perfetto", at("trace")}), "report");
  EXPECT_GT(page["facts"], 100);
  EXPECT_GT(page["page"]["bytes"], 10'000);
  EXPECT_EQ(page["perfetto"]["file"], at("trace"));
  EXPECT_EQ(std::filesystem::file_size(at("trace")), page["perfetto"]["bytes"]);
  const json ladder = document_of(verbatim({"ladder", "--json", recording}), "ladder");
  EXPECT_EQ(ladder["hosts"], json({"client", "server"}));
  EXPECT_TRUE(std::ranges::any_of(ladder["rows"], [](const json& row) { return row["event"] == "completion"; }));
  const json why = document_of(verbatim({"explain", "--json", recording}), "explain");
  ASSERT_FALSE(why["programs"].empty());
  EXPECT_EQ(why["programs"][0]["text"], "ended with exit code 1");
  EXPECT_TRUE(why["failures"].is_array());
  // The document is about the run that replay repeats.
  const json again = document_of(verbatim({"replay", "--json", document["failures"][0]["replay"]}), "replay");
  EXPECT_EQ(again["same_failure"], true);
  EXPECT_EQ(again["same_digest"], true);
  EXPECT_EQ(again["run"]["outcome"], why["outcome"]);
}

// Replay files without a version contain digests of version 1.
TEST_F(Answers, replay_does_not_compare_digests_of_another_version) {
  ASSERT_EQ(explored().code, 1) << explored().err;
  json file = json::parse(support::text_of_file(found() + "/failure-1.replay"));
  EXPECT_EQ(file["digest_version"], observe::kDigestVersion);
  file.erase("digest_version");
  std::ofstream(at("old.replay")) << file;
  const auto run = verbatim({"replay", "--json", at("old.replay")});
  const json again = document_of(run, "replay");
  EXPECT_EQ(again["same_failure"], true);
  EXPECT_EQ(again["same_digest"], false);
  EXPECT_NE(run.err.find("its digest is of version 1, and this verbatim makes version 2: the digests are not compared"), std::string::npos)
      << run.err;
  EXPECT_EQ(run.err.find("bug of verbatim"), std::string::npos) << run.err;
}

TEST_F(Answers, shrink_and_bisect) {
  ASSERT_EQ(explored().code, 1) << explored().err;
  const std::string bad = found() + "/failure-1.replay";
  const json small = document_of(verbatim({"shrink", "--json", bad, "-o", at("small")}), "shrink");
  EXPECT_EQ(small["reproducible"], true);
  EXPECT_GE(small["decisions"].size(), 1u);
  EXPECT_EQ(small["replay"], at("small"));
  json good = json::parse(support::text_of_file(bad));
  good["decisions"] = json::array();
  std::ofstream(at("good")) << good;
  const json difference = document_of(verbatim({"bisect", "--json", at("good"), bad}), "bisect");
  EXPECT_EQ(difference["with"], true);
  EXPECT_GE(difference["number"], 1);
  EXPECT_FALSE(difference["decision"].empty());
  EXPECT_EQ(verbatim({"bisect", "--quiet", at("good"), bad}).out, "");
}

TEST_F(Answers, lab_and_grade) {
  const json labs = document_of(verbatim({"lab", "list", "--json"}), "lab");
  ASSERT_GE(labs["labs"].size(), 13u);
  EXPECT_EQ(labs["labs"][0]["lab"], "01-first-pingpong");
  const json started = document_of(verbatim({"lab", "start", "--json", "1", at("lab")}), "lab");
  EXPECT_EQ(started["folder"], at("lab"));
  const Finished graded = verbatim({"grade", "--json", at("lab")});
  EXPECT_EQ(graded.code, 1);
  const json points = document_of(graded, "grade");
  EXPECT_EQ(points["most"], 11);
  EXPECT_LT(points["points"], 11);
  EXPECT_EQ(points["criteria"][0]["why"], "");
  const Finished quiet = verbatim({"grade", "--quiet", at("lab")});
  EXPECT_THAT(quiet.out, Not(HasSubstr("compiles without a warning")));
  EXPECT_THAT(quiet.out, HasSubstr("of 11 points"));
}

TEST_F(Answers, check_has_findings_and_the_machine) {
  std::ofstream(at("wrong.json")) << R"({"hosts": 7})";
  const Finished checked = verbatim({"check", "--json", kTopology, at("wrong.json")});
  EXPECT_EQ(checked.code, 2);
  const json files = document_of(checked, "check");
  EXPECT_EQ(files["files"][0], (json{{"file", kTopology}, {"kind", "topology"}, {"valid", true}}));
  EXPECT_EQ(files["files"][1]["valid"], false);
  ASSERT_FALSE(files["findings"].empty());
  EXPECT_EQ(files["findings"][0]["file"], at("wrong.json"));
  EXPECT_EQ(verbatim({"check", "--quiet", kTopology}).out, "");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"check", "--host", "--json"}, {"doctor", "--json"}}) {
    const json host = document_of(verbatim(words), "check");
    EXPECT_EQ(host["can_run"], true);
    EXPECT_GT(host["host"].size(), 5u);
  }
  EXPECT_EQ(verbatim({"doctor", "--quiet"}).out, "");
}

TEST_F(Answers, describe_and_explain_of_a_name) {
  const json fabric = document_of(verbatim({"describe", "--json", kTopology}), "describe");
  EXPECT_EQ(fabric["adapters"].size(), 2u);
  EXPECT_EQ(fabric["routes"].size(), 2u);
  EXPECT_EQ(fabric["links"][0]["ends"].size(), 2u);
  EXPECT_GT(fabric["links"][0]["bits_per_second"], 1'000'000'000);
  EXPECT_EQ(verbatim({"describe", "--quiet", kTopology}).out, "");
  const json meaning = document_of(verbatim({"explain", "--json", "IBV_WC_RETRY_EXC_ERR"}), "explain");
  EXPECT_EQ(meaning["meanings"][0]["name"], "IBV_WC_RETRY_EXC_ERR");
  EXPECT_FALSE(meaning["meanings"][0]["causes"].empty());
  EXPECT_GT(document_of(verbatim({"explain", "--json", "--list"}), "explain")["names"].size(), 50u);
}

TEST_F(Answers, quiet_says_what_went_wrong_and_nothing_else) {
  const Finished fine = verbatim({"run", "--quiet", "--topology", kTopology, "--seeds", "1..3", "server=echo hello"});
  EXPECT_EQ(fine.out + fine.err, "");
  const Finished failed = verbatim({"run", "--quiet", "--topology", kTopology, "--seeds", "1..3", "server=false"});
  EXPECT_THAT(failed.out, HasSubstr("seed 1: exit code 1: "));
  EXPECT_THAT(failed.out, HasSubstr("repeat: "));
  const Finished explored = verbatim(with({"explore", "--quiet", "--runs", "2", "--out", at("none")}, pair_of("last_byte", "fixed")));
  EXPECT_EQ(explored.code, 0);
  EXPECT_EQ(explored.out + explored.err, "");
}

TEST_F(Answers, what_cannot_be_started_has_no_document) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "--json", "/nowhere.json"}, {"describe", "--json", "/nowhere.json"}, {"explain", "--json"},
        {"run", "--json", "--quiet", "--topology", kTopology, "server=true"}}) {
    const Finished run = verbatim(words);
    EXPECT_EQ(run.code, 2) << words[0];
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err, "");
  }
}

}  // namespace
}  // namespace verbatim::cli
