// The overview of a run: recorded values of flows, collectives and ports equal those of the run; reading
// restores what was written; damaged ones are refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>

#include "sim/core/rng.h"
#include "tests/cli/command.h"
#include "tests/explain/page_data.h"
#include "tests/support/verbatim_run.h"
#include "tools/verbatim/number_columns.h"
#include "tools/verbatim/overview_page.h"
#include "tools/verbatim/recorded_run.h"

namespace verbatim::cli {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

TEST(NumberColumns, any_values_are_read_as_they_were_written) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::int64_t> values = {
      0, 1, -1, 127, 128, Limits::max(), Limits::min(), Limits::max(), 0, Limits::min()};
  NumberColumns columns;
  for (const std::int64_t value : values) columns.at("all").put(value);
  columns.at("none");
  NumberColumnsReader reader;
  std::string problem;
  const std::string bytes = columns.bytes();
  ASSERT_TRUE(reader.read(bytes, &problem)) << problem;
  EXPECT_EQ(reader.values("all"), values);
  EXPECT_EQ(reader.count("all"), values.size());
  EXPECT_EQ(reader.values("none"), std::vector<std::int64_t>());
  EXPECT_FALSE(reader.has("other"));
}

// Two flows, a collective of three ranks, and a fabric of one cable.
RunOverview small_overview() {
  RunOverview one;
  one.hosts = {"a", "b", "c"};
  one.workloads = {"", "web"};
  one.flows = {{1, 0, 1, 4096, 4096, 10, 5000, 2000, 3, 2, 1, 90, 1, true},
               {0, 2, 0, 0, 77, 5, -1, -1, 0, 0, 0, 0, 0, true}};
  one.has_flow_facts = true;
  one.paths = {"", "leaf0>spine1"};
  one.graphs = {{"sum",
                 "all-reduce by ring",
                 {0, 1, 2},
                 1,
                 {{0, 1, RunOverview::Operation::Kind::kSend, 64, 100, 300},
                  {1, 0, RunOverview::Operation::Kind::kReceive, 64, 100, 310},
                  {2, 2, RunOverview::Operation::Kind::kCompute, 0, 50, -1}}}};
  one.tiers = {"host", "leaf"};
  one.groups = {"leaf0"};
  one.ports = {{0, 1, 0, 100'000'000'000}, {1, 0, 0, 100'000'000'000}};
  one.host_groups = {0, 0, 0};
  one.part_ps = 1000;
  one.parts = 4;
  one.sent = {1, 2, 3, 4, 0, 50, 0, 0};
  one.deepest = {0, 0, 0, 0, 9, 8, 7, 0};
  one.end_ps = 3500;
  one.detail_until_ps = 1200;
  return one;
}

TEST(RunOverview, is_read_as_it_was_written) {
  const RunOverview written = small_overview();
  RunOverview read;
  std::string problem;
  ASSERT_TRUE(read.read(written.bytes(), &problem)) << problem;
  EXPECT_EQ(read.bytes(), written.bytes());
  EXPECT_EQ(read.flows[0].again, 3u);
  EXPECT_EQ(read.flows[0].held_ps, 90);
  EXPECT_EQ(read.paths.at(read.flows[0].path), "leaf0>spine1");
  EXPECT_EQ(read.flows[1].finish_ps, -1);
  EXPECT_EQ(read.graphs[0].operations[1].peer, 0u);
  EXPECT_EQ(read.sent, written.sent);
  EXPECT_EQ(read.detail_until_ps, 1200);
}

TEST(RunOverview, one_that_is_cut_off_anywhere_is_refused) {
  const std::string whole = small_overview().bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    RunOverview read;
    std::string problem;
    EXPECT_FALSE(read.read(whole.substr(0, length), &problem)) << length;
    EXPECT_NE(problem, "") << length;
  }
}

