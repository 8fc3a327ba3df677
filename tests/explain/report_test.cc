// The file of `verbatim report`: its content for existing programs; it needs no other file; a browser shows
// it.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "tests/cli/command.h"
#include "tests/explain/page_data.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr unsigned kDropped = 1, kRetransmission = 2, kNak = 4;

struct Page {
  std::string html;
  Json data, run;
  std::string path;

  // The indices of rows with these flags.
  std::vector<std::size_t> with(unsigned flags) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < data["rows"]["flags"].size(); ++i) {
      if ((data["rows"]["flags"][i].get<unsigned>() & flags) == flags) found.push_back(i);
    }
    return found;
  }
  std::string text(std::size_t row) const { return data["rows"]["text"][row]; }
  std::string note(std::size_t row) const { return data["rows"]["note"][row]; }
};

Page page_of(const support::TemporaryFolder& folder, std::vector<std::string> what, bool is_recorded = false) {
  const std::string out = folder.path() + "/run", recording = folder.path() + "/run.verbatim";
  what.insert(what.begin(), {"run", "--quiet", "--log", "off", "--out", out});
  if (is_recorded) what.insert(what.begin() + 1, {"--record", recording});
  if (!is_recorded) what.insert(what.begin() + 1, "--keep-trace");
  cli::verbatim(std::move(what));
  Page page;
  page.path = folder.path() + "/a page.html";
  const cli::Finished made = cli::verbatim({"report", is_recorded ? recording : out, "-o", page.path});
  EXPECT_EQ(made.code, 0) << made.err;
  page.html = support::text_of_file(page.path);
  page.data = support::page_data(page.html);
  page.run = Json::parse(support::text_of_file(out + "/run.json"));
  return page;
}

std::vector<std::string> pingpong(const std::string& more) {
  return {"--topology", support::topology("two_hosts"), "server=ibv_rc_pingpong " + more, "client=ibv_rc_pingpong " + more + " server"};
}

TEST(Report, a_pingpong_with_its_packets_requests_and_output) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, pingpong("-n 20"));
  ASSERT_TRUE(page.data.is_object()) << page.html.substr(0, 2000);
  EXPECT_EQ(page.data["packets"], page.run["packets"]);
  EXPECT_EQ(page.data["run"]["digest"], page.run["digest"]);
  std::set<std::pair<std::string, int>> columns;
  for (const Json& column : page.data["columns"]) columns.emplace(column["host"].get<std::string>(), column["qp"].get<int>());
  EXPECT_EQ(columns, (std::set<std::pair<std::string, int>>{{"client", 0}, {"client", 72}, {"server", 0}, {"server", 72}}));
  // Every packet is sent from one queue pair to the other and arrives.
  const Json& rows = page.data["rows"];
  std::size_t packets = 0;
  for (std::size_t i = 0; i < rows["bytes"].size(); ++i) {
    if (rows["bytes"][i] == 0) continue;
    ++packets;
    EXPECT_GT(rows["took"][i].get<std::int64_t>(), 0) << i;
    const Json &from = page.data["columns"][rows["from"][i].get<std::size_t>()], &to = page.data["columns"][rows["to"][i].get<std::size_t>()];
    EXPECT_EQ(from["qp"], 72);
    EXPECT_EQ(to["qp"], 72);
    EXPECT_NE(from["host"], to["host"]);
  }
  EXPECT_EQ(packets, page.run["packets"].get<std::size_t>());
  EXPECT_TRUE(page.with(kDropped).empty());
  EXPECT_TRUE(page.with(kRetransmission).empty());
  EXPECT_TRUE(page.data["failures"].empty());
  // Each side has 20 sends, with times in order from the post to the completion.
  ASSERT_EQ(page.data["requests"].size(), 40u);
  for (const Json& request : page.data["requests"]) {
    EXPECT_EQ(request[1], 2) << "wr_id";
    EXPECT_EQ(request[3], 4096);
    EXPECT_EQ((request[5].get<int>() - request[4].get<int>()) & 0xffffff, 3) << "four packets";
    for (int step = 6; step < 13; ++step) {
      EXPECT_GE(request[step].get<std::int64_t>(), 0) << step;
      EXPECT_GE(request[step + 1].get<std::int64_t>(), request[step].get<std::int64_t>()) << step;
    }
  }
  // RESET to INIT, RTR and RTS on both sides.
  EXPECT_EQ(page.data["changes"].size(), 6u);
  std::string output;
  for (const Json& piece : page.data["output"]) {
    if (piece[1] == "client") output += piece[2].get<std::string>();
  }
  EXPECT_EQ(output, support::text_of_file(folder.path() + "/run/client.stdout"));
}

