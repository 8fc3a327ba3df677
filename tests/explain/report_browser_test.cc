// The page of `verbatim report` in a browser: what it shows first, how it is used by keyboard, and that a long run is no heavier
// to look at than a short one. Counts are asserted; times are printed, they are of the machine.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "tests/explain/report_page.h"

namespace verbatim {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// State of the ladder: whether rows fill its visible part in the order of time, and the number of elements
// used.
constexpr char kLadder[] = R"((() => {
  const ladder = document.getElementById('ladder').getBoundingClientRect();
  const rows = [...document.querySelectorAll('.row:not(.is-waiting)')].map((r) => [r.getBoundingClientRect(), r]);
  const times = rows.map(([, r]) => parseFloat(r.querySelector('.time').textContent));
  return { rows: rows.length, elements: document.getElementById('rows').querySelectorAll('*').length,
    fills: rows.some(([b]) => b.top <= ladder.top + 4) && rows.some(([b]) => b.bottom >= ladder.bottom - 24),
    ordered: times.every((t, k) => !k || t >= times[k - 1]), first: rows.length ? rows[0][1].getAttribute('aria-posinset') : '' };
})())";

TEST_F(ReportInBrowser, shows_rows_queue_pairs_and_output) {
  make_with_a_loss();
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  EXPECT_TRUE(wait("document.documentElement.dataset.whole"));
  const std::string text = value("document.body.textContent").get<std::string>();
  for (const char* words : {"What went wrong", "client| ", "QP 72", "Send Middle", "RTS", "at most 1", "leaf0", "lkey"}) EXPECT_THAT(text, HasSubstr(words));
  EXPECT_EQ(browser_->errors(), "");
  for (const char* part : {"lives", "queues", "levels", "threads", "memory", "fabric", "credits", "links"})
    EXPECT_TRUE(value("document.querySelectorAll('#" + std::string(part) + " svg').length > 0")) << part;
}

TEST_F(ReportInBrowser, begins_where_a_program_failed) {
  make("", "sh -c 'echo all is well; echo it is broken; exit 3' ");
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen.error')"));
  EXPECT_THAT(chosen(), HasSubstr("ends with exit code 3"));
  const std::string text = value("document.getElementById('failures').textContent").get<std::string>();
  EXPECT_THAT(text, HasSubstr("exit 3 ended with exit code 3"));
  EXPECT_THAT(text, HasSubstr("its last output: it is broken"));
  // A failure in the list is shown though a filter leaves its row out.
  set("find", "standard output");
  EXPECT_TRUE(wait("document.getElementById('found').textContent && !document.querySelector('.row.is-chosen')"));
  value("document.querySelector('#failures button').click()");
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen.error')"));
  EXPECT_EQ(value("document.getElementById('find').value"), "");
  EXPECT_THAT(value("document.getElementById('summary').textContent").get<std::string>(), HasSubstr("2 programs failed"));
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportInBrowser, goes_from_problem_to_problem_by_keyboard) {
  make_with_a_loss();
  if (!open("#t=0")) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(wait("document.querySelector('.row.is-chosen')"));
  browser_->press("n");
  ASSERT_TRUE(wait("document.querySelector('.row.is-chosen.drop')"));
  EXPECT_THAT(chosen(), HasSubstr("scripted fault 0"));
  EXPECT_EQ(value("document.getElementById('problems').checked"), true);
  // The packet behind the lost one is dropped as well.
  const std::string first = chosen();
  browser_->press("n");
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen').title.includes('answered by a NAK')")) << chosen();
  browser_->press("p");
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen').title.includes('scripted fault 0')")) << chosen();
  EXPECT_EQ(chosen(), first);
  EXPECT_TRUE(wait("document.getElementById('details').textContent.includes('its last packet arrives')")) << details();
  browser_->press("Enter");
  EXPECT_TRUE(wait("document.querySelectorAll('.row.is-followed').length > 3"));
  browser_->press("Escape");
  EXPECT_TRUE(wait("document.querySelectorAll('.row.is-followed').length === 0"));
  browser_->press("End");
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen[aria-posinset=\"' + document.querySelector('.row').getAttribute('aria-setsize') + '\"]')"));
  // The Tab key moves the focus to the ladder and away from it.
  value("document.getElementById('find').focus()");
  browser_->press("Tab");
  EXPECT_EQ(value("document.activeElement.id"), "ladder");
  browser_->press("Tab");
  EXPECT_NE(value("document.activeElement.id"), "ladder");
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportInBrowser, a_link_opens_a_moment_and_a_queue_pair) {
  make_with_a_loss();
  if (!open("#t=0")) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(wait("document.querySelector('.row.is-chosen')"));
  browser_->press("n");
  ASSERT_TRUE(wait("document.querySelector('.row.is-chosen.drop')"));
  const std::string row = chosen();
  ASSERT_TRUE(wait("location.hash.includes('" + row.substr(0, row.find('.')) + "')"));
  const std::string link = value("location.hash").get<std::string>();
  ASSERT_TRUE(open(link + "&qp=client:72"));
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen')"));
  EXPECT_EQ(chosen(), row);
  EXPECT_EQ(value("document.querySelectorAll('#heads .head').length"), 4);  // two hosts with one queue pair each
}