// Whatever is read from damaged bytes can be shown.
TEST(RunOverview, one_that_is_damaged_is_refused_or_shown) {
  const std::string whole = small_overview().bytes();
  Rng random(1, "overview");
  std::size_t refused = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string bytes = whole;
    for (std::uint64_t k = 1 + random.below(3); k > 0; --k)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    RunOverview read;
    std::string problem;
    if (!read.read(bytes, &problem)) {
      ++refused;
      EXPECT_NE(problem, "");
      continue;
    }
    overview_blocks(read, nullptr)
        .index.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  EXPECT_GT(refused, 10'000u);
}

TEST(RunOverview, rows_that_contradict_themselves_are_refused) {
  const auto problem_of = [](auto change) {
    RunOverview wrong = small_overview(), read;
    change(wrong);
    std::string problem;
    EXPECT_FALSE(read.read(wrong.bytes(), &problem));
    return problem;
  };
  EXPECT_EQ(problem_of([](RunOverview& one) { one.flows[0].finish_ps = 9; }),
            "a flow of it ends before it starts");
  EXPECT_EQ(problem_of([](RunOverview& one) { one.flows[0].from = 3; }),
            "its column flow.from has the value 3");
  EXPECT_EQ(problem_of([](RunOverview& one) { one.flows[1].path = 2; }), "its column flow.path has the value 2");
  EXPECT_EQ(problem_of([](RunOverview& one) { one.graphs[0].operations[0].to_ps = 99; }),
            "an operation of it ends before it starts");
  EXPECT_EQ(problem_of([](RunOverview& one) { one.sent.pop_back(); }),
            "its column port.sent has 7 values instead of 8");
  EXPECT_EQ(problem_of([](RunOverview& one) { one.part_ps = 0; }), "its times cannot be");
  EXPECT_EQ(problem_of([](RunOverview& one) { one.ports[0].bits_per_second = 0; }),
            "its column port.rate has the value 0");
}

// A run of a scenario, its page, and its run.json.
struct Shown {
  Json data, run;
  std::string html;
};
Shown shown_run(const Json& scenario, const Json& topology, std::vector<std::string> more = {},
                bool keeps_trace = false) {
  const support::TemporaryFolder folder;
  const auto path = [&](const char* name) { return folder.path() + "/" + name; };
  std::ofstream(path("topology.json")) << topology;
  Json whole = scenario;
  whole["topology"] = "topology.json";
  std::ofstream(path("scenario.json")) << whole;
  std::vector<std::string> words = {
      "run", "--quiet", "--log", "off", "--out", path("out"), path("scenario.json")};
  if (keeps_trace)
    words.insert(words.end(), "--keep-trace");
  else
    words.insert(words.end(), {"--record", path("rec")});
  words.insert(words.end(), more.begin(), more.end());
  const Finished ran = cli::verbatim(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Finished made =
      cli::verbatim({"report", keeps_trace ? path("out") : path("rec"), "-o", path("page.html")});
  EXPECT_EQ(made.code, 0) << made.err;
  Shown shown;
  shown.html = support::text_of_file(path("page.html"));
  shown.data = support::page_data(shown.html);
  shown.run = Json::parse(support::text_of_file(path("out/run.json")));
  return shown;
}

Json star(int hosts) {
  return Json::parse(
      R"({"name": "star", "link_layer": "roce", "generate": {"shape": "star", "rate": "100 Gbps", "hosts": )" +
      std::to_string(hosts) + "}}");
}

TEST(OverviewPage, percentiles_and_curves_are_those_of_the_flows) {
  const Shown shown = shown_run(
      Json::parse(R"({"workloads": [{"name": "web", "pattern": "random", "size": "20 KiB", "flows": 10},
                                                                {"name": "tiny", "pattern": "random", "size": "1 KiB", "flows": 20}]})"),
      star(8));
  const Json& flows = shown.data["overview"]["flows"];
  ASSERT_EQ(flows["count"], 240);
  std::map<std::string, std::vector<std::int64_t>> times;
  for (const Json& flow : shown.run["flows"]) {
    const std::int64_t took = flow["finish_ps"].get<std::int64_t>() - flow["start_ps"].get<std::int64_t>();
    times[""].push_back(took);
    times[flow["workload"]].push_back(took);
  }
  const auto expect = [&](const Json& row, std::vector<std::int64_t> own) {
    std::ranges::sort(own);
    EXPECT_EQ(row["flows"], own.size());
    EXPECT_EQ(row["finished"], own.size());
    EXPECT_EQ(row["longest"], own.back());
    EXPECT_EQ(row["p50"], own[own.size() / 2 - 1]);
    EXPECT_EQ(row["p99"], own[(99 * own.size() + 99) / 100 - 1]);
    EXPECT_GE(row["s50"], 1000) << "nothing is faster than the path allows";
    EXPECT_GE(row["s99"], row["s50"]);
    std::int64_t last = 0;
    for (const Json& point : row["curve"]) {
      EXPECT_GT(point[0], last);
      last = point[0];
      EXPECT_EQ(point[1], std::ranges::upper_bound(own, last) - own.begin());
    }
    EXPECT_EQ(row["curve"].back(), Json::array({own.back(), own.size()}));
  };
  expect(flows["all"], times[""]);
  ASSERT_EQ(flows["workloads"].size(), 2u);
  for (const Json& one : flows["workloads"]) expect(one, times[one["name"]]);
  EXPECT_EQ(flows["all"]["classes"].size(), 2u);
  EXPECT_EQ(flows["all"]["classes"][0]["bytes"], 1024);
  std::ranges::sort(times[""]);
  const Json& sizes = flows["all"]["slowdown"];
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0]["least"], 1024);
  EXPECT_EQ(sizes[1]["most"], 20 * 1024);
  EXPECT_EQ(sizes[0]["count"], 160);
  const Json& slowest = flows["slowest"][0];
  EXPECT_EQ(slowest["finish"].get<std::int64_t>() - slowest["start"].get<std::int64_t>(), times[""].back());
}