const Json* named(const Json& list, const std::string& host, const std::string& name) {
  for (const Json& one : list) {
    if (one["host"] == host && one["name"] == name) return &one;
  }
  return nullptr;
}

TEST(Report, how_full_queues_were) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, pingpong("-n 20 -e"));
  const Json& queues = page.data["sides"]["queues"];
  const Json *cq = named(queues, "client", "CQ 128"), *rq = named(queues, "server", "RQ of QP 72");
  ASSERT_NE(cq, nullptr) << queues.dump();
  ASSERT_NE(rq, nullptr) << queues.dump();
  EXPECT_EQ((*cq)["peak"], 1);
  EXPECT_EQ((*cq)["entries"], 512);
  // 500 receives are posted, and 20 messages arrive.
  EXPECT_EQ((*rq)["peak"], 499);
  EXPECT_EQ((*rq)["fewest"], 480);
  EXPECT_EQ(queues.size(), 4u);
}

TEST(Report, credits_and_windows_over_time) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, pingpong("-n 20"), true);
  const Json& windows = page.data["windows"];
  // Both ends of every cable send on one lane; the granted bytes of a lane do not exceed its buffer.
  ASSERT_EQ(windows["link_credits"].size(), 4u) << windows["link_credits"].dump();
  for (const Json& one : windows["link_credits"]) {
    EXPECT_TRUE(one["port"].get<std::string>().starts_with("port/"));
    EXPECT_EQ(one["lane"], 0);
    EXPECT_GE(one["fewest"].get<int>(), 0);
    EXPECT_LT(one["fewest"].get<int>(), one["of"].get<int>());
    const auto least = page.data["series"][one["least"].get<std::size_t>()].get<std::vector<int>>();
    EXPECT_TRUE(std::ranges::count(least, one["fewest"].get<int>()) > 0);
    EXPECT_LT(std::ranges::max(least), one["of"].get<int>() + 1);
  }
  // One message of four packets at a time.
  ASSERT_EQ(windows["packets"].size(), 2u);
  for (const Json& one : windows["packets"]) EXPECT_EQ(one["most"], 4);
  for (const Json& one : windows["requests"]) EXPECT_EQ(one["most"], 1);
  EXPECT_TRUE(windows["peer_credits"].empty()) << "adapters of this profile tell none";
}

TEST(Report, credits_that_the_other_side_tells) {
  const support::TemporaryFolder folder;
  const std::string two_hosts = support::topology("two_hosts");
  Json topology = Json::parse(support::text_of_file(two_hosts));
  Json profile = Json::parse(support::text_of_file(two_hosts.substr(0, two_hosts.rfind('/')) + "/profiles/edr_hca.json"));
  profile["end_to_end_credits"]["value"] = true;
  for (Json& host : topology["hosts"]) host["hca"] = "granting.json";
  std::ofstream(folder.path() + "/granting.json") << profile;
  std::ofstream(folder.path() + "/topology.json") << topology;
  const Page page = page_of(folder, {"--topology", folder.path() + "/topology.json", "server=ibv_rc_pingpong -n 20 -r 10", "client=ibv_rc_pingpong -n 20 -r 10 server"});
  const Json& told = page.data["windows"]["peer_credits"];
  ASSERT_EQ(told.size(), 2u) << told.dump();
  for (const Json& one : told) {
    EXPECT_LE(one["fewest"].get<int>(), 10);
    EXPECT_LE(std::ranges::max(page.data["series"][one["most"].get<std::size_t>()].get<std::vector<int>>()), 10);
  }
}