TEST_F(ReportInBrowser, finds_words_numbers_and_problems) {
  make_with_a_loss();
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  const int all = value("Number(document.querySelector('.row').getAttribute('aria-setsize'))").get<int>();
  set("find", "writes 4096 bytes in");
  EXPECT_TRUE(wait("/^[0-9]+ of " + std::to_string(all) + " rows$/.test(document.getElementById('found').textContent)")) << value("document.getElementById('found').textContent");
  EXPECT_TRUE(wait("[...document.querySelectorAll('.row')].every((r) => r.title.includes('writes 4096 bytes in'))"));
  set("find", "Send Middle");
  EXPECT_TRUE(wait("document.getElementById('found').textContent.startsWith('2')"));
  EXPECT_TRUE(wait("[...document.querySelectorAll('.row')].every((r) => r.title.includes('Send Middle'))"));
  set("find", "no such words");
  EXPECT_TRUE(wait(found_is("0 of " + std::to_string(all) + " rows")));
  EXPECT_TRUE(wait("document.querySelectorAll('.row').length === 0"));
  set("find", "");
  EXPECT_TRUE(wait(found_is("")));
  value("document.getElementById('problems').click()");
  EXPECT_TRUE(wait("document.querySelectorAll('.row').length > 0 && [...document.querySelectorAll('.row')].every((r) => /drop|nak|again|error/.test(r.className))"));
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportInBrowser, is_printed_whole_and_dark_where_asked) {
  make_with_a_loss();
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(wait("document.documentElement.dataset.whole"));
  const Json all = value("Number(document.querySelector('.row').getAttribute('aria-setsize'))");
  value("dispatchEvent(new Event('beforeprint'))");
  EXPECT_EQ(value("document.querySelectorAll('.row:not(.is-waiting)').length"), all);
  browser_->emulate("print", "light");
  EXPECT_EQ(value("getComputedStyle(document.querySelector('.bar')).display"), "none");
  browser_->emulate("screen", "dark");
  value("dispatchEvent(new Event('afterprint'))");
  EXPECT_TRUE(wait("document.querySelectorAll('.row').length < " + all.dump()));
  EXPECT_EQ(value("getComputedStyle(document.body).backgroundColor"), "rgb(13, 17, 23)");
}

TEST_F(ReportInBrowser, shows_where_an_incast_is_held_up) {
  make_of({VERBATIM_SOURCE_DIR "/scenarios/incast.json"});
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  EXPECT_TRUE(wait("document.documentElement.dataset.whole"));
  for (const char* part : {"lanes", "rates", "heat"})
    EXPECT_TRUE(value("document.querySelectorAll('#" + std::string(part) + " svg').length > 3")) << part;
  // The output to h0, and the inputs of the four senders. All have their charts.
  const std::string lanes = value("document.getElementById('lanes').textContent").get<std::string>();
  for (const char* name : {"leaf0:1, lane 0", "leaf0:2, lane 0", "leaf0:5, lane 0", " marked", "paused "}) EXPECT_THAT(lanes, HasSubstr(name));
  for (const char* shape : {"#lanes .load", "#lanes .pausing", "#lanes .marked", "#rates .load", "#heat .heat-5"})
    EXPECT_TRUE(value("document.querySelectorAll('" + std::string(shape) + "').length > 0")) << shape;
  EXPECT_EQ(value("document.querySelectorAll('#flow-times tbody tr').length"), 2);
  EXPECT_EQ(value("document.querySelectorAll('#slowest-flows tbody tr').length"), 4);
  EXPECT_EQ(value("document.querySelectorAll('#flow-curves .curve').length"), 1);
  EXPECT_EQ(value("document.querySelectorAll('#flow-slowdowns .curve').length"), 1) << "of one size the distribution";
  EXPECT_THAT(value("document.getElementById('flow-times').textContent").get<std::string>(), HasSubstr("8 MiB"));
  EXPECT_EQ(browser_->errors(), "");
}