// The page shows facts about packets only of a run that observed them.
TEST(OverviewPage, packets_and_paths_of_flows_are_shown_with_flows) {
  const support::TemporaryFolder folder;
  const Json scenario = Json::parse(R"({"workloads": [{"pattern": "incast", "to": ["h0"], "size": "256 KiB"}]})");
  EXPECT_FALSE(shown_run(scenario, star(9)).data["overview"]["flows"]["slowest"][0].contains("path"));
  const Shown shown = shown_run(scenario, star(9), {"--flows", folder.path() + "/flows.csv"});
  const Json& flows = shown.data["overview"]["flows"];
  EXPECT_EQ(flows["has_facts"], true);
  ASSERT_EQ(flows["slowest"].size(), shown.run["flows"].size());
  for (const Json& flow : flows["slowest"]) {
    const Json& of_run = shown.run["flows"].at(flow["number"].get<std::size_t>());
    EXPECT_EQ(flow["path"], "leaf0");
    EXPECT_EQ(flow["again"], of_run["sent_again"]) << of_run;
    EXPECT_EQ(flow["held"], of_run["held_ps"]);
    EXPECT_GT(flow["held"], 0) << "the others send as well";
  }
}

// The page has the arrivals of a load without duration, which are not in the scenario.
TEST(OverviewPage, flows_of_a_load_without_duration_are_shown) {
  const Shown shown = shown_run(
      Json::parse(R"({"workloads": [{"pattern": "random", "load": 0.3, "size": "20 KiB"}], "until": "200 us"})"), star(4));
  const Json& flows = shown.data["overview"]["flows"];
  EXPECT_GT(flows["count"], 100);
  EXPECT_EQ(flows["count"], shown.run["flows"].size());
}

