#include "tools/verbatim/sweep/sweep_results.h"

#include <algorithm>
#include <functional>
#include <map>

#include "sim/core/words.h"
#include "tools/verbatim/compare/comparison.h"
#include "tools/verbatim/compare/page.h"
#include "tools/verbatim/compare/plots.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;
using Value = std::optional<std::uint64_t>;

template <class Member>
Value of_flows(const RunSummary& run, Member member) {
  const SizeClass* const all = run.all_flows();
  return all == nullptr ? std::nullopt : Value(all->*member);
}

// A figure of a run: its key in JSON and CSV, and its heading in the table.
struct Column {
  std::string key;
  std::string head;
  FigureUnit unit;
  std::function<Value(const RunSummary& run)> value;
  bool is_shown;     // in the table
  bool has_zeros;    // zeros carry no information: a column of zeros is omitted from the table
  std::string plot;  // title of its plot on the page; empty: no plot
};

const std::vector<Column>& columns_of_all() {
  using enum FigureUnit;
  static const std::vector<Column> all = {
      {"virtual_time_ps", "virtual time", kTime, [](const RunSummary& run) { return run.virtual_time_ps; }, true, false,
       "Virtual time"},
      {"packets", "packets", kCount, [](const RunSummary& run) { return run.packets; }, false, false, ""},
      {"flows", "flows", kCount, [](const RunSummary& run) { return of_flows(run, &SizeClass::flows); }, true, true,
       ""},
      {"finished", "finished", kCount, [](const RunSummary& run) { return of_flows(run, &SizeClass::finished); }, true, true,
       ""},
      {"mean_ps", "mean", kTime, [](const RunSummary& run) { return of_flows(run, &SizeClass::mean_ps); }, true, true,
       "Mean completion time of flows"},
      {"p50_ps", "p50", kTime, [](const RunSummary& run) { return of_flows(run, &SizeClass::p50_ps); }, true, true,
       "Median completion time of flows"},
      {"p95_ps", "p95", kTime, [](const RunSummary& run) { return of_flows(run, &SizeClass::p95_ps); }, false, true,
       ""},
      {"p99_ps", "p99", kTime, [](const RunSummary& run) { return of_flows(run, &SizeClass::p99_ps); }, true, true,
       "99th percentile of completion times of flows"},
      {"longest_ps", "longest", kTime, [](const RunSummary& run) { return of_flows(run, &SizeClass::longest_ps); }, false,
       true, ""},
      {"p50_mbps", "p50 rate", kRate, [](const RunSummary& run) { return of_flows(run, &SizeClass::p50_mbps); }, true, true,
       "Median rate of flows"},
      {"packets_dropped", "dropped", kCount, [](const RunSummary& run) { return run.packets_dropped; }, true, true,
       "Packets dropped"},
      {"packets_discarded", "discarded", kCount, [](const RunSummary& run) { return run.packets_discarded; }, false, true,
       ""},
      {"packets_sent_again", "sent again", kCount, [](const RunSummary& run) { return run.packets_sent_again; }, false, true,
       ""},
      {"packets_marked", "marked", kCount, [](const RunSummary& run) { return Value(run.packets_marked); }, true, true,
       "Packets marked"},
      {"pauses", "pauses", kCount, [](const RunSummary& run) { return Value(run.pauses); }, true, true, "Pauses"},
      {"paused_ps", "paused", kTime, [](const RunSummary& run) { return Value(run.paused_ps); }, false, true, ""},
  };
  return all;
}

// The columns of all sweeps, and two for each collective of these points.
std::vector<Column> columns_of(const std::vector<PointResult>& results) {
  std::vector<Column> all = columns_of_all();
  std::vector<RunSummary> runs;
  for (const PointResult& result : results)
    if (result.run) runs.push_back(*result.run);
  const auto of = [](const std::string& name, std::optional<std::uint64_t> CollectiveSummary::*member) {
    return [name, member](const RunSummary& run) -> Value {
      const CollectiveSummary* const one = collective_of(run, name);
      return one == nullptr ? std::nullopt : one->*member;
    };
  };
  for (const std::string& name : collectives_to_compare(runs)) {
    all.push_back({name + " time_ps", name, FigureUnit::kTime, of(name, &CollectiveSummary::time_ps), true, true, "Time of " + name});
    all.push_back({name + " bus_bytes_per_second", name + " busbw", FigureUnit::kBandwidth, of(name, &CollectiveSummary::bus_bandwidth), true,
                   true, "Bus bandwidth of " + name});
  }
  return all;
}

