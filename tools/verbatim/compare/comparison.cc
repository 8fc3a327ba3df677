#include "tools/verbatim/compare/comparison.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "sim/config/quantity.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/bandwidth_text.h"
#include "tools/verbatim/text_table.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

class Figures {
 public:
  explicit Figures(const std::vector<RunSummary>& runs) : runs_(runs) {}

  template <class Value>  // from a run: a number, or an optional one
  void add(const std::string& section, const std::string& name, FigureUnit unit, const Value& value) {
    Figure figure{.section = section, .name = name, .unit = unit, .values = {}, .texts = {}};
    for (const RunSummary& run : runs_) figure.values.push_back(value(run));
    all.push_back(std::move(figure));
  }
  template <class Text>
  void add_text(const std::string& section, const std::string& name, const Text& text) {
    Figure figure{.section = section, .name = name, .unit = FigureUnit::kText, .values = {}, .texts = {}};
    for (const RunSummary& run : runs_) figure.texts.push_back(text(run));
    all.push_back(std::move(figure));
  }

  std::vector<Figure> all;

 private:
  const std::vector<RunSummary>& runs_;
};

std::string shortened(std::string text) {
  constexpr std::size_t kMost = 40;
  for (char& letter : text)
    if (static_cast<unsigned char>(letter) < ' ' || static_cast<unsigned char>(letter) > '~') letter = '?';
  if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
  return text;
}

void add_inputs(Figures& figures, const std::vector<RunSummary>& runs) {
  std::vector<std::string> names;
  for (const RunSummary& run : runs) {
    for (const auto& [name, text] : run.inputs)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  const auto value = [](const RunSummary& run, const std::string& name) -> std::string {
    const auto found = std::ranges::find(run.inputs, name, &std::pair<std::string, std::string>::first);
    return found == run.inputs.end() ? "" : found->second;
  };
  for (const std::string& name : names) {
    const std::string first = value(runs.front(), name);
    if (std::ranges::all_of(runs, [&](const RunSummary& run) { return value(run, name) == first; })) continue;
    figures.add_text("inputs that differ", name, [&](const RunSummary& run) {
      const std::string text = value(run, name);
      return text.empty() ? "-" : shortened(text);
    });
  }
}

void add_run(Figures& figures, const std::vector<RunSummary>& runs) {
  using enum FigureUnit;
  const std::string section = "run";
  figures.add_text(section, "outcome", [](const RunSummary& run) { return run.outcome; });
  figures.add_text(section, "digest", [&](const RunSummary& run) -> std::string {
    const auto& first = runs.front().digest;
    if (!run.digest) return "none";
    if (&run == &runs.front()) return run.digest->hex.substr(0, 12);
    if (!first || first->version != run.digest->version) return "of another version";
    return run.digest->hex == first->hex ? "same" : "different";
  });
  figures.add(section, "virtual time", kTime, [](const RunSummary& run) { return run.virtual_time_ps; });
  figures.add(section, "packets", kCount, [](const RunSummary& run) { return run.packets; });
  figures.add(section, "packets dropped", kCount, [](const RunSummary& run) { return run.packets_dropped; });
  figures.add(section, "discarded by receivers", kCount, [](const RunSummary& run) { return run.packets_discarded; });
  figures.add(section, "packets sent again", kCount, [](const RunSummary& run) { return run.packets_sent_again; });
  figures.add(section, "packets marked", kCount, [](const RunSummary& run) { return std::optional(run.packets_marked); });
  figures.add(section, "pauses", kCount, [](const RunSummary& run) { return std::optional(run.pauses); });
  figures.add(section, "paused, all ports", kTime, [](const RunSummary& run) { return std::optional(run.paused_ps); });
  figures.add(section, "rate changes", kCount, [](const RunSummary& run) { return std::optional(run.rate_changes); });
}

using ClassKey = std::tuple<bool, std::uint64_t, bool>;  // any size, bytes, exact
ClassKey key_of(const SizeClass& one) { return {one.most_bytes == 0, one.most_bytes, one.is_exact}; }

void add_workload(Figures& figures, const std::vector<RunSummary>& runs, const std::string& name) {
  using enum FigureUnit;
  const auto workload = [&](const RunSummary& run) { return workload_of(run, name); };
  std::map<ClassKey, std::string> classes;
  for (const RunSummary& run : runs) {
    if (const WorkloadSummary* const of = workload(run); of != nullptr)
      for (const SizeClass& one : of->classes) classes.emplace(key_of(one), one.name());
  }
  // With a single size, the row of any size would repeat it.
  if (classes.size() == 2) classes.erase(std::prev(classes.end()));
  for (const auto& entry : classes) {
    const ClassKey& key = entry.first;
    const auto one = [&](const RunSummary& run) -> const SizeClass* {
      const WorkloadSummary* const of = workload(run);
      if (of == nullptr) return nullptr;
      const auto found = std::ranges::find(of->classes, key, key_of);
      return found == of->classes.end() ? nullptr : &*found;
    };
    const std::string section = (name.empty() ? "all flows" : "workload " + name) + ", " + entry.second;
    const auto add = [&](const char* what, FigureUnit unit, auto member) {
      figures.add(section, what, unit, [&](const RunSummary& run) -> std::optional<std::uint64_t> {
        const SizeClass* const of = one(run);
        return of == nullptr ? std::nullopt : std::optional<std::uint64_t>(of->*member);
      });
    };
    add("flows", kCount, &SizeClass::flows);
    add("finished", kCount, &SizeClass::finished);
    add("mean", kTime, &SizeClass::mean_ps);
    add("p50", kTime, &SizeClass::p50_ps);
    add("p95", kTime, &SizeClass::p95_ps);
    add("p99", kTime, &SizeClass::p99_ps);
    add("longest", kTime, &SizeClass::longest_ps);
    add("p50 rate", kRate, &SizeClass::p50_mbps);
  }
}

void add_collective(Figures& figures, const std::string& name) {
  using enum FigureUnit;
  const auto add = [&](const char* what, FigureUnit unit, auto member) {
    figures.add("collective " + name, what, unit, [&](const RunSummary& run) -> std::optional<std::uint64_t> {
      const CollectiveSummary* const of = collective_of(run, name);
      return of == nullptr ? std::nullopt : std::optional<std::uint64_t>(of->*member);
    });
  };
  add("runs", kCount, &CollectiveSummary::runs);
  add("ended", kCount, &CollectiveSummary::ended);
  add("time", kTime, &CollectiveSummary::time_ps);
  add("longest", kTime, &CollectiveSummary::longest_ps);
  add("least possible", kTime, &CollectiveSummary::ideal_ps);
  add("bus bandwidth", kBandwidth, &CollectiveSummary::bus_bandwidth);
}

// Ports with the highest value in any of the runs, the highest first; ties by name.
void add_ports(Figures& figures, const std::vector<RunSummary>& runs, const char* section, FigureUnit unit,
               std::uint64_t PortSummary::*member) {
  constexpr std::size_t kMostPorts = 5;
  std::map<std::string, std::uint64_t> most;
  for (const RunSummary& run : runs)
    for (const PortSummary& port : run.ports)
      if (port.*member != 0) most[port.port] = std::max(most[port.port], port.*member);
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [port, value] : most) order.emplace_back(value, port);
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), kMostPorts));
  for (const auto& entry : order) {
    const std::string& name = entry.second;
    figures.add(section, name, unit, [&](const RunSummary& run) {
      const auto found = std::ranges::find(run.ports, name, &PortSummary::port);
      return std::optional<std::uint64_t>(found == run.ports.end() ? 0 : (*found).*member);
    });
  }
}

}  // namespace