// Flows and collectives are above the ladder: curves, percentiles, lanes, loads and queues by tier, and a group opens.
TEST_F(ReportInBrowser, shows_flows_collectives_loads_and_queues_from_above) {
  std::ofstream(folder_.path() + "/tree.json") << R"({"name": "tree", "link_layer": "roce", "generate": {"shape": "leaf_spine", "rate": "100 Gbps", "hosts": 32, "hosts_per_leaf": 8, "spines": 2}})";
  std::ofstream(folder_.path() + "/traffic.json") << R"({"topology": "tree.json", "workloads": [
    {"name": "sum", "pattern": "all-reduce", "size": "256 KiB", "compute": "10 us", "repeat": 2},
    {"name": "web", "pattern": "random", "sizes": "websearch", "flows": 4, "in_flight": 2},
    {"name": "tiny", "pattern": "random", "size": "1 KiB", "flows": 20}]})";
  make_of({folder_.path() + "/traffic.json"});
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(wait("document.documentElement.dataset.whole"));
  const auto text = [&](const std::string& name) { return value("document.getElementById('" + name + "').textContent").get<std::string>(); };
  const auto count = [&](const std::string& selector) { return value("document.querySelectorAll('" + selector + "').length").get<int>(); };
  EXPECT_THAT(text("title"), HasSubstr("sum of 32 hosts; 768 flows"));
  EXPECT_THAT(text("tiles"), HasSubstr("flows finished768all"));
  EXPECT_EQ(count("#flow-curves .curve"), 2) << "one for each workload";
  EXPECT_EQ(count("#flow-slowdowns .curve"), 3) << "percentiles by size";
  EXPECT_GT(count("#flow-times tbody tr"), 3);
  EXPECT_EQ(count("#slowest-flows tbody tr"), 50);
  EXPECT_THAT(text("collectives"), HasSubstr("all-reduce by ring"));
  EXPECT_THAT(text("collectives"), HasSubstr("2 of 2"));
  // Two runs, a lane for each of four leaves, and the axis.
  EXPECT_EQ(count("#timeline svg"), 6);
  EXPECT_EQ(count("#timeline .run"), 2);
  EXPECT_EQ(count("#loads text.tier"), 4) << "up and down, at hosts and at spines";
  EXPECT_GT(count("#loads path"), 8);
  EXPECT_GT(count("#depths svg"), 2);
  EXPECT_EQ(value("document.getElementById('flows-part').compareDocumentPosition(document.querySelector('main'))"), 4) << "the ladder follows";
  const auto choose = [&](const std::string& bar, const std::string& name) {
    value("(s => { s.value = '" + name + "'; s.dispatchEvent(new Event('change')); })(document.querySelector('#" + bar + " select'))");
  };
  choose("lanes-of", "leaf1");
  EXPECT_EQ(count("#timeline svg"), 10) << "the eight hosts of a leaf";
  EXPECT_THAT(text("timeline"), HasSubstr("h15"));
  choose("loads-of", "leaf1");
  EXPECT_THAT(text("loads"), HasSubstr("leaf1:9"));
  choose("loads-of", "");
  EXPECT_THAT(text("loads"), Not(HasSubstr("leaf1:9")));
  choose("flows-of", "sizes");
  EXPECT_THAT(text("flow-curves"), HasSubstr("up to 1 KiB (640 flows)"));
  EXPECT_EQ(browser_->errors(), "");
}