// The load of a port is at most its cable's rate, and the sum over time is the bytes of the run.
TEST(OverviewPage, loads_add_up_to_what_an_incast_sends) {
  const Shown shown = shown_run(
      Json::parse(R"({"workloads": [{"pattern": "incast", "to": ["h0"], "size": "256 KiB"}]})"), star(9));
  const Json& over = shown.data["overview"];
  ASSERT_EQ(over["tiers"], Json({"host", "leaf"}));
  ASSERT_EQ(over["classes"].size(), 2u) << over["classes"];
  const auto ports = support::page_block(shown.html, "ports-0"),
             loads = support::page_block(shown.html, "loads-0"),
             depths = support::page_block(shown.html, "depths-0");
  ASSERT_EQ(ports.size(), 3u);
  ASSERT_EQ(ports[0].size(), 18u);
  const std::size_t parts = over["parts"];
  ASSERT_EQ(loads[0].size(), 18 * parts);
  const double part_ps = over["part"].get<double>();
  double most = 0;
  for (std::size_t port = 0; port < 18; ++port) {
    EXPECT_EQ(ports[2][port], 100'000u) << "Mbps";
    double bytes = 0;
    for (std::size_t k = 0; k < parts; ++k) {
      const std::uint64_t share = loads[0][port * parts + k];
      EXPECT_LE(share, 100u);
      bytes += static_cast<double>(share) / 100 * part_ps * 100e9 / 8e12;
    }
    most = std::max(most, bytes);
  }
  EXPECT_GT(most, 0.98 * 8 * 256 * 1024) << "the switch to h0";
  EXPECT_LT(most, 1.15 * 8 * 256 * 1024) << "with headers";
  // Most of the received bytes wait at the port to h0, and none at the middle port.
  ASSERT_EQ(depths[0].size(), 2 * parts);
  std::uint64_t deepest = 0, middle = 0;
  for (std::size_t k = parts; k < 2 * parts; ++k) {
    deepest = std::max(deepest, depths[0][k]);
    middle = std::max(middle, depths[1][k]);
  }
  std::uint64_t of_run = 0;
  for (const Json& port : shown.run["ports"]) {
    if (port["port"].get<std::string>().starts_with("port/leaf0:"))
      for (const Json& lane : port["lanes"])
        of_run = std::max(of_run, lane.value("deepest_queue_bytes", std::uint64_t{0}));
  }
  EXPECT_EQ(deepest, of_run);
  EXPECT_LT(middle, 10'000u);
}

TEST(OverviewPage, lanes_and_operations_are_those_of_a_collective) {
  const Shown shown = shown_run(
      Json::parse(
          R"({"workloads": [{"name": "sum", "pattern": "all-reduce", "algorithm": "ring", "size": "64 KiB", "compute": "20 us"}]})"),
      star(4));
  const Json& line = shown.data["overview"]["timeline"];
  ASSERT_EQ(line["lanes"].size(), 4u);
  // Each rank: a computation and 2 (n - 1) steps of a send and a receive.
  EXPECT_EQ(line["operations"], 4 + 4 * 2 * 6);
  EXPECT_EQ(line["from"], 0);
  EXPECT_EQ(line["to"], shown.run["collectives"][0]["runs"][0]["finish_ps"]);
  const auto single = support::page_block(shown.html, "operations-0"),
             lanes = support::page_block(shown.html, "lanes-0");
  ASSERT_EQ(single.size(), 6u);
  std::map<std::uint64_t, int> kinds;
  for (std::size_t i = 0; i < single[1].size(); ++i) {
    ++kinds[single[1][i]];
    if (single[1][i] == 2) {
      EXPECT_EQ(single[5][i], 20'000'000u);
    } else {
      EXPECT_EQ(single[3][i], 16384u);
      const std::uint64_t other = single[1][i] == 0 ? (single[0][i] + 1) % 4 : (single[0][i] + 3) % 4;
      EXPECT_EQ(single[2][i], other) << "sends go to the next, and come from the one before";
    }
  }
  EXPECT_EQ(kinds, (std::map<std::uint64_t, int>{{0, 24}, {1, 24}, {2, 4}}));
  const std::size_t bins = line["bins"];
  ASSERT_EQ(lanes[0].size(), 4 * bins);
  const double share = 20e6 / line["to"].get<double>();
  for (std::size_t lane = 0; lane < 4; ++lane) {
    double computed = 0;
    for (std::size_t k = 0; k < bins; ++k) computed += static_cast<double>(lanes[0][lane * bins + k]) / 100;
    EXPECT_NEAR(computed / static_cast<double>(bins), share, 0.01);
  }
  EXPECT_EQ(shown.data["overview"]["collectives"][0]["runs"][0]["bus_bytes_per_second"],
            shown.run["collectives"][0]["runs"][0]["bus_bytes_per_second"]);
}

// Only the first records are kept, but the overview covers the whole run.
TEST(OverviewPage, a_limit_of_records_takes_nothing_from_the_overview) {
  const Json scenario = Json::parse(R"({"workloads": [{"pattern": "permutation", "size": "64 KiB"}]})");
  Shown whole = shown_run(scenario, star(8)), part = shown_run(scenario, star(8), {"--record-most", "500"}),
        none = shown_run(scenario, star(8), {"--record-most", "0"});
  EXPECT_EQ(whole.data["overview"]["detail_until"], -1);
  EXPECT_GT(part.data["overview"]["detail_until"], 0);
  EXPECT_GT(whole.data["packets"], part.data["packets"]);
  EXPECT_GT(part.data["packets"], 0);
  EXPECT_EQ(none.data["packets"], 0);
  EXPECT_EQ(part.data["end"], part.data["overview"]["end"]);
  EXPECT_EQ(part.data["overview"]["is_part"], true);
  for (Shown* one : {&whole, &part, &none}) {
    one->data["overview"].erase("detail_until");
    one->data["overview"].erase("is_part");
  }
  EXPECT_EQ(whole.data["overview"], part.data["overview"]);
  EXPECT_EQ(whole.data["overview"], none.data["overview"]);
  for (const char* block : {"ports-0", "loads-0", "depths-0"}) {
    EXPECT_EQ(support::page_block(whole.html, block), support::page_block(none.html, block)) << block;
    EXPECT_FALSE(support::page_block(none.html, block).empty()) << block;
  }
}

TEST(OverviewPage, a_kept_trace_has_the_overview_of_a_recording) {
  const Json scenario = Json::parse(R"({"workloads": [{"pattern": "permutation", "size": "16 KiB"}]})");
  EXPECT_EQ(shown_run(scenario, star(4)).data["overview"],
            shown_run(scenario, star(4), {}, true).data["overview"]);
}

// The page does not depend on the folder in which the run was made.
TEST(OverviewPage, two_runs_have_the_same_page) {
  const Json scenario = Json::parse(R"({"workloads": [{"pattern": "random", "size": "4 KiB", "flows": 20},
                                                       {"name": "sum", "pattern": "all-reduce", "size": "64 KiB"}]})");
  EXPECT_EQ(shown_run(scenario, star(8)).html, shown_run(scenario, star(8)).html);
}

