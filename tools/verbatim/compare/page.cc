#include "tools/verbatim/compare/page.h"

#include <algorithm>

#include "sim/core/words.h"
#include "tools/verbatim/compare/plots.h"
#include "tools/verbatim/page_resource.h"

namespace verbatim::cli {

namespace {

// In addition to page.css: plots side by side, and a colour for each series.
constexpr std::string_view kStyle = R"(
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(430px, 1fr)); gap: 8px 20px; }
figure { margin: 4px 0; max-width: 640px; } figcaption { font-weight: 600; font-size: 13px; }
.charts .curve { fill: none; stroke: var(--place); stroke-width: 2; } .charts .bar { fill: var(--place); }
.charts .is-dashed { stroke-dasharray: 5 3; }
.place-0 { --place: #0969da; } .place-1 { --place: #bc4c00; } .place-2 { --place: #1a7f37; } .place-3 { --place: #bf3989; }
.place-4 { --place: #8250df; } .place-5 { --place: #bf8700; } .place-6 { --place: #57606a; } .place-7 { --place: #cf222e; }
.runs span { margin-right: 18px; white-space: nowrap; } .runs .swatch { background: var(--place); margin-right: 5px; }
.wide th.number { text-align: right; } .wide td:first-child { padding-right: 24px; }
.wide tr:first-child th { position: sticky; top: 0; background: var(--back); }
)";

bool has_percentiles(const SizeClass& one) { return one.p50_ps && one.p95_ps && one.p99_ps; }

// Percentiles over flows of all sizes.
std::string percentile_bars(const std::vector<RunSummary>& runs, const std::string& workload, const std::string& title) {
  std::vector<std::string> labels;
  std::vector<BarGroup> groups = {{"p50", {}}, {"p95", {}}, {"p99", {}}, {"longest", {}}};
  for (const RunSummary& run : runs) {
    labels.push_back(run.label);
    const WorkloadSummary* const found = workload_of(run, workload);
    const bool has = found != nullptr && !found->classes.empty() && has_percentiles(found->classes.back());
    for (BarGroup& group : groups) group.values.emplace_back();
    if (!has) continue;
    const SizeClass& all = found->classes.back();
    groups[0].values.back() = all.p50_ps;
    groups[1].values.back() = all.p95_ps;
    groups[2].values.back() = all.p99_ps;
    groups[3].values.back() = all.longest_ps;
  }
  return bar_plot(title, labels, groups, FigureUnit::kTime);
}

// 99th percentile of each size class.
std::string size_bars(const std::vector<RunSummary>& runs, const std::string& workload, const std::string& title) {
  std::vector<std::string> labels;
  std::vector<BarGroup> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    labels.push_back(runs[i].label);
    const WorkloadSummary* const found = workload_of(runs[i], workload);
    if (found == nullptr) continue;
    for (const SizeClass& one : found->classes) {
      if (one.most_bytes == 0) continue;
      std::string name = one.name();
      if (constexpr std::string_view kUpTo = "up to "; name.starts_with(kUpTo)) name.replace(0, kUpTo.size(), "≤ ");
      auto group = std::ranges::find(groups, name, &BarGroup::label);
      if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
      group->values.resize(runs.size());
      group->values[i] = one.p99_ps;
    }
  }
  return groups.size() < 2 ? "" : bar_plot(title, labels, groups, FigureUnit::kTime);
}