TEST(Report, which_bytes_were_written_by_whom) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, pingpong("-n 20"));
  const Json& sides = page.data["sides"];
  ASSERT_EQ(sides["regions"].size(), 2u);
  for (const Json& region : sides["regions"]) {
    EXPECT_EQ(region["length"], 4096);
    EXPECT_EQ(region["rights"], "local write");
    EXPECT_EQ(region["rkey"], "0x801");
    EXPECT_EQ(region["written"], 20 * 4096);
    EXPECT_GT(region["to"].get<std::int64_t>(), region["from"].get<std::int64_t>());
  }
  // One write per message, because the packets of a message are adjacent.
  ASSERT_EQ(sides["writes"].size(), 40u);
  for (const Json& write : sides["writes"]) {
    EXPECT_EQ(write[3], 0);
    EXPECT_EQ(write[4], 4096);
    const Json &own = page.data["columns"][write[5].get<std::size_t>()], &region = sides["regions"][write[2].get<std::size_t>()];
    EXPECT_EQ(own["host"], region["host"]);
    EXPECT_EQ(own["qp"], 72);
    EXPECT_EQ(write[6], 0);
  }
  EXPECT_EQ(page.data["peers"].size(), 2u);
}

TEST(Report, the_fabric_and_what_threads_waited_for) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, pingpong("-n 20 -e"));
  const Json& sides = page.data["sides"];
  EXPECT_EQ(sides["nodes"], Json::parse(R"([["server",0],["client",0],["leaf0",1]])"));
  EXPECT_EQ(sides["cables"], Json::parse(R"([["server:1","leaf0:1","EDR 4x"],["client:1","leaf0:2","EDR 4x"]])"));
  ASSERT_EQ(sides["threads"].size(), 2u);
  std::set<std::string> what(sides["waits_for"].begin(), sides["waits_for"].end());
  EXPECT_TRUE(what.contains("read on completion channel")) << sides["waits_for"].dump();
  for (const Json& wait : sides["waits"]) EXPECT_GE(wait[2].get<std::int64_t>(), wait[1].get<std::int64_t>() + wait[3].get<std::int64_t>());
}

TEST(Report, threads_of_a_deadlock_wait_to_the_end) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, {"--topology", support::topology("two_hosts"), "server=ibv_rc_pingpong"});
  const Json& sides = page.data["sides"];
  ASSERT_FALSE(sides["waits"].empty());
  const std::string what = sides["waits_for"][sides["waits"].back()[5].get<std::size_t>()];
  EXPECT_TRUE(what.starts_with("accept on TCP socket")) << what;
}

TEST(Recording, gives_the_report_that_the_folder_gives) {
  const support::TemporaryFolder one, two;
  std::vector<std::string> what = pingpong("-n 5 -e");
  what.insert(what.begin(), {"--fault", R"({"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3})"});
  Page folder = page_of(one, what), recording = page_of(two, what, true);
  EXPECT_EQ(folder.data, recording.data);
  EXPECT_EQ(folder.run["digest"], recording.run["digest"]);
  const std::string file = two.path() + "/run.verbatim";
  EXPECT_EQ(cli::verbatim({"ladder", file, "--ascii", "--width", "120"}).out,
            cli::verbatim({"ladder", one.path() + "/run", "--ascii", "--width", "120"}).out);
  EXPECT_EQ(cli::verbatim({"explain", file}).out, cli::verbatim({"explain", one.path() + "/run"}).out);
  EXPECT_EQ(cli::verbatim({"report", file, "--perfetto", two.path() + "/p"}).code, 0);
  EXPECT_EQ(cli::verbatim({"report", one.path() + "/run", "--perfetto", one.path() + "/p"}).code, 0);
  EXPECT_EQ(support::text_of_file(one.path() + "/p"), support::text_of_file(two.path() + "/p"));
  EXPECT_LT(support::text_of_file(file).size(), support::text_of_file(one.path() + "/run/trace.txt").size() / 4);
}

TEST(Recording, of_the_same_run_holds_the_same_but_for_wall_time) {
  const support::TemporaryFolder one, two;
  page_of(one, pingpong("-n 3"), true);
  page_of(two, pingpong("-n 3"), true);
  const auto text = [](const support::TemporaryFolder& folder) { return cli::verbatim({"ladder", folder.path() + "/run.verbatim", "--system-calls"}).out; };
  EXPECT_EQ(text(one), text(two));
}