// Pods are taken from names with places; otherwise, switches that are connected below the top layer are a
// pod.
TEST(OverviewPage, groups_and_tiers_follow_from_a_fat_tree) {
  for (const bool has_places : {true, false}) {
    Json tree = Json::parse(
        R"({"name": "tree", "link_layer": "roce", "generate": {"shape": "fat_tree", "rate": "100 Gbps", "hosts": 16}})");
    if (has_places) tree["generate"]["names"] = "place";
    const Shown shown =
        shown_run(Json::parse(R"({"workloads": [{"pattern": "permutation", "size": "16 KiB"}]})"), tree);
    const Json& over = shown.data["overview"];
    EXPECT_EQ(over["tiers"], Json({"host", "leaf", "agg", "core"}));
    std::map<std::string, std::uint64_t> ports;
    for (const Json& one : over["classes"])
      ports[over["tiers"][one["tier"].get<std::size_t>()].get<std::string>() + " to " +
            over["tiers"][one["far_tier"].get<std::size_t>()].get<std::string>()] = one["ports"];
    EXPECT_EQ(ports, (std::map<std::string, std::uint64_t>{{"host to leaf", 16},
                                                           {"leaf to host", 16},
                                                           {"leaf to agg", 16},
                                                           {"agg to leaf", 16},
                                                           {"agg to core", 16},
                                                           {"core to agg", 16}}));
    std::map<std::string, int> hosts;
    for (const Json& group : over["host_groups"]) ++hosts[over["groups"][group.get<std::size_t>()]];
    if (has_places)
      EXPECT_EQ(hosts, (std::map<std::string, int>{{"pod0", 4}, {"pod1", 4}, {"pod2", 4}, {"pod3", 4}}));
    else
      EXPECT_EQ(hosts,
                (std::map<std::string, int>{
                    {"pod of leaf0", 4}, {"pod of leaf2", 4}, {"pod of leaf4", 4}, {"pod of leaf6", 4}}));
  }
}

// A recording with an overview that no run writes.
TEST(OverviewPage, a_recording_with_a_damaged_overview_is_refused) {
  const support::TemporaryFolder folder;
  const auto report_with = [&](const std::string& overview) {
    const std::string path = folder.path() + "/odd";
    std::FILE* const file = std::fopen(path.c_str(), "we");
    {
      observe::RecordingWriter writer(file);
      writer.file("run.json", "{}");
      writer.file(kOverviewFile, overview);
      EXPECT_TRUE(writer.finish());
    }
    std::fclose(file);
    return cli::verbatim({"report", path, "-o", folder.path() + "/page"});
  };
  EXPECT_EQ(report_with(small_overview().bytes()).code, 0);
  const std::string whole = small_overview().bytes();
  const Finished damaged = report_with(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(damaged.code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("/odd is damaged: its overview of the run: a column of it is cut off"));
  EXPECT_EQ(report_with("verbatim-overview 2\n").code, 2);
}

}  // namespace
}  // namespace verbatim::cli