std::string plots_of(const std::vector<RunSummary>& runs, const std::vector<Figure>& figures) {
  std::string plots;
  std::vector<std::string> run_labels;
  for (const RunSummary& run : runs) run_labels.push_back(run.label);
  std::vector<BarGroup> times, bandwidths;
  for (const std::string& name : collectives_to_compare(runs)) {
    times.push_back({name, {}});
    bandwidths.push_back({name, {}});
    for (const RunSummary& run : runs) {
      const CollectiveSummary* const one = collective_of(run, name);
      times.back().values.push_back(one == nullptr ? std::nullopt : one->time_ps);
      bandwidths.back().values.push_back(one == nullptr ? std::nullopt : one->bus_bandwidth);
    }
  }
  if (!times.empty()) plots += bar_plot("Time of collectives, median", run_labels, times, FigureUnit::kTime);
  const auto has_value = [](const BarGroup& group) {
    return std::ranges::any_of(group.values, [](const auto& value) { return value.has_value(); });
  };
  if (std::ranges::any_of(bandwidths, has_value))
    plots += bar_plot("Bus bandwidth of collectives", run_labels, bandwidths, FigureUnit::kBandwidth);
  for (const std::string& name : workloads_to_compare(runs)) {
    const std::string of = name.empty() ? "" : " of " + name;
    std::vector<Curve> curves;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const WorkloadSummary* const found = workload_of(runs[i], name);
      if (runs[i].has_all_rows && found != nullptr) curves.push_back({runs[i].label, i, found->times});
    }
    plots += distribution_plot("Completion times" + of, curves);
    plots += percentile_bars(runs, name, "Completion times" + of + ": percentiles");
    plots += size_bars(runs, name, "99th percentile of completion times" + of + ", by size");
  }
  // Figures of whole runs, side by side.
  std::vector<std::string> labels;
  for (const RunSummary& run : runs) labels.push_back(run.label);
  for (const Figure& figure : figures) {
    const bool is_wanted =
        figure.section == "run" && (figure.name == "virtual time" || figure.name == "packets dropped" ||
                                    figure.name == "packets marked" || figure.name == "paused, all ports");
    if (is_wanted) plots += bar_plot(figure.name, labels, {{"", figure.values}}, figure.unit);
  }
  for (const char* const section : {"deepest output queues", "ports that paused their far end"}) {
    std::vector<BarGroup> groups;
    FigureUnit unit = FigureUnit::kCount;
    for (const Figure& figure : figures) {
      if (figure.section != section) continue;
      groups.push_back({figure.name, figure.values});
      unit = figure.unit;
    }
    if (!groups.empty()) plots += bar_plot(section, labels, groups, unit);
  }
  return plots;
}

}  // namespace

std::string for_html(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string page_of(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         for_html(title) + "</title>\n<style>\n" + std::string(kPageCss) + std::string(kStyle) +
         "</style>\n</head>\n<body>\n<header><h1>" + for_html(title) + "</h1></header>\n" + body +
         "<footer><p>verbatim " VERBATIM_VERSION "</p></footer>\n</body>\n</html>\n";
}

std::string legend_html(const std::vector<std::string>& labels) {
  std::string html = "<p class=\"runs\">";
  for (std::size_t i = 0; i < labels.size(); ++i)
    html += join("<span><span class=\"swatch place-", i % 8, "\"></span>", for_html(labels[i]), "</span>");
  return html + "</p>\n";
}

std::string table_html(const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"wide\"><table>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const char* const cell = r == 0 ? "th" : "td";
    html += "<tr>";
    for (std::size_t i = 0; i < rows[r].size(); ++i)
      html += join("<", cell, i == 0 ? "" : " class=\"number\"", ">", for_html(rows[r][i]), "</", cell, ">");
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string comparison_page(const std::vector<RunSummary>& runs, const std::vector<Figure>& figures) {
  std::vector<std::string> labels, head = {""};
  for (const RunSummary& run : runs) {
    labels.push_back(run.label);
    head.push_back(run.label);
  }
  std::string body = "<section>" + legend_html(labels) +
                     "</section>\n<section aria-label=\"Plots\"><div class=\"plots\">\n" + plots_of(runs, figures) +
                     "</div></section>\n<section aria-label=\"Figures\">\n";
  body += "<p class=\"hint\">Behind a value: its ratio to that of the first run.</p>\n";
  std::vector<std::vector<std::string>> rows;
  std::string section;
  const auto end_section = [&] {
    if (!rows.empty()) body += "<h2>" + for_html(section) + "</h2>\n" + table_html(rows);
    rows.clear();
  };
  for (const Figure& figure : figures) {
    if (figure.section != section) {
      end_section();
      section = figure.section;
      rows.push_back(head);
    }
    std::vector<std::string> cells = {figure.name};
    for (std::size_t run = 0; run < runs.size(); ++run) cells.push_back(figure.cell(run));
    rows.push_back(std::move(cells));
  }
  end_section();
  return page_of("Comparison of " + std::to_string(runs.size()) + " runs", body + "</section>\n");
}

}  // namespace verbatim::cli
