// `verbatim sweep` and `verbatim compare`: points that run, refused input, kept points, results.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using support::text_of_file;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// A folder with a scenario of flows at a given load and a topology.
class Folder {
 public:
  Folder() {
    fs::copy_file(support::topology("leaf_spine_16_roce"), path("fabric.json"));
    write("s.json", R"({"topology": "fabric.json", "seed": 7,
      "workloads": [{"pattern": "random", "sizes": "websearch", "load": 0.2, "duration": "50 us"},
                    {"name": "in", "pattern": "incast", "to": ["h0"], "size": "16 KiB"}]})");
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  Finished run(std::vector<std::string> words) const { return verbatim(std::move(words), folder_.path()); }
  std::vector<Json> results(const std::string& out) const {
    std::vector<Json> lines;
    std::istringstream text(text_of_file(path(out + "/results.jsonl")));
    for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
    return lines;
  }

 private:
  support::TemporaryFolder folder_;
};

TEST(Sweep, runs_every_combination_in_order_whatever_the_jobs) {
  const Folder folder;
  const std::vector<std::string> words = {"sweep", "s.json", "--vary", "workloads/0/load=0.2,0.6", "--vary", "seed=1..3"};
  auto with = [&](const char* jobs, const char* out) {
    auto all = words;
    all.insert(all.end(), {"--jobs", jobs, "--out", out});
    return folder.run(all);
  };
  const Finished one = with("1", "one"), three = with("3", "three");
  ASSERT_EQ(one.code, 0) << one.out << one.err;
  ASSERT_EQ(three.code, 0) << three.out << three.err;
  EXPECT_EQ(text_of_file(folder.path("one/results.jsonl")), text_of_file(folder.path("three/results.jsonl")));
  EXPECT_EQ(text_of_file(folder.path("one/results.csv")), text_of_file(folder.path("three/results.csv")));
  const auto results = folder.results("one");
  ASSERT_EQ(results.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(results[i]["point"], i + 1);
    EXPECT_EQ(results[i]["settings"]["workloads/0/load"], i < 3 ? 0.2 : 0.6);
    EXPECT_EQ(results[i]["settings"]["seed"], i % 3 + 1);
    EXPECT_EQ(results[i]["outcome"], "finished");
    // The line equals the run.json of the point.
    const Json run = Json::parse(text_of_file(folder.path("one/points/00" + std::to_string(i + 1) + "/run.json")));
    EXPECT_EQ(results[i]["digest"], run["digest"]);
    EXPECT_EQ(results[i]["virtual_time_ps"], run["virtual_time_ps"]);
    EXPECT_EQ(results[i]["p99_ps"], run["flow_times"].back()["p99_ps"]);
    EXPECT_EQ(run["seed"], i % 3 + 1);
  }
  EXPECT_NE(results[0]["digest"], results[3]["digest"]);
  EXPECT_THAT(one.out, HasSubstr("6 of 6 points, 0 failed; one/results.csv\n"));
  EXPECT_EQ(one.out.substr(0, one.out.rfind(';')), three.out.substr(0, three.out.rfind(';')));
}

