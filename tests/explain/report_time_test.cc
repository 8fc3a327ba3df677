// The page of `verbatim report` in a browser: a shared time range, many hosts, and the figures at the top.
#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "tests/explain/report_page.h"

namespace verbatim {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportOverTime : public ReportInBrowser {
 protected:
  // Eight pairs of hosts across the spines; one pair loses a packet.
  void make_sixteen() {
    std::vector<std::string> words = {"--topology", support::topology("leaf_spine_16"), "--fault",
                                      R"({"action": "drop", "from": "h13", "opcode": "Send Middle", "nth": 3})"};
    for (int i = 0; i < 8; ++i) words.push_back("h" + std::to_string(i) + "=ibv_rc_pingpong -n 3");
    for (int i = 8; i < 16; ++i) words.push_back("h" + std::to_string(i) + "=ibv_rc_pingpong -n 3 h" + std::to_string(i - 8));
    make_of(std::move(words));
  }
  std::string text(const std::string& name) { return value("document.getElementById('" + name + "').textContent").get<std::string>(); }
  // The texts of the ladder's column heads.
  std::vector<std::string> heads() { return value("[...document.querySelectorAll('#heads .head')].map((h) => h.textContent)").get<std::vector<std::string>>(); }
  std::string qp() { return value("document.getElementById('qp').selectedOptions[0].textContent").get<std::string>(); }
  bool all_drawn() { return wait("document.documentElement.dataset.whole"); }

  // The shown range from the page's address, in microseconds.
  std::pair<double, double> range() {
    EXPECT_TRUE(wait("location.hash.includes('from=')"));
    const Json both = value("(async () => { await new Promise((go) => setTimeout(go, 150)); const h = new URLSearchParams(location.hash.slice(1)); "
                            "return [parseFloat(h.get('from')), parseFloat(h.get('to'))]; })()");
    return {both[0].get<double>(), both[1].get<double>()};
  }
  // The texts of all time axes, each scrolled into view first.
  std::vector<std::string> axes() {
    const Json all = value(R"((async () => {
      const words = [];
      for (const parent of ['ruler', 'lives', 'queues', 'levels', 'threads', 'memory', 'credits', 'links']) {
        const axis = document.getElementById(parent).lastElementChild;
        axis.scrollIntoView({ block: 'center' });
        await new Promise((go) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(go)), 20));
        words.push([...axis.querySelectorAll('text')].map((t) => t.getAttribute('x') + '=' + t.textContent).join(' '));
      }
      return words;
    })())");
    return all.get<std::vector<std::string>>();
  }
  // Coordinates of a point in a chart: a fraction of the shown range, and the height of the first chart.
  std::array<double, 2> place_in(const std::string& parent, double share) {
    const Json box = value("(() => { const b = document.querySelector('#" + parent + " svg.plot'); b.scrollIntoView({ block: 'center' }); "
                           "const r = b.getBoundingClientRect(); return [r.left + r.width * (0.15 + 0.84 * " + std::to_string(share) + "), r.top + r.height / 2]; })()");
    return {box[0].get<double>(), box[1].get<double>()};
  }
};

