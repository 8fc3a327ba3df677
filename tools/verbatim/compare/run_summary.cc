#include "tools/verbatim/compare/run_summary.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/config/json_text.h"
#include "sim/config/quantity.h"
#include "sim/config/words.h"
#include "sim/core/words.h"
#include "tools/verbatim/nearest_rank.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/run_json.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

// The member, or null if absent. `object` may be of any kind.
const nlohmann::json& member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<std::uint64_t> count_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = member(object, key);
  return value.is_number_unsigned() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::vector<SizeClass> classes_of(const nlohmann::json& rows) {
  std::vector<SizeClass> classes;
  if (!rows.is_array()) return classes;
  for (const nlohmann::json& row : rows) {
    SizeClass& one = classes.emplace_back();
    one.most_bytes = count_of(row, "bytes").value_or(0);
    one.is_exact = member(row, "is_exact") == true;
    one.flows = count_of(row, "flows").value_or(0);
    one.finished = count_of(row, "finished").value_or(0);
    one.mean_ps = count_of(row, "mean_ps");
    one.p50_ps = count_of(row, "p50_ps");
    one.p95_ps = count_of(row, "p95_ps");
    one.p99_ps = count_of(row, "p99_ps");
    one.longest_ps = count_of(row, "longest_ps");
    one.p50_mbps = count_of(row, "p50_mbps");
  }
  return classes;
}

void add_flows(RunSummary& run, const nlohmann::json& report) {
  const nlohmann::json& flows = member(report, "flows");
  run.has_flows = flows.is_array() && !flows.empty();
  if (!run.has_flows) return;
  run.has_all_rows = !count_of(report, "flows_left_out");
  std::map<std::string, std::vector<std::int64_t>> times;  // by workload
  for (const nlohmann::json& flow : flows) {
    const auto start = count_of(flow, "start_ps"), finish = count_of(flow, "finish_ps");
    // Flows that failed or transferred nothing have no rate.
    if (!start || !finish || *finish < *start || !count_of(flow, "mbps")) continue;
    const auto took = static_cast<std::int64_t>(*finish - *start);
    times[""].push_back(took);
    if (const std::string name = text_of(flow, "workload"); !name.empty()) times[name].push_back(took);
  }
  run.workloads.push_back({"", classes_of(member(report, "flow_times")), {}});
  if (const nlohmann::json& workloads = member(report, "workloads"); workloads.is_array()) {
    for (const nlohmann::json& one : workloads)
      run.workloads.push_back({text_of(one, "name"), classes_of(member(one, "flow_times")), {}});
  }
  for (WorkloadSummary& one : run.workloads) {
    one.times = std::move(times[one.name]);
    std::ranges::sort(one.times);
  }
}

void add_collectives(RunSummary& run, const nlohmann::json& collectives) {
  if (!collectives.is_array()) return;
  for (const nlohmann::json& json : collectives) {
    CollectiveSummary& one = run.collectives.emplace_back();
    one.name = text_of(json, "name");
    const std::string algorithm = text_of(json, "algorithm");
    const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(count_of(json, "bytes").value_or(0), INT64_MAX));
    one.what = join(text_of(json, "pattern"), algorithm.empty() ? "" : " by " + algorithm, ", ",
                    config::format_quantity(bytes, config::Dimension::kSize), ", ", count_of(json, "hosts").value_or(0), " hosts");
    std::vector<std::int64_t> times, ideals, bandwidths;
    if (const nlohmann::json& runs = member(json, "runs"); runs.is_array()) {
      one.runs = runs.size();
      for (const nlohmann::json& row : runs) {
        const auto add = [&](const char* key, std::vector<std::int64_t>& to) {
          const auto value = count_of(row, key);
          if (value && *value <= INT64_MAX) to.push_back(static_cast<std::int64_t>(*value));
        };
        if (!count_of(row, "time_ps")) continue;
        add("time_ps", times);
        add("ideal_ps", ideals);
        add("bus_bytes_per_second", bandwidths);
      }
    }
    one.ended = times.size();
    const auto median_of = [](std::vector<std::int64_t>& values) {
      std::ranges::sort(values);
      return values.empty() ? std::nullopt : std::optional<std::uint64_t>(nearest_rank(values, 50));
    };
    one.time_ps = median_of(times);
    if (!times.empty()) one.longest_ps = times.back();
    one.ideal_ps = median_of(ideals);
    one.bus_bandwidth = median_of(bandwidths);
  }
}