// The first twelve of 40 congested lanes are drawn, and the others when their fold is opened.
TEST_F(ReportInBrowser, draws_the_worst_of_many_ports_first) {
  const std::string topology = folder_.path() + "/star.json", scenario = folder_.path() + "/many.json";
  auto json = Json::parse(support::text_of_file(support::topology("star_5_roce")));
  json["generate"]["hosts"] = 40;
  std::ofstream(topology) << json;
  std::string flows;
  for (int i = 1; i < 40; ++i) flows += std::string(i == 1 ? "" : ", ") + R"({"from": "h)" + std::to_string(i) + R"(", "to": "h0", "bytes": "64 KiB"})";
  std::ofstream(scenario) << R"({"topology": "star.json", "flows": [)" << flows << "]}";
  make_of({scenario});
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  EXPECT_TRUE(wait("document.documentElement.dataset.whole"));
  EXPECT_EQ(value("document.querySelectorAll('#lanes > svg').length"), 13) << "with an axis";
  EXPECT_EQ(value("document.querySelectorAll('#lanes details svg').length"), 0);
  EXPECT_THAT(value("document.querySelector('#lanes summary').textContent").get<std::string>(), HasSubstr(" more lanes"));
  value("document.querySelector('#lanes summary').click()");
  EXPECT_TRUE(wait("document.querySelectorAll('#lanes details svg').length > 20"));
  EXPECT_EQ(value("document.querySelectorAll('#slowest-flows tbody tr').length"), 39);
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportInBrowser, many_small_writes_are_drawn_as_few_shapes) {
  make("-q 4 -s 2000 -n 2000 -F", "ib_write_bw ");
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(wait("document.documentElement.dataset.whole"));
  EXPECT_LT(value("document.querySelectorAll('#memory *').length"), 200);
  // In the middle of the region's chart, where writes fall all over it, something is drawn.
  EXPECT_GT(value("document.querySelector('#memory path[class^=by-]').getBBox().width"), 500);
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportInBrowser, a_hundred_thousand_packets_scroll_as_a_hundred_do) {
  make("-s 4096 -n 50000 -F", "ib_write_bw ");
  struct stat file{};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  const double each = static_cast<double>(file.st_size) / 100'000;
  EXPECT_LT(each, 14) << "bytes of the page for each packet";
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  EXPECT_EQ(value("document.documentElement.dataset.blocks"), "1") << "blocks that were read before the first rows stood there";
  ASSERT_TRUE(wait("document.documentElement.dataset.whole"));
  const Json shown = value(kLadder);
  EXPECT_LT(shown["rows"], 80) << shown;
  EXPECT_LT(shown["elements"], 500) << shown;
  EXPECT_LT(value("document.querySelectorAll('*').length"), 8000);
  // More than the browser can make an element tall: everywhere rows fill the ladder, and both ends are reached.
  const int rows = value("Number(document.querySelector('.row').getAttribute('aria-setsize'))").get<int>();
  EXPECT_GT(rows, 200'000);
  int last = 0;
  for (const double part : {0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 1.0}) {
    value("(l => { l.scrollTop = " + std::to_string(part) + " * (l.scrollHeight - l.clientHeight); })(document.getElementById('ladder'))");
    EXPECT_TRUE(wait("!document.querySelector('.is-waiting') && " + std::string(kLadder) + ".fills")) << part << value(kLadder);
    const Json here = value(kLadder);
    EXPECT_TRUE(here["ordered"]) << part << here;
    const int first = std::stoi(here["first"].get<std::string>());
    EXPECT_GE(first, last) << part;
    EXPECT_NEAR(first, part * rows, 0.01 * rows) << part;
    last = first;
  }
  EXPECT_EQ(value("document.querySelector('.row:last-child').getAttribute('aria-posinset')"), std::to_string(rows));
  // By the wheel from row to row, in the middle and to the end that is none for the browser.
  value("(l => { l.scrollTop = 0.5 * (l.scrollHeight - l.clientHeight); })(document.getElementById('ladder'))");
  ASSERT_TRUE(wait("!document.querySelector('.is-waiting') && Number(document.querySelector('.row').getAttribute('aria-posinset')) < 200000"));
  const std::string top = "Number(document.querySelector('.row').getAttribute('aria-posinset'))";
  const int before = value(top).get<int>();
  value("document.getElementById('ladder').scrollTop += 220");
  EXPECT_TRUE(wait(top + " === " + std::to_string(before + 10))) << before << " " << value(top);
  browser_->press("Home");
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen[aria-posinset=\"1\"]')"));
  browser_->press("End");
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen[aria-posinset=\"" + std::to_string(rows) + "\"]')"));
  set("find", "completion of wr_id");
  EXPECT_TRUE(wait("/^[0-9,]+ of/.test(document.getElementById('found').textContent)"));
  EXPECT_EQ(browser_->errors(), "");

  const Json ready = value("document.documentElement.dataset.ready");
  set("find", "");
  const Json frames = value(R"(new Promise((done) => {
    const ladder = document.getElementById('ladder'), start = performance.now();
    let count = 0;
    const next = () => {
      ++count;
      ladder.scrollTop = (count * 7919) % 1000 / 1000 * (ladder.scrollHeight - ladder.clientHeight);
      performance.now() - start < 1000 ? requestAnimationFrame(next) : done(count);
    };
    requestAnimationFrame(next);
  }))");
  std::printf("100,000 packets: %.2f bytes of the page for each, rows there after %s ms, %s frames/s while jumping\n", each,
              ready.get<std::string>().c_str(), frames.dump().c_str());
}

}  // namespace
}  // namespace verbatim