Value value_of(const Column& column, const PointResult& result) {
  return result.run ? column.value(*result.run) : std::nullopt;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

// The horizontal axis of plots: the one with most values, except the seed. An empty sweep has none.
std::size_t axis_to_the_right(const std::vector<SweepAxis>& axes) {
  const auto values = [](const SweepAxis& axis) { return axis.name == "seed" ? 0 : axis.values.size(); };
  return static_cast<std::size_t>(std::ranges::max_element(axes, {}, values) - axes.begin());
}

// A series for each combination of the other axes; points that differ only in the seed share a series.
std::vector<Series> series_of(const std::vector<SweepAxis>& axes, std::size_t right, const std::vector<PointResult>& results,
                              const std::function<Value(const RunSummary&)>& value) {
  std::vector<Series> series;
  std::map<SweepPoint, std::size_t> places;
  for (const PointResult& result : results) {
    SweepPoint others;
    std::string label;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (i == right || axes[i].name == "seed") continue;
      others.push_back(result.point[i]);
      label += (label.empty() ? "" : " ") + axes[i].short_name + "=" + axes[i].texts[result.point[i]];
    }
    const auto [place, is_new] = places.emplace(others, series.size());
    if (is_new) series.push_back({label, series.size(), std::vector<std::vector<std::uint64_t>>(axes[right].values.size())});
    const Value one = result.run ? value(*result.run) : std::nullopt;
    if (one) series[place->second].values[result.point[right]].push_back(*one);
  }
  return series;
}

}  // namespace

Json to_json(const std::vector<SweepAxis>& axes, const PointResult& result) {
  Json json = {{"point", result.number}, {"settings", settings_of(axes, result.point)}, {"exit_code", result.exit_code}};
  json["outcome"] = result.run ? Json(result.run->outcome) : Json();
  json["digest"] = result.run && result.run->digest ? Json(result.run->digest->hex) : Json();
  for (const Column& column : columns_of_all()) {
    const Value value = value_of(column, result);
    json[column.key] = value ? Json(*value) : Json();
  }
  if (result.run && result.run->workloads.size() > 2) {
    Json& workloads = json["workloads"] = Json::object();
    for (const WorkloadSummary& one : result.run->workloads) {
      if (one.name.empty() || one.classes.empty()) continue;
      const SizeClass& all = one.classes.back();
      Json& entry = workloads[one.name] = Json{{"flows", all.flows}, {"finished", all.finished}};
      for (const auto& [key, value] :
           {std::pair("p50_ps", all.p50_ps), std::pair("p95_ps", all.p95_ps), std::pair("p99_ps", all.p99_ps)})
        if (value) entry[key] = *value;
    }
  }
  if (result.run && !result.run->collectives.empty()) {
    Json& collectives = json["collectives"] = Json::object();
    for (const CollectiveSummary& one : result.run->collectives) {
      Json& entry = collectives[one.name] = Json{{"runs", one.runs}, {"ended", one.ended}};
      if (one.time_ps) entry["time_ps"] = *one.time_ps;
      if (one.longest_ps) entry["longest_ps"] = *one.longest_ps;
      if (one.bus_bandwidth) entry["bus_bytes_per_second"] = *one.bus_bandwidth;
    }
  }
  if (!result.finding.empty()) json["finding"] = result.finding;
  return json;
}