void add_ports(RunSummary& run, const nlohmann::json& ports) {
  if (!ports.is_array()) return;
  for (const nlohmann::json& port : ports) {
    PortSummary& one = run.ports.emplace_back();
    one.port = text_of(port, "port");
    if (constexpr std::string_view kPrefix = "port/"; one.port.starts_with(kPrefix)) one.port.erase(0, kPrefix.size());
    const nlohmann::json& lanes = member(port, "lanes");
    if (!lanes.is_array()) continue;
    for (const nlohmann::json& lane : lanes) {
      one.deepest_queue_bytes += count_of(lane, "deepest_queue_bytes").value_or(0);
      one.paused_ps += count_of(lane, "paused_ps").value_or(0);
      one.packets_marked += count_of(lane, "packets_marked").value_or(0);
      const nlohmann::json& dropped = member(lane, "packets_dropped");
      if (!dropped.is_object()) continue;
      for (const auto& [reason, packets] : dropped.items())
        if (packets.is_number_unsigned()) one.packets_dropped += packets.get<std::uint64_t>();
    }
  }
}

// The list's elements, reduced to these keys.
nlohmann::json picked(const nlohmann::json& list, std::initializer_list<const char*> keys) {
  nlohmann::json all = nlohmann::json::array();
  if (!list.is_array()) return all;
  for (const nlohmann::json& element : list) {
    nlohmann::json& one = all.emplace_back(nlohmann::json::object());
    for (const char* const key : keys) one[key] = member(element, key);
  }
  return all;
}

std::string programs_text(const nlohmann::json& programs) {
  std::string text;
  for (const nlohmann::json& program : picked(programs, {"host", "argv"})) {
    std::vector<std::string> words;
    for (const nlohmann::json& word : program["argv"])
      if (word.is_string()) words.push_back(word.get<std::string>());
    text += (text.empty() ? "" : "; ") + text_of(program, "host") + "=" + config::join_words(words);
  }
  return text;
}

// Identifies the flows by sender, receiver and size, for comparing inputs of two runs; the list itself is too
// long to show.
std::string flows_text(const nlohmann::json& report) {
  const nlohmann::json& flows = member(report, "flows");
  const nlohmann::json rows = picked(flows, {"from", "to", "operation", "bytes", "message_size", "queue_pairs", "workload"});
  if (rows.empty()) return "";
  const std::size_t all = rows.size() + count_of(report, "flows_left_out").value_or(0);
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char letter : rows.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", hash);
  return join(all, all == 1 ? " flow" : " flows", ", list ", digits);
}

void add_inputs(RunSummary& run, const nlohmann::json& report) {
  const auto add = [&](std::string name, std::string text) { run.inputs.emplace_back(std::move(name), std::move(text)); };
  const auto word = [](const nlohmann::json& value) {
    if (value.is_null()) return std::string();
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  add("version", text_of(report, "version"));
  add("scenario", text_of(report, "scenario"));
  if (const nlohmann::json& topology = member(report, "topology"); topology.is_object()) {
    for (const auto& [key, value] : topology.items()) add(key == "file" ? "topology" : "topology: " + key, word(value));
  }
  add("seed", word(member(report, "seed")));
  add("freedom", text_of(report, "freedom"));
  if (const nlohmann::json& arguments = member(report, "arguments"); arguments.is_object()) {
    for (const auto& [name, argument] : arguments.items()) add("{" + name + "}", word(member(argument, "value")));
  }
  add("programs", programs_text(member(report, "programs")));
  add("flows", flows_text(report));
  for (const CollectiveSummary& one : run.collectives) add("collective " + one.name, one.what);
  add("faults", word(picked(member(report, "faults"), {"action"})));
}

}  // namespace

