#include "tools/verbatim/campaign/campaign_page.h"

#include <algorithm>
#include <ctime>

#include "sim/config/words.h"
#include "sim/core/words.h"
#include "tools/verbatim/compare/page.h"
#include "tools/verbatim/compare/plots.h"

namespace verbatim::cli {

namespace {

constexpr std::size_t kMostPoints = 24;  // of the plots

std::string utc(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  char text[64] = "";
  if (::gmtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string span_text(std::int64_t seconds) {
  if (seconds < 600) return join(seconds, " s");
  if (seconds < 36'000) return join(seconds / 60, " min");
  return join(seconds / 3600, " h");
}

std::string plots_of_growth(const CampaignView& view) {
  const std::vector<OutcomeCount>& growth = view.totals.growth();
  if (growth.size() < 2) return "";
  std::vector<std::string> labels;
  Series outcomes{"", 0, {}}, kinds{"", 1, {}};
  const std::size_t points = std::min(kMostPoints, growth.size());
  for (std::size_t i = 0; i < points; ++i) {
    const OutcomeCount& one = growth[(i + 1) * growth.size() / points - 1];
    labels.push_back(span_text(seconds_until(view.times, one.ended_s)));
    outcomes.values.push_back({static_cast<std::uint64_t>(one.outcomes)});
    kinds.values.push_back({static_cast<std::uint64_t>(one.kinds)});
  }
  return "<section aria-label=\"Growth\"><h2>New outcomes over time</h2>\n<p class=\"hint\">The horizontal axis is the time of the search without "
         "its pauses. An outcome is the digest of a run. A curve that bends to the right finds less and less that is new.</p>\n<div "
         "class=\"plots\">\n" +
         line_plot("Different outcomes", "after", labels, {outcomes}, FigureUnit::kCount) +
         line_plot("Kinds of failure", "after", labels, {kinds}, FigureUnit::kCount) + "</div></section>\n";
}

// A failure with its explanation, which includes the ladder and the command that repeats it.
std::string section_of(const FailureKind& kind, std::size_t number, const CampaignView& view) {
  const ExplainedFailure* const explained = view.failures.find(kind.signature);
  std::string html = join("<details open id=\"failure-", number, "\"><summary><b>Failure ", number,
                          "</b>: ", for_html(kind.summary), "</summary>\n", "<p>", kind.failures,
                          kind.failures == 1 ? " run" : " runs", " of ", view.totals.runs(),
                          ", first in run ", kind.first_run, " (", for_html(kind.strategy), "); first seen ",
                          utc(kind.first_seen_s), ", last seen ", utc(kind.last_seen_s), "</p>\n");
  if (explained == nullptr) return html + "<p class=\"hint\">It is not made small yet.</p></details>\n";
  if (explained->entry.contains("replay") && explained->entry["replay"].is_string())
    html +=
        "<p>Repeat it: <code>" +
        for_html(config::join_words({"verbatim", "replay", explained->entry["replay"].get<std::string>()})) +
        "</code><br>After a repair, try schedules like it: <code>" +
        for_html("verbatim explore --focus " +
                 config::join_words({explained->entry["replay"].get<std::string>()}) + " …") +
        "</code></p>\n";
  return html + "<div class=\"wide\"><pre class=\"number\">" + for_html(explained->text) +
         "</pre></div></details>\n";
}

}  // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> times_of(const std::vector<ResultFile>& files) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all, times;
  for (const ResultFile& file : files) {
    if (!file.is_of_this_work) continue;
    std::int64_t end = file.begun_s;
    for (const auto& [unit, result] : file.units) end = std::max(end, result.ended_s);
    all.emplace_back(file.begun_s, end);
  }
  std::ranges::sort(all);
  for (const auto& [begin, end] : all) {
    if (times.empty() || begin > times.back().second)
      times.emplace_back(begin, end);
    else
      times.back().second = std::max(times.back().second, end);
  }
  return times;
}

std::int64_t seconds_until(const std::vector<std::pair<std::int64_t, std::int64_t>>& times,
                           std::int64_t now_s) {
  std::int64_t seconds = 0;
  for (const auto& [begin, end] : times) seconds += std::max<std::int64_t>(0, std::min(end, now_s) - begin);
  return seconds;
}

std::string campaign_page(const CampaignView& view) {
  const std::vector<FailureKind> kinds = view.totals.kinds();
  std::string body =
      "<section><p><code>verbatim " + for_html(config::join_words(view.split.words)) + "</code></p>\n<p>" +
      join(view.totals.runs(), " schedules, ", view.totals.outcomes(), " different outcomes, ",
           view.totals.failed(), " failed, of ", kinds.size(), kinds.size() == 1 ? " kind" : " kinds", "; ",
           span_text(view.times.empty() ? 0 : seconds_until(view.times, view.times.back().second)),
           " of search");
  if (!view.times.empty())
    body += ", from " + utc(view.times.front().first) + " to " + utc(view.times.back().second);
  body += "; " + for_html(view.state) + ".</p></section>\n";
  if (!kinds.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"failure", "runs", "first run", "first seen", "last seen"}};
    for (std::size_t i = 0; i < kinds.size(); ++i)
      rows.push_back({join(i + 1, ": ", kinds[i].summary), std::to_string(kinds[i].failures),
                      std::to_string(kinds[i].first_run), utc(kinds[i].first_seen_s),
                      utc(kinds[i].last_seen_s)});
    body += "<section aria-label=\"Failures\"><h2>Failures</h2>\n" + table_html(rows) + "</section>\n";
  }
  body += plots_of_growth(view);
  body += "<section aria-label=\"Explanations\">\n";
  for (std::size_t i = 0; i < kinds.size(); ++i) body += section_of(kinds[i], i + 1, view);
  return page_of("Search for races", body + "</section>\n");
}

}  // namespace verbatim::cli