std::string csv_of(const std::vector<SweepAxis>& axes, const std::vector<PointResult>& results) {
  std::string text = "point";
  for (const SweepAxis& axis : axes) text += "," + csv_cell(axis.name);
  text += ",exit_code,outcome,digest";
  const std::vector<Column> columns = columns_of(results);
  for (const Column& column : columns) text += "," + csv_cell(column.key);
  text += "\n";
  for (const PointResult& result : results) {
    text += std::to_string(result.number);
    for (std::size_t i = 0; i < axes.size(); ++i) text += "," + csv_cell(axes[i].texts[result.point[i]]);
    text += join(",", result.exit_code, ",", result.run ? result.run->outcome : "", ",",
                 result.run && result.run->digest ? result.run->digest->hex : "");
    for (const Column& column : columns) {
      const Value value = value_of(column, result);
      text += "," + (value ? std::to_string(*value) : "");
    }
    text += "\n";
  }
  return text;
}

std::vector<std::vector<std::string>> table_of(const std::vector<SweepAxis>& axes, const std::vector<PointResult>& results) {
  std::vector<const Column*> shown;
  const std::vector<Column> columns = columns_of(results);
  for (const Column& column : columns) {
    const bool has_values = std::ranges::any_of(results, [&](const PointResult& result) {
      const Value value = value_of(column, result);
      return value && (*value != 0 || !column.has_zeros);
    });
    if (column.is_shown && has_values) shown.push_back(&column);
  }
  std::vector<std::vector<std::string>> rows = {{"point"}};
  for (const SweepAxis& axis : axes) rows.back().push_back(axis.short_name);
  rows.back().push_back("outcome");
  for (const Column* const column : shown) rows.back().push_back(column->head);
  for (const PointResult& result : results) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(std::to_string(result.number));
    for (std::size_t i = 0; i < axes.size(); ++i) row.push_back(axes[i].texts[result.point[i]]);
    const bool has_failed = result.exit_code != 0;
    row.push_back((result.run ? result.run->outcome : "no result") +
                  (has_failed ? join(" (exit code ", result.exit_code, ")") : ""));
    for (const Column* const column : shown) {
      const Value value = value_of(*column, result);
      row.push_back(value ? figure_text(*value, column->unit) : "-");
    }
  }
  return rows;
}

std::string sweep_page(const std::string& scenario, const std::vector<SweepAxis>& axes,
                       const std::vector<PointResult>& results) {
  const std::size_t right = axis_to_the_right(axes);
  const SweepAxis& axis = axes[right];
  std::vector<std::string> labels;
  std::string plots;
  const auto add = [&](const std::string& title, FigureUnit unit, const std::function<Value(const RunSummary&)>& value) {
    const std::vector<Series> series = series_of(axes, right, results, value);
    labels.clear();
    for (const Series& one : series) labels.push_back(one.label);
    plots += line_plot(title, axis.short_name, axis.texts, series, unit);
  };
  for (const Column& column : columns_of(results))
    if (!column.plot.empty()) add(column.plot, column.unit, column.value);
  std::vector<RunSummary> runs;
  for (const PointResult& result : results)
    if (result.run) runs.push_back(*result.run);
  for (const std::string& name : workloads_to_compare(runs)) {
    if (name.empty() || runs.front().workloads.size() < 3) continue;
    add("99th percentile of completion times of " + name, FigureUnit::kTime, [&](const RunSummary& run) -> Value {
      const WorkloadSummary* const one = workload_of(run, name);
      return one == nullptr || one->classes.empty() ? std::nullopt : one->classes.back().p99_ps;
    });
  }
  const bool has_series = labels.size() > 1;
  const bool has_seeds = std::ranges::find(axes, "seed", &SweepAxis::name) != axes.end() && axis.name != "seed";
  std::string body = "<section>" + (has_series ? legend_html(labels) : "");
  if (has_seeds) body += "<p class=\"hint\">A dot is a seed; lines join the medians of the seeds.</p>";
  body += "</section>\n<section aria-label=\"Plots\"><div class=\"plots\">\n" + plots +
          "</div></section>\n<section aria-label=\"Points\"><h2>Points</h2>\n" + table_html(table_of(axes, results)) +
          "</section>\n";
  return page_of("Sweep of " + scenario, body);
}

}  // namespace verbatim::cli