std::string SizeClass::name() const {
  if (most_bytes == 0) return "any size";
  return (is_exact ? "" : "up to ") +
         config::format_quantity(static_cast<std::int64_t>(most_bytes), config::Dimension::kSize);
}

const SizeClass* RunSummary::all_flows() const {
  return workloads.empty() || workloads.front().classes.empty() ? nullptr : &workloads.front().classes.back();
}

RunSummary summary_of(const nlohmann::json& report) {
  RunSummary run;
  run.outcome = text_of(report, "outcome");
  if (report.contains("digest"))
    run.digest = KeptDigest{text_of(report, "digest"), static_cast<int>(count_of(report, kDigestVersionKey).value_or(1))};
  run.virtual_time_ps = count_of(report, "virtual_time_ps");
  run.packets = count_of(report, "packets");
  const nlohmann::json& losses = member(report, "losses");
  run.packets_dropped = count_of(losses, "packets_dropped");
  run.packets_discarded = count_of(losses, "packets_discarded");
  run.packets_sent_again = count_of(losses, "packets_sent_again");
  const nlohmann::json& congestion = member(report, "congestion");
  run.pauses = count_of(congestion, "pauses").value_or(0);
  run.paused_ps = count_of(congestion, "paused_ps").value_or(0);
  run.packets_marked = count_of(congestion, "packets_marked").value_or(0);
  run.rate_changes = count_of(congestion, "rate_changes").value_or(0);
  add_flows(run, report);
  add_collectives(run, member(report, "collectives"));
  add_ports(run, member(report, "ports"));
  add_inputs(run, report);
  if (const nlohmann::json& code = member(report, "code"); code.is_array()) {
    for (const nlohmann::json& file : code) run.code.emplace_back(text_of(file, "file"), text_of(file, "digest"));
  }
  return run;
}

namespace {

// The label of a sweep's point is made of the values that the sweep set.
void read_point(RunSummary& run, const std::string& folder) {
  const std::string path = folder + "/" + kPointFile;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return;
  config::Diagnostics diagnostics;
  const auto point = config::read_json(path, diagnostics);
  if (!point || !point->is_object() || !point->contains("settings") || !(*point)["settings"].is_object()) return;
  for (const auto& [name, value] : (*point)["settings"].items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const std::string last = name.substr(name.rfind('/') + 1);
    const bool is_descriptive = last.find_first_not_of("0123456789") != last.npos;
    run.settings.emplace_back(is_descriptive ? last : name, text);
    run.inputs.emplace_back(name, text);
  }
}

}  // namespace

std::optional<RunSummary> read_summary(const std::string& path, std::string* failure) {
  std::error_code ignored;
  const bool is_file = fs::path(path).filename() == "run.json";
  const std::string parent = fs::path(path).parent_path().string();
  const std::string folder = is_file ? (parent.empty() ? "." : parent) : path;
  nlohmann::json report;
  if (fs::is_regular_file(folder + "/run.json", ignored)) {
    auto json = read_run_json(folder + "/run.json", failure);
    if (!json) return std::nullopt;
    report = std::move(*json);
  } else {
    const auto run = read_run(path, failure, [](std::string_view) { return false; });
    if (!run) return std::nullopt;
    report = run->report;
  }
  if (!report.is_object() || !report.contains("outcome")) {
    *failure = path + " is not the report of a run: it has no \"outcome\"; name a folder of `verbatim run --out`, or a recording";
    return std::nullopt;
  }
  RunSummary run = summary_of(report);
  run.path = path;
  read_point(run, folder);
  return run;
}

}  // namespace verbatim::cli
