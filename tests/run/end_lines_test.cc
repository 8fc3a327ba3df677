// The last lines of a run: losses, and the cause of a failure in the fabric.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

RunReport ping(std::vector<std::string> options) {
  support::RunRequest request;
  request.commands = {"server=ibv_rc_pingpong -s 64 -n 20", "client=ibv_rc_pingpong -s 64 -n 20 server"};
  request.options = std::move(options);
  return support::run(request);
}

TEST(EndLines, a_run_that_lost_nothing_has_no_line_of_losses) {
  const RunReport run = ping({});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.err, Not(HasSubstr("losses")));
  const auto& losses = run.report["losses"];
  for (const char* name : {"packets_dropped", "packets_sent_again", "retries", "rnr_naks"}) EXPECT_EQ(losses[name], 0) << name;
  EXPECT_TRUE(losses["most_retried_message"].is_null());
  EXPECT_TRUE(run.report["cause"].is_null());
}

// One packet of the first message is lost: it is retransmitted after the timeout, and the run finishes
// normally.
TEST(EndLines, a_run_that_finished_after_losses_says_so) {
  const std::vector<std::string> fault = {"--fault", R"({"action": "drop", "from": "client", "nth": 1})"};
  const RunReport run = ping(fault);
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.err, ContainsRegex("verbatim: losses: 1 packet dropped, 1 packet sent again, 1 retry, 0 RNR NAKs; most retried message: QP [0-9]+ of "
                                     "client, PSN [0-9]+, 1 retry at [0-9]+\\.[0-9][0-9][0-9] us\n"));
  const auto& losses = run.report["losses"];
  EXPECT_EQ(losses["packets_dropped"], 1);
  EXPECT_EQ(losses["packets_sent_again"], 1);
  EXPECT_EQ(losses["most_retried_message"]["adapter"], "hca/client");
  EXPECT_EQ(losses["most_retried_message"]["retries"], 1);
  std::vector<std::string> quiet = fault;
  quiet.emplace_back("--quiet");
  EXPECT_THAT(ping(quiet).err, Not(HasSubstr("losses")));
}

// All flows finish on other paths, so nothing else names the link.
TEST(EndLines, a_run_that_lost_packets_names_the_links_that_failed) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/s.json";
  std::ofstream(path) << R"({"topology": ")" + support::topology("leaf_spine_16_roce") +
                             R"(", "workloads": [{"pattern": "permutation", "size": "1 MiB"}],
                                 "faults": [{"action": "link_down", "link": "leaf0:5", "at": "40 us"}]})";
  const RunReport run = support::run({.scenario = path});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.err, ContainsRegex("verbatim: losses: [^\n]*; the link leaf0:5 went down at 40.000 us for the rest of the run\n"));
  EXPECT_EQ(run.report["losses"]["failed_links"].size(), 1u);
}

// The client exits with an error, after which the server waits for it for ever: the cause is the error, not
// the missing peer.
TEST(EndLines, what_failed_at_the_peer_is_the_cause_of_waiting_for_it) {
  const RunReport run = ping({"--fault", R"({"action": "link_down", "link": "server", "at": "100100 us"})"});
  ASSERT_EQ(run.code, 3) << run.story();
  EXPECT_THAT(run.err, ContainsRegex("verbatim: cause: at [0-9.]+ us, QP [0-9]+ of client: [^\n]*IBV_WC_RETRY_EXC_ERR[^\n]*link"));
}

// Five switches in a ring with buffers for one packet: every host sends to the one two switches further on,
// all at once and in the same direction. The packets fill the buffers of the ring, and each waits for the
// next.
struct Ring {
  explicit Ring(bool has_timeout) {
    const std::string folder = support::topology("two_hosts");
    const std::string profiles = folder.substr(0, folder.rfind('/')) + "/profiles/";
    auto profile = nlohmann::json::parse(support::text_of_file(profiles + "edr_switch.json"));
    profile["input_buffer"]["value"] = "4224 B";
    if (!has_timeout) {
      for (const char* lifetime : {"head_lifetime", "leaf_head_lifetime", "lifetime"}) profile[lifetime]["value"] = "0 s";
    }
    write("small_switch.json", profile);
    nlohmann::json topology = {{"name", "ring"}, {"link_layer", "infiniband"}};
    nlohmann::json programs = nlohmann::json::array();
    for (int i = 0; i < kSwitches; ++i) {
      const std::string number = std::to_string(i), next = std::to_string((i + 1) % kSwitches);
      const std::string far = std::to_string((i + 2) % kSwitches);
      topology["hosts"].push_back({{"name", "h" + number}, {"hca", profiles + "edr_hca.json"}, {"cpu", profiles + "cpu.json"}});
      topology["switches"].push_back({{"name", "s" + number}, {"profile", "small_switch.json"}, {"ports", 3}});
      topology["links"].push_back({{"a", "h" + number}, {"b", "s" + number + ":1"}, {"rate", "EDR 4x"}, {"length", "2 m"}});
      topology["links"].push_back({{"a", "s" + number + ":2"}, {"b", "s" + next + ":3"}, {"rate", "EDR 4x"}, {"length", "2 m"}});
      const std::string command = std::string("ib_write_bw -s 65536 -n 200") + (has_timeout ? "" : " -u 0");
      programs.push_back({{"host", "h" + number}, {"command", command}});
      programs.push_back({{"host", "h" + number}, {"command", command + " h" + far}, {"start", "100 ms"}});
    }
    write("ring.json", topology);
    write("scenario.json", {{"topology", "ring.json"}, {"programs", programs}, {"time_limit", "10 s"}});
  }

  void write(const std::string& name, const nlohmann::json& json) { std::ofstream(folder.path() + "/" + name) << json.dump(1); }
  RunReport run() const {
    support::RunRequest request;
    request.scenario = folder.path() + "/scenario.json";
    return support::run(request);
  }

  static constexpr int kSwitches = 5;
  static constexpr char kLoop[] = "credit loop: s0:2 -> s1:2 -> s2:2 -> s3:2 -> s4:2 -> s0:2: each of these output ports waits for buffer space";
  support::TemporaryFolder folder;
};

TEST(CreditLoop, is_the_cause_when_requests_get_no_answer) {
  const RunReport run = Ring(true).run();
  EXPECT_EQ(run.code, 1) << run.story();
  EXPECT_THAT(run.err, ContainsRegex(std::string("verbatim: cause: at [0-9.]+ u?s, QP [0-9]+ of h[0-4]: the work request with wr_id [0-9]+ completes with "
                                                 "transport retry counter exceeded .IBV_WC_RETRY_EXC_ERR.: the fabric is deadlocked: ") +
                                     Ring::kLoop));
  EXPECT_THAT(run.err, HasSubstr("verbatim: what to do: shortest paths around a ring of switches can deadlock"));
}

TEST(CreditLoop, is_the_cause_when_programs_wait_for_ever) {
  const RunReport run = Ring(false).run();
  EXPECT_EQ(run.code, 3) << run.story();
  EXPECT_THAT(run.err, ContainsRegex(std::string("verbatim: cause: at [0-9.]+ u?s, packets are stuck in the fabric: ") + Ring::kLoop));
  EXPECT_EQ(run.report["failures"][0]["subject"], "credit-loop");
}

}  // namespace
}  // namespace verbatim