TEST(Report, a_lost_packet_stands_out_with_its_reason_and_its_retransmission) {
  const support::TemporaryFolder folder;
  std::vector<std::string> what = pingpong("-n 5");
  what.insert(what.begin(), {"--fault", R"({"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3})"});
  const Page page = page_of(folder, what);
  ASSERT_TRUE(page.data.is_object());
  const auto dropped = page.with(kDropped);
  ASSERT_GE(dropped.size(), 1u);
  EXPECT_EQ(page.text(dropped[0]), "Send Middle");
  EXPECT_THAT(page.note(dropped[0]), HasSubstr("scripted fault 0 at port/client:1"));
  EXPECT_THAT(page.note(dropped[0]), HasSubstr("dropped at port/client:1: a fault of the scenario or the seed"));
  bool is_repeated = false;
  for (const std::size_t i : page.with(kRetransmission)) {
    is_repeated = is_repeated || (page.text(i) == "Send Middle" && page.data["rows"]["psn"][i] == page.data["rows"]["psn"][dropped[0]]);
  }
  EXPECT_TRUE(is_repeated);
  // The drop of the port has exactly the time of the row.
  bool is_told = false;
  for (const Json& link : page.data["links"]) {
    if (link["port"] == "port/client:1") is_told = link["drops"] == Json::array({page.data["rows"]["time"][dropped[0]]});
  }
  EXPECT_TRUE(is_told) << page.data["links"].dump();
  const Json& figures = page.data["figures"];
  EXPECT_EQ(figures["drops"], 3) << "one by the fault, two that follow it";
  EXPECT_EQ(figures["retries"], 1);
  EXPECT_EQ(figures["repeated_packets"], page.with(kRetransmission).size() - 1) << "and the row that says so";
  EXPECT_EQ(figures["messages"], 10);
  EXPECT_EQ(figures["failed_completions"], 0);
  const auto naks = page.with(kNak);
  ASSERT_EQ(naks.size(), 1u);
  EXPECT_THAT(page.note(naks[0]), HasSubstr("PSN sequence error"));
}

TEST(Report, hosts_stand_in_the_order_of_their_numbers) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, {"--topology", support::topology("leaf_spine_16"), "h2=ibv_rc_pingpong -n 1", "h12=ibv_rc_pingpong -n 1 h2"});
  std::vector<std::string> hosts;
  for (const Json& column : page.data["columns"]) hosts.push_back(column["host"]);
  EXPECT_EQ(hosts, (std::vector<std::string>{"h2", "h2", "h12", "h12"}));
}

TEST(Report, needs_nothing_but_itself) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, pingpong("-n 1"));
  for (const char* word : {"src=", "href=", "@import", "http://www.w3.org/1999", "https:", "fetch(", "XMLHttpRequest", "import("}) {
    EXPECT_THAT(page.html, Not(HasSubstr(word)));
  }
}

TEST(Report, output_cannot_end_the_script_that_it_is_in) {
  const support::TemporaryFolder folder;
  const Page page = page_of(folder, {"--topology", support::topology("two_hosts"), "server=echo '</script><!--<script>'"});
  ASSERT_TRUE(page.data.is_object());
  ASSERT_EQ(page.data["output"].size(), 1u);
  EXPECT_EQ(page.data["output"][0][2], "</script><!--<script>\n");
}

TEST(Report, the_same_run_gives_the_same_page) {
  const support::TemporaryFolder one, two;
  EXPECT_EQ(page_of(one, pingpong("-n 3")).html, page_of(two, pingpong("-n 3")).html);
}

TEST(Report, a_folder_without_a_trace_is_refused) {
  const support::TemporaryFolder folder;
  cli::verbatim({"run", "--quiet", "--out", folder.path() + "/run", "--topology", support::topology("two_hosts"), "server=true"});
  const cli::Finished made = cli::verbatim({"report", folder.path() + "/run", "-o", folder.path() + "/x.html"});
  EXPECT_EQ(made.code, 2);
  EXPECT_THAT(made.err, HasSubstr("--keep-trace"));
}

TEST(Ladder, of_a_folder_as_text_and_as_a_picture) {
  const support::TemporaryFolder folder;
  page_of(folder, pingpong("-n 2"));
  const cli::Finished text = cli::verbatim({"ladder", folder.path() + "/run", "--ascii", "--width", "120"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("Send-First to QP 72 PSN"));
  EXPECT_EQ(cli::verbatim({"ladder", folder.path() + "/run", "-o", folder.path() + "/l.svg"}).code, 0);
  const std::string svg = support::text_of_file(folder.path() + "/l.svg");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_THAT(svg, HasSubstr("class=\"packet\"/>"));
}

}  // namespace
}  // namespace verbatim