// Values of profiles are keys of the topology.
TEST(Sweep, varies_a_value_of_a_profile) {
  const Folder folder;
  const Finished run = folder.run({"sweep", "s.json", "--vary", "profile_changes/edr_hca/ack_interval_messages=1,2", "--out", "o"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("/profile_changes/edr_hca/ack_interval_messages: unknown key"));
  const Finished good = folder.run({"sweep", "s.json", "--vary", "profile_changes/edr_hca/congestion_control/controller=none,swift", "--out", "g"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("2 of 2 points, 0 failed"));
  EXPECT_EQ(folder.results("g")[1]["settings"]["topology/profile_changes/edr_hca/congestion_control/controller"], "swift");
  EXPECT_THAT(folder.run({"sweep", "s.json", "--vary", "hca=a,b"}).err, HasSubstr("did you mean \"generate/hca\"?"));
}

// A point equals a single run of the scenario with that value.
TEST(Sweep, a_point_is_the_run_of_the_scenario_that_it_writes) {
  const Folder folder;
  ASSERT_EQ(folder.run({"sweep", "s.json", "--vary", "workloads/in/size=32 KiB", "--out", "sweep"}).code, 0);
  std::string text = text_of_file(folder.path("s.json"));
  folder.write("t.json", text.replace(text.find("16 KiB"), 6, "32 KiB"));
  ASSERT_EQ(folder.run({"run", "t.json", "--out", "alone"}).code, 0);
  EXPECT_EQ(folder.results("sweep")[0]["digest"], Json::parse(text_of_file(folder.path("alone/run.json")))["digest"]);
}

TEST(Sweep, keys_of_the_topology_go_by_their_path_or_their_name) {
  const Folder folder;
  const Finished run = folder.run(
      {"sweep", "s.json", "--vary", "topology/generate/cables_per_spine=1,2", "--vary", "ecmp_seed=own,same", "--out", "o"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const auto results = folder.results("o");
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[1]["settings"],
            Json::parse(R"({"topology/generate/cables_per_spine": 1, "topology/ecmp_seed": "same"})"));
  const Json few = Json::parse(text_of_file(folder.path("o/points/001/run.json"))),
             many = Json::parse(text_of_file(folder.path("o/points/003/run.json")));
  EXPECT_EQ(few["topology"]["links"], 16 + 8);
  EXPECT_EQ(many["topology"]["links"], 16 + 16);
  EXPECT_EQ(few["topology"]["file"], "fabric.json");
  EXPECT_EQ(few["scenario"], "s.json");
}

TEST(Sweep, mistakes_of_all_points_are_found_before_the_first_runs) {
  const Folder folder;
  const Finished point = folder.run({"sweep", "s.json", "--vary", "workloads/0/load=0.2,7", "--out", "o"});
  EXPECT_EQ(point.code, 2);
  EXPECT_THAT(point.err, HasSubstr("point 2 (load=7): s.json: /workloads/0/load: "));
  EXPECT_THAT(point.err, HasSubstr("no point was run, since 1 of 2 cannot be"));
  EXPECT_FALSE(fs::exists(folder.path("o")));
  const std::pair<std::string, std::string> kMistakes[] = {
      {"routing=minhop", "--vary: \"routing\" is no key of a scenario or a topology; did you mean \"routing_engine\"?"},
      {"topology/hots=1", "--vary: \"topology/hots\" is no key of a topology; did you mean \"hosts\"?"},
      {"seed", "--vary: \"seed\" is not of the form PATH=VALUE,...; write it like"},
      {"seed=5..1", "--vary: \"5..1\" is no range"},
      {"seed=3,1..4", "has the value \"3\" twice"},
      {"seed=1..100001", "has too many values"},
      {"workloads/5/load=1",
       "--vary: \"workloads/5/load\" leads nowhere: /workloads has 2 elements, numbered from 0, and none is called \"5\""},
      {"seed/x=1", "--vary: \"seed/x\" leads nowhere: /seed has no keys below it"},
  };
  for (const auto& [word, message] : kMistakes) {
    const Finished run = folder.run({"sweep", "s.json", "--vary", word, "--out", "o"});
    EXPECT_EQ(run.code, 2) << word;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_FALSE(fs::exists(folder.path("o"))) << word;
  }
  EXPECT_THAT(folder.run({"sweep", "fabric.json", "--vary", "seed=1"}).err, HasSubstr("is a topology"));
}

TEST(Sweep, what_is_done_is_kept_and_what_is_missing_runs) {
  const Folder folder;
  const std::vector<std::string> words = {"sweep", "s.json", "--vary", "seed=1..3", "--out", "o"};
  ASSERT_EQ(folder.run(words).code, 0);
  const std::string all = text_of_file(folder.path("o/results.jsonl"));
  // The state after an interruption: one point without a result, another with an incomplete one.
  fs::remove_all(folder.path("o/points/002"));
  fs::remove(folder.path("o/points/003/point.json"));
  folder.write("o/points/003/run.json", "{");
  const auto before = fs::last_write_time(folder.path("o/points/001/run.json"));
  const Finished again = folder.run(words);
  ASSERT_EQ(again.code, 0) << again.out << again.err;
  EXPECT_THAT(again.out, HasSubstr("3 of 3 points, 1 of them from before, 0 failed"));
  EXPECT_EQ(text_of_file(folder.path("o/results.jsonl")), all);
  EXPECT_EQ(fs::last_write_time(folder.path("o/points/001/run.json")), before);
  // Values appended to the first --vary add points.
  const Finished more = folder.run({"sweep", "s.json", "--vary", "seed=1..4", "--out", "o"});
  EXPECT_THAT(more.out, HasSubstr("4 of 4 points, 3 of them from before, 0 failed"));
}

TEST(Sweep, results_of_other_inputs_are_refused) {
  const Folder folder;
  const std::vector<std::string> words = {"sweep", "s.json", "--vary", "seed=1..2", "--out", "o"};
  ASSERT_EQ(folder.run(words).code, 0);
  const std::string scenario = text_of_file(folder.path("s.json")), fabric = text_of_file(folder.path("fabric.json"));
  const auto refused = [&](const std::vector<std::string>& with) {
    const Finished run = folder.run(with);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("name another folder with --out, or remove this one to run its point again"));
    return run.err;
  };
  EXPECT_THAT(refused({"sweep", "s.json", "--vary", "seed=2..3", "--out", "o"}),
              HasSubstr(R"(is the point {"seed":1} of another sweep, not {"seed":2})"));
  std::string changed = scenario;
  folder.write("s.json", changed.replace(changed.find("50 us"), 5, "51 us"));
  EXPECT_THAT(
      refused(words),
      HasSubstr(
          "o/points/001 was run with other files: the scenario, its topology, a profile or a program has changed since"));
  folder.write("s.json", scenario);
  changed = fabric;
  folder.write("fabric.json", changed.replace(changed.find("2 m"), 3, "3 m"));
  EXPECT_THAT(refused(words), HasSubstr("was run with other files"));
  folder.write("fabric.json", fabric);
  Json point = Json::parse(text_of_file(folder.path("o/points/001/point.json")));
  point["version"] = "0.0";
  folder.write("o/points/001/point.json", point.dump());
  EXPECT_THAT(refused(words), HasSubstr("was run by version 0.0, and this is "));
  for (const char* damaged : {"", "[]", "{}", R"({"settings": 1, "exit_code": 0})",
                              R"({"settings": {"seed": 1}, "inputs": "0", "exit_code": 0, "finding": 5})"}) {
    folder.write("o/points/001/point.json", damaged);
    refused(words);
  }
}

TEST(Sweep, a_point_that_fails_is_named_and_the_others_run) {
  const Folder folder;
  const Finished run = folder.run({"sweep", "s.json", "--vary", "time_limit=1 us,1 s", "--out", "o"});
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("point 1 (time_limit=1 us): exit code 4: the limit of 1.000 us of virtual time was reached"));
  EXPECT_THAT(run.out, HasSubstr("2 of 2 points, 1 failed"));
  const auto results = folder.results("o");
  EXPECT_EQ(results[0]["exit_code"], 4);
  EXPECT_EQ(results[1]["exit_code"], 0);
  // A kept point has the same result.
  const Finished again = folder.run({"sweep", "s.json", "--vary", "time_limit=1 us,1 s", "--out", "o", "--json"});
  EXPECT_EQ(again.code, 1);
  const Json document = Json::parse(again.out);
  EXPECT_EQ(document["kept"], 2);
  EXPECT_EQ(document["points"], Json(results));
}

TEST(Sweep, pages_have_all_points_and_need_nothing_else) {
  const Folder folder;
  ASSERT_EQ(folder
                .run({"sweep", "s.json", "--vary", "workloads/0/load=0.2,0.6", "--vary", "ecmp_seed=own,same", "--out", "o",
                      "--html", "o.html"})
                .code,
            0);
  const std::string page = text_of_file(folder.path("o.html"));
  EXPECT_THAT(page, HasSubstr("99th percentile of completion times of in"));
  EXPECT_THAT(page, HasSubstr("ecmp_seed=same, load 0.6: "));
  for (const char* outside : {"http:", "https:", "<script", "<link", "src="}) EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(Compare, shows_figures_ratios_and_what_differs_in_inputs) {
  const Folder folder;
  ASSERT_EQ(
      folder.run({"sweep", "s.json", "--vary", "seed=1,2", "--vary", "workloads/in/size=16 KiB,64 KiB", "--out", "o"}).code,
      0);
  const Finished run =
      folder.run({"compare", "o/points/001", "o/points/002/run.json", "o/points/003/", "--json", "--html", "c.html"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json document = Json::parse(run.out);
  EXPECT_EQ(document["runs"][1]["label"], "seed=1 size=64 KiB");
  const auto figure = [&](const std::string& section, const std::string& name) {
    for (const Json& one : document["figures"])
      if (one["section"] == section && one["name"] == name) return one;
    return Json();
  };
  EXPECT_EQ(figure("inputs that differ", "seed")["values"], Json::parse(R"(["1", "1", "2"])"));
  EXPECT_EQ(figure("inputs that differ", "topology"), Json()) << "it is the same";
  EXPECT_EQ(figure("run", "outcome")["values"], Json::parse(R"(["finished", "finished", "finished"])"));
  EXPECT_EQ(figure("run", "digest")["values"][1], "different");
  const Json time = figure("run", "virtual time");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(
        time["values"][i],
        Json::parse(text_of_file(folder.path("o/points/00" + std::to_string(i + 1) + "/run.json")))["virtual_time_ps"]);
  EXPECT_NEAR(time["ratios"][1].get<double>(), time["values"][1].get<double>() / time["values"][0].get<double>(), 0.001);
  EXPECT_EQ(time["ratios"][0], nullptr);
  const Json p99 = figure("workload in, 64 KiB", "p99");
  EXPECT_EQ(p99["values"][0], nullptr) << "its flows have 16 KiB";
  EXPECT_GT(p99["values"][1], 0);
  EXPECT_FALSE(figure("deepest output queues", "leaf0:1").is_null());
  const std::string page = text_of_file(folder.path("c.html"));
  EXPECT_THAT(page, HasSubstr("Completion times of in"));
  for (const char* outside : {"http:", "https:", "<script", "<link", "src="}) EXPECT_THAT(page, Not(HasSubstr(outside)));
  const Finished two = folder.run({"compare", "o/points/001", "o/points/002"});
  EXPECT_THAT(two.out, HasSubstr("  size=16 KiB  ")) << "both have the same seed";
  const Finished same = folder.run({"compare", "o/points/001", "o/points/001"});
  EXPECT_EQ(same.code, 0);
  EXPECT_THAT(same.out, Not(HasSubstr("inputs that differ")));
  EXPECT_THAT(same.out, HasSubstr(" same\n"));
}

// Times and bus bandwidths of collectives in the table, the documents, the CSV file and the pages equal those
// of run.json.
TEST(Sweep, collectives_have_their_time_and_bandwidth) {
  const Folder folder;
  fs::copy_file(support::topology("star_8"), folder.path("star.json"));
  folder.write("c.json", R"({"topology": "star.json", "workloads": [
      {"name": "sum", "pattern": "all-reduce", "size": "64 KiB", "repeat": 3}, {"name": "gate", "pattern": "barrier"}]})");
  const Finished run = folder.run({"sweep", "c.json", "--vary", "workloads/0/algorithm=ring,tree", "--out", "o", "--html", "o.html"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(" sum busbw"));
  EXPECT_THAT(run.out, HasSubstr(" GB/s"));
  int point = 0;
  std::vector<std::uint64_t> times;
  for (const Json& json : folder.results("o")) {
    ASSERT_TRUE(json.contains("collectives")) << json;
    const Json report = Json::parse(text_of_file(folder.path("o/points/00" + std::to_string(++point) + "/run.json")));
    for (const Json& one : report["collectives"]) {
      std::vector<std::uint64_t> own;
      for (const Json& of : one["runs"]) own.push_back(of["time_ps"]);
      std::ranges::sort(own);
      const Json& told = json["collectives"][one["name"].get<std::string>()];
      EXPECT_EQ(told["ended"], own.size());
      EXPECT_EQ(told["time_ps"], own[(own.size() - 1) / 2]);
      EXPECT_EQ(told["longest_ps"], own.back());
      EXPECT_EQ(told.contains("bus_bytes_per_second"), one["name"] == "sum") << "a barrier has none";
      if (one["name"] == "sum") times.push_back(own[(own.size() - 1) / 2]);
    }
  }
  ASSERT_EQ(times.size(), 2u);
  EXPECT_THAT(text_of_file(folder.path("o/results.csv")), HasSubstr(",sum time_ps,sum bus_bytes_per_second"));
  EXPECT_THAT(text_of_file(folder.path("o/results.csv")), HasSubstr("," + std::to_string(times[1]) + ","));
  EXPECT_THAT(text_of_file(folder.path("o.html")), HasSubstr("Bus bandwidth of sum"));
  const Finished compared = folder.run({"compare", "o/points/001", "o/points/002", "--json", "--html", "c.html"});
  ASSERT_EQ(compared.code, 0) << compared.err;
  Json found, differs;
  const Json document = Json::parse(compared.out);
  for (const Json& one : document["figures"]) {
    if (one["section"] == "collective sum" && one["name"] == "time") found = one["values"];
    if (one["section"] == "inputs that differ" && one["name"] == "collective sum") differs = one["values"];
  }
  EXPECT_EQ(found, Json(times));
  EXPECT_EQ(differs, Json({"all-reduce by ring, 64 KiB, 8 hosts", "all-reduce by tree, 64 KiB, 8 hosts"}));
  EXPECT_THAT(text_of_file(folder.path("c.html")), HasSubstr("Bus bandwidth of collectives"));
}

TEST(Compare, runs_of_programs_have_no_flows_and_are_compared) {
  const Folder folder;
  const std::vector<std::string> words = {"run", "--topology", support::topology("two_hosts"), "server=true", "--quiet"};
  for (const char* const out : {"a", "b"}) {
    auto all = words;
    all.insert(all.end(), {"--out", out});
    ASSERT_EQ(folder.run(all).code, 0);
  }
  const Finished run = folder.run({"compare", "a", "b", "--html", "c.html"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("virtual time"));
  EXPECT_THAT(run.out, Not(HasSubstr("p99")));
}

TEST(Compare, what_is_no_run_is_refused_all_at_once) {
  const Folder folder;
  fs::create_directory(folder.path("empty"));
  fs::create_directory(folder.path("damaged"));
  fs::create_directory(folder.path("other"));
  folder.write("damaged/run.json", "{");
  folder.write("other/run.json", "{}");
  const Finished run = folder.run({"compare", "empty", "damaged", "other", "none", "s.json"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("verbatim: empty is no folder of a run: it has no run.json"));
  EXPECT_THAT(run.err, HasSubstr("verbatim: damaged/run.json: "));
  EXPECT_THAT(run.err, HasSubstr("verbatim: other is not the report of a run"));
  EXPECT_THAT(run.err, HasSubstr("verbatim: there is no none"));
  EXPECT_THAT(run.err, HasSubstr("verbatim: s.json "));
  EXPECT_THAT(folder.run({"compare", "empty"}).err, HasSubstr("one run is no comparison"));
}

}  // namespace
}  // namespace verbatim::cli