TEST_F(ReportOverTime, all_charts_and_the_ladder_share_one_linear_range_by_mouse_and_keys) {
  make_with_a_loss();
  if (!open("#t=0")) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(all_drawn());
  const auto expect_same_axes = [&] {
    const auto all = axes();
    for (const std::string& one : all) EXPECT_EQ(one, all[0]);
    EXPECT_THAT(all[0], HasSubstr("µs"));
  };
  browser_->press("f");
  const auto [from, to] = range();
  expect_same_axes();
  // The scale is linear.
  const Json ticks = value("[...document.querySelectorAll('#ruler line.axis')].map((l) => Number(l.getAttribute('x1')))");
  ASSERT_GE(ticks.size(), 3u);
  const auto step = [&](std::size_t i) { return ticks[i].get<double>() - ticks[i - 1].get<double>(); };
  for (std::size_t i = 2; i < ticks.size(); ++i) EXPECT_NEAR(step(i), step(1), .01);

  // Ctrl and wheel: the time under the pointer stays in place.
  auto at = place_in("queues", .25);
  const double under = from + .25 * (to - from);
  browser_->wheel(at[0], at[1], -300, support::Browser::kControl);
  const auto [near_from, near_to] = range();
  EXPECT_NEAR((near_to - near_from) / (to - from), std::exp(-1), .01);
  EXPECT_NEAR(near_from + .25 * (near_to - near_from), under, .02 * (to - from));
  expect_same_axes();
  // Drag: the range moves with the pointer. The wheel alone scrolls the page.
  at = place_in("queues", .5);
  browser_->drag(at[0], at[1], at[0] + 100, at[1]);
  const auto [moved_from, moved_to] = range();
  EXPECT_LT(moved_from, near_from);
  EXPECT_NEAR(moved_to - moved_from, near_to - near_from, 1e-3);
  browser_->wheel(at[0], at[1], 50);
  EXPECT_EQ(range(), std::pair(moved_from, moved_to));
  // Shift and drag: the selected part becomes the range.
  at = place_in("threads", .25);
  const auto end = place_in("threads", .75);
  browser_->drag(at[0], end[1], end[0], end[1], support::Browser::kShift);
  const auto [part_from, part_to] = range();
  EXPECT_NEAR((part_to - part_from) / (moved_to - moved_from), .5, .02);
  EXPECT_NEAR(part_from, moved_from + .25 * (moved_to - moved_from), .02 * (moved_to - moved_from));
  expect_same_axes();
  // A click selects a time within the range; the slider's ends are those of the range.
  at = place_in("links", .75);
  browser_->drag(at[0], at[1], at[0], at[1]);
  EXPECT_TRUE(wait("Math.abs(document.getElementById('slider').value - 750000) < 8000")) << value("document.getElementById('slider').value");
  EXPECT_NEAR(std::stod(text("now")), part_from + .75 * (part_to - part_from), .01 * (part_to - part_from));

  // Keys; the selected time moves with the range.
  browser_->press("+");
  EXPECT_NEAR(range().second - range().first, (part_to - part_from) / 2, 1e-3);
  browser_->press("-");
  const auto before = range();
  browser_->press("d");
  EXPECT_NEAR(range().first, before.first + .25 * (before.second - before.first), 1e-3);
  browser_->press("a");
  EXPECT_NEAR(range().first, before.first, 1e-3);
  browser_->press("0");
  EXPECT_LE(range().first, value("JSON.parse(document.getElementById('head').textContent).rows.starts[0] / 1e6"));
  browser_->press("f");
  EXPECT_EQ(range(), std::pair(from, to));

  // Rows outside the range are paler or hidden. The page's address contains the range.
  value("document.getElementById('ladder').scrollTop = 0");
  EXPECT_TRUE(wait("[...document.querySelectorAll('.row')].some((r) => r.classList.contains('is-outside'))"));
  value("document.getElementById('inrange').click()");
  EXPECT_TRUE(wait("/^[0-9]+ of/.test(document.getElementById('found').textContent)"));
  EXPECT_TRUE(wait("document.querySelectorAll('.row').length && ![...document.querySelectorAll('.row')].some((r) => r.classList.contains('is-outside'))"));
  const std::string link = value("location.hash").get<std::string>();
  ASSERT_TRUE(open(link));
  EXPECT_EQ(range(), std::pair(from, to));
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportOverTime, at_sixteen_hosts_hosts_are_grouped_and_a_problem_comes_with_its_queue_pair_alone) {
  make_sixteen();
  if (!open("#t=0")) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(all_drawn());
  EXPECT_EQ(heads(), (std::vector<std::string>{"▸ leaf0", "▸ leaf1", "▸ leaf2", "▸ leaf3", "h0 … h3 (4)", "h4 … h7 (4)", "h8 … h11 (4)", "h12 … h15 (4)"}));
  EXPECT_TRUE(wait("document.querySelector('.cell') && /^h[0-9]+: /.test(document.querySelector('.cell').textContent)")) << "a lane of several says which host";
  const int charts = value("[...document.querySelectorAll('svg.plot')].filter((b) => b.style.display !== 'none').length").get<int>();
  browser_->press("n");
  ASSERT_TRUE(wait("document.querySelector('.row.is-chosen.drop')"));
  EXPECT_THAT(chosen(), HasSubstr("h13 QP 72 to h5, QP 72: Send Middle"));
  EXPECT_EQ(qp(), "h13, QP 72");
  EXPECT_EQ(value("document.getElementById('problems').checked"), true);
  EXPECT_EQ(heads(), (std::vector<std::string>{"h5", "h13", "QP 72", "QP 72"}));
  // Both ends of the arrow and its label are visible.
  const std::string seen = R"((() => {
    const ladder = document.getElementById('ladder').getBoundingClientRect();
    const fits = (b) => b.width > 20 && b.left >= ladder.left && b.right <= ladder.right;
    const inside = (e) => fits(e.getBoundingClientRect());
    const row = document.querySelector('.row.is-chosen'), label = row.querySelector('.label span');
    const fault = 'a fault of the scenario or the seed';
    return inside(row.querySelector('.arrow')) && inside(label) && label.textContent.includes(fault);
  })())";
  EXPECT_TRUE(wait(seen));
  EXPECT_TRUE(wait("[...document.querySelectorAll('.row')].every((r) => /drop|nak|again|error/.test(r.className))"));
  EXPECT_THAT(text("only"), HasSubstr("Only charts of h5 and h13 are shown"));
  EXPECT_LT(value("[...document.querySelectorAll('svg.plot')].filter((b) => b.style.display !== 'none').length").get<int>(), charts / 3);
  // Escape shows everything again, with the same row selected.
  browser_->press("Escape");
  EXPECT_TRUE(wait("document.querySelectorAll('#heads .head').length === 8 && document.getElementById('found').textContent === ''"));
  EXPECT_EQ(qp(), "all");
  EXPECT_TRUE(wait("document.querySelector('.row.is-chosen.drop .label').textContent.startsWith('h13 → h5: Send Middle')"));
  // A check box that the user has unticked stays unticked.
  value("document.getElementById('problems').click()");
  value("document.getElementById('problems').click()");
  browser_->press("n");
  EXPECT_TRUE(wait("document.getElementById('qp').value !== '-1' && document.querySelector('.row.is-chosen')"));
  EXPECT_EQ(value("document.getElementById('problems').checked"), false);
  browser_->press("Escape");
  ASSERT_TRUE(wait("document.querySelectorAll('#heads .head').length === 8"));

  // Groups and hosts can be opened and closed.
  value("document.querySelector('#heads button').click()");
  EXPECT_EQ(value("[...document.querySelectorAll('#heads button')].map((b) => b.textContent).slice(0, 5).join()"), "▾ leaf0,▸ leaf1,▸ leaf2,▸ leaf3,▸ h0");
  // Opens all groups, then all hosts, then closes all.
  browser_->press("g");
  browser_->press("g");
  EXPECT_THAT(heads(), ::testing::Contains("▾ h15"));
  browser_->press("g");
  EXPECT_EQ(heads().size(), 8u);
  browser_->press("g");
  browser_->press("g");
  EXPECT_THAT(heads(), ::testing::Contains("▾ h15"));
  // After horizontal scrolling, times and labels are still visible.
  value("document.getElementById('ladder').scrollLeft = 700");
  EXPECT_TRUE(wait(R"((() => {
    const ladder = document.getElementById('ladder').getBoundingClientRect();
    const inside = (e) => { const b = e.getBoundingClientRect(); return b.left >= ladder.left - 1 && b.right <= ladder.right; };
    const rows = [...document.querySelectorAll('.row')], parts = (name) => rows.flatMap((row) => [...row.querySelectorAll(name)]);
    return rows.length > 5 && [...parts('.time'), ...parts('.label'), ...parts('.cell span')].every(inside);
  })())"));
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportOverTime, tiles_at_the_top_and_a_fabric_that_shows_a_drop_not_before_it_happens) {
  make_with_a_loss();
  if (!open("#t=0")) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(all_drawn());
  const Json figures = value("JSON.parse(document.getElementById('head').textContent).figures");
  const std::string tiles = text("tiles");
  for (const char* name : {"throughput", "latency, median", "latency, p99", "drops", "retries", "completions with errors"}) EXPECT_THAT(tiles, HasSubstr(name));
  EXPECT_THAT(tiles, HasSubstr("10 messages, 40,960 bytes"));
  EXPECT_THAT(tiles, HasSubstr("drops3of " + figures["packets"].dump() + " packets sent"));
  EXPECT_THAT(tiles, HasSubstr("retries1"));
  EXPECT_THAT(tiles, HasSubstr("completions with errors0of 20 completions"));
  value("[...document.querySelectorAll('button.tile')].find((t) => t.textContent.startsWith('drops')).click()");
  ASSERT_TRUE(wait("document.querySelector('.row.is-chosen.drop')"));
  EXPECT_TRUE(wait("document.getElementById('fabric-now').textContent.includes('Dropped so far: 1 packet.')")) << text("fabric-now");
  EXPECT_EQ(value("[...document.querySelectorAll('.lost-count')].map((t) => t.textContent).join('')"), "✕ 1");
  // One nanosecond before.
  const auto [from, to] = range();
  const double moment = value("parseFloat(new URLSearchParams(location.hash.slice(1)).get('t'))").get<double>() - .001;
  set("slider", std::to_string(std::floor((moment - from) / (to - from) * 1e6)));
  EXPECT_TRUE(wait("document.getElementById('fabric-now').textContent.includes('Dropped so far: 0 packets.')")) << text("fabric-now");
  EXPECT_EQ(value("document.querySelectorAll('.has-lost').length"), 0);
  // Legends of charts and of the fabric.
  for (const char* part : {"lives", "queues", "levels", "threads", "memory", "fabric", "credits", "links"})
    EXPECT_TRUE(value("document.getElementById('" + std::string(part) + "').previousElementSibling.matches('.legend')").get<bool>()) << part;
  EXPECT_EQ(browser_->errors(), "");
}

TEST_F(ReportOverTime, what_a_run_does_not_have_has_no_heading) {
  const std::string trace = folder_.path() + "/trace";
  cli::verbatim({"run", "--quiet", "--log", "off", "--trace", trace, "--topology", support::topology("two_hosts"), "server=true"});
  path_ = folder_.path() + "/report.html";
  ASSERT_EQ(cli::verbatim({"report", trace, "-o", path_}).code, 0);
  if (!open()) GTEST_SKIP() << "chromium does not run here";
  ASSERT_TRUE(all_drawn());
  const Json headings = value("[...document.querySelectorAll('h2')].filter((h) => h.checkVisibility()).map((h) => h.textContent)");
  EXPECT_EQ(headings, (Json{"Ladder", "Chosen row", "Threads"}));
  EXPECT_THAT(text("missing"), HasSubstr("memory"));
  EXPECT_THAT(text("missing"), Not(HasSubstr("threads")));
  EXPECT_EQ(browser_->errors(), "");
}

}  // namespace
}  // namespace verbatim