const CollectiveSummary* collective_of(const RunSummary& run, const std::string& name) {
  const auto found = std::ranges::find(run.collectives, name, &CollectiveSummary::name);
  return found == run.collectives.end() ? nullptr : &*found;
}

std::vector<std::string> collectives_to_compare(const std::vector<RunSummary>& runs) {
  std::vector<std::string> names;
  for (const RunSummary& run : runs) {
    for (const CollectiveSummary& one : run.collectives)
      if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  return names;
}

const WorkloadSummary* workload_of(const RunSummary& run, const std::string& name) {
  const auto found = std::ranges::find(run.workloads, name, &WorkloadSummary::name);
  return found == run.workloads.end() ? nullptr : &*found;
}

std::vector<std::string> workloads_to_compare(const std::vector<RunSummary>& runs) {
  std::vector<std::string> names;
  for (const RunSummary& run : runs) {
    for (const WorkloadSummary& one : run.workloads)
      if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  // A single workload includes all flows, unless the scenario also has "flows".
  const bool is_one =
      names.size() == 2 && std::ranges::all_of(runs, [&](const RunSummary& run) {
        const WorkloadSummary* const one = workload_of(run, names[1]);
        const SizeClass* const all = run.all_flows();
        return one != nullptr && all != nullptr && !one->classes.empty() && one->classes.back().flows == all->flows;
      });
  if (is_one) names.erase(names.begin());
  return names;
}

std::string figure_text(std::uint64_t value, FigureUnit unit) {
  switch (unit) {
    case FigureUnit::kTime:
      return time_text(static_cast<std::int64_t>(value));
    case FigureUnit::kBytes:
      return config::format_quantity(static_cast<std::int64_t>(value), config::Dimension::kSize);
    case FigureUnit::kRate:
      return join(value / 1000, ".", std::to_string(1000 + value % 1000).substr(1), " Gbps");
    case FigureUnit::kBandwidth:
      return bandwidth_text(value);
    case FigureUnit::kText:
    case FigureUnit::kCount:
      break;
  }
  return std::to_string(value);
}

std::optional<std::uint64_t> Figure::ratio_to_first(std::size_t run) const {
  if (unit == FigureUnit::kText || run == 0 || !values[0] || *values[0] == 0 || !values[run]) return std::nullopt;
  const auto scaled = static_cast<unsigned __int128>(*values[run]) * 1000 + *values[0] / 2;
  return static_cast<std::uint64_t>(scaled / *values[0]);
}

std::string Figure::cell(std::size_t run) const {
  if (unit == FigureUnit::kText) return texts[run];
  if (!values[run]) return "-";
  std::string text = figure_text(*values[run], unit);
  if (const auto ratio = ratio_to_first(run)) {
    const std::uint64_t hundredths = (*ratio + 5) / 10;
    text += join(" x", hundredths / 100, ".", std::to_string(100 + hundredths % 100).substr(1));
  }
  return text;
}

std::vector<Figure> comparison_of(const std::vector<RunSummary>& runs) {
  Figures figures(runs);
  add_inputs(figures, runs);
  add_run(figures, runs);
  for (const std::string& name : collectives_to_compare(runs)) add_collective(figures, name);
  for (const std::string& name : workloads_to_compare(runs)) add_workload(figures, runs, name);
  add_ports(figures, runs, "deepest output queues", FigureUnit::kBytes, &PortSummary::deepest_queue_bytes);
  add_ports(figures, runs, "ports that paused their far end", FigureUnit::kTime, &PortSummary::paused_ps);
  add_ports(figures, runs, "ports that dropped packets", FigureUnit::kCount, &PortSummary::packets_dropped);
  return std::move(figures.all);
}

void align_classes(std::vector<RunSummary>& runs) {
  constexpr std::size_t kMostClasses = 12;
  std::set<std::string> names;
  for (const RunSummary& run : runs)
    for (const WorkloadSummary& one : run.workloads) names.insert(one.name);
  for (const std::string& name : names) {
    std::map<ClassKey, std::size_t> counts;
    std::set<bool> kinds;  // whether classes are exact sizes
    std::size_t all = 0;
    for (const RunSummary& run : runs) {
      const WorkloadSummary* const one = workload_of(run, name);
      if (one == nullptr) continue;
      ++all;
      for (const SizeClass& size : one->classes) {
        ++counts[key_of(size)];
        if (size.most_bytes != 0) kinds.insert(size.is_exact);
      }
    }
    if (kinds.size() < 2 && counts.size() <= kMostClasses + 1) continue;
    for (RunSummary& run : runs) {
      for (WorkloadSummary& one : run.workloads) {
        if (one.name == name) std::erase_if(one.classes, [&](const SizeClass& size) { return counts[key_of(size)] != all; });
      }
    }
  }
}

void label_runs(std::vector<RunSummary>& runs) {
  std::set<std::string> labels;
  const auto is_same_in_all = [&](const std::pair<std::string, std::string>& setting) {
    return std::ranges::all_of(
        runs, [&](const RunSummary& run) { return std::ranges::find(run.settings, setting) != run.settings.end(); });
  };
  for (RunSummary& run : runs) {
    for (const auto& setting : run.settings) {
      if (!is_same_in_all(setting)) run.label += (run.label.empty() ? "" : " ") + setting.first + "=" + setting.second;
    }
    if (run.label.empty()) {
      std::filesystem::path path = std::filesystem::path(run.path).lexically_normal();
      if (path.filename() == "run.json" || path.filename().empty()) path = path.parent_path();
      run.label = path.filename().string();
    }
    run.label = shortened(run.label);
    if (run.label.empty() || !labels.insert(run.label).second) {
      run.label = shortened(run.path);
      for (std::size_t number = 2; !labels.insert(run.label).second; ++number)
        run.label = join(shortened(run.path), " (", number, ")");
    }
  }
}

std::string text_of(const std::vector<RunSummary>& runs, const std::vector<Figure>& figures) {
  TextTable table(1);
  std::vector<std::string> head = {""};
  for (const RunSummary& run : runs) head.push_back(run.label);
  table.row(std::move(head));
  std::string section;
  for (const Figure& figure : figures) {
    if (figure.section != section) table.row({section = figure.section});
    std::vector<std::string> cells = {"  " + figure.name};
    for (std::size_t run = 0; run < runs.size(); ++run) cells.push_back(figure.cell(run));
    table.row(std::move(cells));
  }
  return table.text();
}

Json to_json(const std::vector<Figure>& figures) {
  constexpr const char* kUnits[] = {"text", "count", "bytes", "ps", "mbps", "bytes_per_second"};
  Json all = Json::array();
  for (const Figure& figure : figures) {
    Json& one = all.emplace_back(
        Json{{"section", figure.section}, {"name", figure.name}, {"unit", kUnits[static_cast<std::size_t>(figure.unit)]}});
    if (figure.unit == FigureUnit::kText) {
      one["values"] = figure.texts;
      continue;
    }
    Json values = Json::array(), ratios = Json::array();
    for (std::size_t run = 0; run < figure.values.size(); ++run) {
      values.push_back(figure.values[run] ? Json(*figure.values[run]) : Json());
      const auto ratio = figure.ratio_to_first(run);
      ratios.push_back(ratio ? Json(static_cast<double>(*ratio) / 1000) : Json());
    }
    one["values"] = std::move(values);
    one["ratios"] = std::move(ratios);
  }
  return all;
}

}  // namespace verbatim::cli
