// Checks of workloads that involve several values.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include "sim/config/graphs.h"
#include "sim/config/load.h"
#include "sim/config/name_patterns.h"
#include "sim/config/profile_files.h"
#include "sim/workload/flow_files.h"
#include "sim/workload/size_distribution.h"

namespace verbatim::config {

namespace {

constexpr std::int64_t kNotGiven = WorkloadSpec::kNotGiven;
constexpr std::int64_t kMostFlows = 20'000'000;  // of a scenario

// A percentage with at most four decimals, as millionths.
std::optional<std::uint32_t> millionths_of(std::string_view text) {
  const std::size_t point = text.find('.');
  std::string digits(text.substr(0, point));
  std::string decimals = point == std::string_view::npos ? "" : std::string(text.substr(point + 1));
  while (decimals.size() > 4 && decimals.back() == '0') decimals.pop_back();
  if (digits.empty() || digits.size() > 3 || decimals.size() > 4) return std::nullopt;
  decimals.resize(4, '0');
  digits += decimals;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > workload::SizeDistribution::kOne)
    return std::nullopt;
  return value;
}

class WorkloadResolver {
 public:
  WorkloadResolver(ScenarioSpec& scenario, const LoadOptions& options, Diagnostics& diagnostics)
      : scenario_(scenario), topology_(scenario.topology), options_(options), diagnostics_(diagnostics) {}

  void run() {
    std::set<std::string> names;
    for (WorkloadSpec& spec : scenario_.workloads) {
      if (spec.name.empty()) spec.name = spec.file.empty() ? spec.pattern : name_of_file(spec.file);
      if (!spec.name.empty() && !names.insert(spec.name).second) {
        add(spec.pointer + "/name", "there are two workloads " + in_quotes(spec.name),
            "give each a \"name\" of its own: random numbers follow from it");
      }
      resolve(spec);
    }
  }

 private:
  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(scenario_.file, pointer, std::move(text), std::move(hint));
  }

  void resolve(WorkloadSpec& spec) {
    const auto is_of_it = [&](const Finding& finding) {
      return finding.file == scenario_.file && finding.pointer.starts_with(spec.pointer + "/");
    };
    // Further errors could follow from those already found.
    if (std::ranges::any_of(diagnostics_.findings(), is_of_it)) return;
    if (spec.pattern.empty() == spec.file.empty()) {
      return add(spec.pointer, "a workload has a pattern or a file",
                 "give \"pattern\": \"all-reduce\", or \"file\": \"x.goal\"");
    }
    const std::size_t before = diagnostics_.findings().size();
    find_members(spec);
    if (!spec.matrix.empty() && spec.pattern == "all-to-all" && diagnostics_.findings().size() == before) read_matrix(spec);
    if (!spec.file.empty() && read_flow_file(spec)) return resolve_flow_file(spec, before);
    if (spec.is_graph()) return resolve_graph(scenario_, spec, options_, diagnostics_);
    check_keys(spec);
    check_traffic_keys(scenario_, "workload", spec.pointer, spec.start, spec.traffic_class,
                       spec.acknowledgement_traffic_class, diagnostics_);
    if (diagnostics_.findings().size() != before) return;
    spec.distribution = sizes_of(spec);
    if (spec.load != kNotGiven) find_rates(spec);
    if (diagnostics_.findings().size() != before) return;
    check_message_size(scenario_, spec.members, spec.pointer, spec.message_size, diagnostics_);
    count_flows(spec);
    spec.is_resolved = diagnostics_.findings().size() == before && flows_ <= kMostFlows;
  }

  void read_matrix(WorkloadSpec& spec) {
    const std::string path = beside(scenario_.file, spec.matrix);
    const auto text = load_text(path, options_, diagnostics_);
    auto matrix = text ? read_byte_matrix(*text, path, spec.members.size(), diagnostics_) : std::nullopt;
    if (matrix) spec.bytes_by_pair = std::make_shared<const ByteMatrix>(std::move(*matrix));
  }

  // Returns whether the file has flows, with or without findings.
  bool read_flow_file(WorkloadSpec& spec) {
    Diagnostics of_file;  // a missing file is reported when it is read as a graph
    const std::string path = beside(scenario_.file, spec.file);
    const auto text = load_text(path, options_, of_file);
    const auto format = text ? workload::flow_format_of(*text) : std::nullopt;
    if (!format) return false;
    std::vector<workload::LineFinding> findings;
    auto flows = *format == workload::FlowFormat::kConnectionMatrix ? workload::read_connection_matrix(*text, findings)
                                                                    : workload::read_flow_list(*text, findings);
    for (workload::LineFinding& finding : findings)
      diagnostics_.add(path, "line " + std::to_string(finding.line), std::move(finding.text), std::move(finding.hint));
    if (flows) spec.flow_file = std::make_shared<const workload::FlowFile>(std::move(*flows));
    return true;
  }

  void resolve_flow_file(WorkloadSpec& spec, std::size_t before) {
    if (diagnostics_.findings().size() != before) return;
    std::vector<const char*> keys = graph_keys(spec);
    if (spec.size != kNotGiven) keys.push_back("size");
    if (!spec.matrix.empty()) keys.push_back("matrix");
    for (const char* const key : flow_pattern_keys(spec)) keys.push_back(key);
    for (const char* const key : keys) {
      add(join_pointer(spec.pointer, key), in_quotes(key) + " does not apply to a file of flows",
          "leave it out; it belongs to patterns");
    }
    const workload::FlowFile& file = *spec.flow_file;
    const std::string path = beside(scenario_.file, spec.file);
    const auto greatest = [&] {
      std::uint32_t most = 0;
      for (const workload::FlowPlan& flow : file.flows) most = std::max({most, flow.from, flow.to});
      return most;
    }();
    if (greatest >= spec.members.size()) {
      add(spec.pointer + "/file",
          "flows of " + path + " name node " + std::to_string(greatest) + ", and the workload has " +
              std::to_string(spec.members.size()) + " hosts",
          "use a larger topology, or name more with \"hosts\": node 0 is the first");
    }
    if (file.has_priorities) {
      diagnostics_.warn({scenario_.file, spec.pointer + "/file",
                         "\"prio\" of connections in " + path + " is left out of account",
                         "it orders packets at receivers of protocols that are not simulated here"});
    }
    check_traffic_keys(scenario_, "workload", spec.pointer, spec.start, spec.traffic_class,
                       spec.acknowledgement_traffic_class, diagnostics_);
    check_message_size(scenario_, spec.members, spec.pointer, spec.message_size, diagnostics_);
    if (diagnostics_.findings().size() != before) return;
    cut_failed_links(spec, path);
    flows_ += static_cast<double>(file.flows.size());
    spec.is_resolved = diagnostics_.findings().size() == before;
  }

  // Makes faults of the scenario of the file's failed links. Switches with hosts are tier 1, their neighbours
  // tier 2, and so on, each in the topology's order. Uplinks of a switch are numbered from 0 in the order of
  // its ports.
  void cut_failed_links(const WorkloadSpec& spec, const std::string& path) {
    if (spec.flow_file->failures.empty()) return;
    constexpr std::uint32_t kFar = ~0u;
    std::vector<std::uint32_t> tiers(topology_.switches.size(), kFar);
    for (std::uint32_t tier = 0; tier < 3; ++tier) {
      for (const LinkSpec& link : topology_.links) {
        for (const auto& [end, other] : {std::pair(&link.end_a, &link.end_b), std::pair(&link.end_b, &link.end_a)}) {
          if (!end->is_switch || tiers[end->node] != kFar) continue;
          if (tier == 0 ? !other->is_switch : other->is_switch && tiers[other->node] == tier - 1) tiers[end->node] = tier;
        }
      }
    }
    for (const workload::FlowFile::Failure& failure : spec.flow_file->failures) {
      const auto refuse = [&](const std::string& what) {
        diagnostics_.add(path, "line " + std::to_string(failure.line), what,
                         "count switches of a tier, and a switch's links upwards, from 0");
      };
      std::uint32_t left = failure.number;
      const auto found = std::ranges::find_if(
          tiers, [&](std::uint32_t tier) { return tier == static_cast<std::uint32_t>(failure.tier) && left-- == 0; });
      if (found == tiers.end()) {
        refuse("the topology has no such switch");
        continue;
      }
      const auto node = static_cast<std::size_t>(found - tiers.begin());
      std::vector<std::uint32_t> up;  // ports
      for (const LinkSpec& link : topology_.links) {
        for (const auto& [end, other] : {std::pair(&link.end_a, &link.end_b), std::pair(&link.end_b, &link.end_a)}) {
          if (end->is_switch && end->node == node && other->is_switch && tiers[other->node] == *found + 1)
            up.push_back(end->port);
        }
      }
      std::ranges::sort(up);
      if (failure.link >= up.size()) {
        refuse(in_quotes(topology_.switches[node].name) + " has " + std::to_string(up.size()) + " links upwards");
        continue;
      }
      FaultSpec& fault = scenario_.faults.emplace_back();
      fault.action = "link_down";
      fault.link = topology_.switches[node].name + ":" + std::to_string(up[failure.link]);
      fault.pointer = spec.pointer + "/file";
    }
  }

  void find_members(WorkloadSpec& spec) {
    const std::vector<std::string> all = {"*"};
    spec.members = find_adapters(topology_, spec.hosts.empty() ? all : spec.hosts, scenario_.file, spec.pointer + "/hosts",
                                 diagnostics_);
    for (const std::uint32_t adapter :
         find_adapters(topology_, spec.to, scenario_.file, spec.pointer + "/to", diagnostics_)) {
      const auto place = std::ranges::find(spec.members, adapter);
      spec.targets.push_back(static_cast<std::uint32_t>(place - spec.members.begin()));
      if (place == spec.members.end()) spec.members.push_back(adapter);
    }
    if (spec.members.size() < 2) add(spec.pointer + "/hosts", "the workload has fewer than two hosts", "name more");
  }

  // "x" of "folder/x.goal", if it is a valid name.
  static std::string name_of_file(const std::string& file) {
    const std::size_t slash = file.rfind('/');
    std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
    name = name.substr(0, name.rfind('.'));
    if (constexpr std::string_view kOfRank = ".{rank}"; name.ends_with(kOfRank)) name.resize(name.size() - kOfRank.size());
    const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
    return !name.empty() && std::ranges::all_of(name, is_plain) ? name : "file";
  }

  bool is_random(const WorkloadSpec& spec) const { return spec.pattern == "random" || spec.pattern == "hot-spot"; }

  void check_keys(const WorkloadSpec& spec) {
    const auto only_of = [&](const char* key, bool is_given, bool fits, const char* patterns) {
      if (is_given && !fits)
        add(join_pointer(spec.pointer, key), in_quotes(key) + " does not apply to the pattern " + in_quotes(spec.pattern),
            std::string("leave it out; it belongs to ") + patterns);
    };
    const bool random = is_random(spec), incast = spec.pattern == "incast", hot = spec.pattern == "hot-spot";
    for (const char* const key : graph_keys(spec)) only_of(key, true, false, "collectives and patterns of training");
    only_of("matrix", !spec.matrix.empty(), spec.pattern == "all-to-all", "all-to-all");
    only_of("to", !spec.to.empty(), incast || hot, "incast and hot-spot");
    only_of("senders", spec.senders != kNotGiven, incast, "incast");
    only_of("distance", spec.distance != 1, spec.pattern == "shift", "shift");
    only_of("share", spec.share != kNotGiven, hot, "hot-spot");
    only_of("load", spec.load != kNotGiven, random, "random and hot-spot");
    only_of("duration", spec.duration != Duration(kNotGiven), random, "random and hot-spot");
    only_of("flows", spec.flows != kNotGiven, random, "random and hot-spot");
    only_of("in_flight", spec.in_flight != 1, random, "random and hot-spot");
    if (spec.size != kNotGiven && !spec.sizes.empty())
      add(spec.pointer + "/sizes", "there is a \"size\", too", "give one of them");
    if (!spec.matrix.empty() && (spec.size != kNotGiven || !spec.sizes.empty()))
      add(spec.pointer + "/matrix", "there is a size, too", "give one of them");
    const bool is_endless = spec.size == kNotGiven && spec.sizes.empty() && spec.matrix.empty();
    if (random && is_endless)
      add(spec.pointer, "flows of a random workload need a size", "give \"size\", or \"sizes\" such as \"websearch\"");
    if ((spec.on != Duration(0) || spec.off != Duration(0)) && !is_endless)
      add(spec.pointer + (spec.on != Duration(0) ? "/on" : "/off"), "only flows without end rest",
          "leave out \"on\" and \"off\", or \"size\"");
    if ((spec.on == Duration(0)) != (spec.off == Duration(0)))
      add(spec.pointer + (spec.on == Duration(0) ? "/off" : "/on"), "\"on\" and \"off\" belong together", "give both");
    if (incast && (spec.targets.size() != 1 || spec.to.size() != 1))
      add(spec.pointer + "/to", "an incast has one receiver", "name it with \"to\": [\"h0\"]");
    if (hot && spec.to.empty()) add(spec.pointer + "/to", "a hot-spot has hot hosts", "name them with \"to\": [\"h0\"]");
    if (hot && spec.share == kNotGiven)
      add(spec.pointer + "/share", "a hot-spot has a share of flows", "give one, such as 0.2");
    if (spec.senders != kNotGiven && spec.members.size() >= 2 && spec.senders >= std::ssize(spec.members))
      add(spec.pointer + "/senders",
          std::to_string(spec.senders) + " hosts besides the receiver are asked for, and there are " +
              std::to_string(spec.members.size() - 1),
          "ask for fewer, or name more with \"hosts\"");
    if (spec.pattern == "shift" && !spec.members.empty() && spec.distance % std::ssize(spec.members) == 0)
      add(spec.pointer + "/distance", "each of " + std::to_string(spec.members.size()) + " hosts would send to itself",
          "give another");
    if (!random) return;
    if ((spec.load == kNotGiven) == (spec.flows == kNotGiven))
      add(spec.pointer, "a random workload has a load or a number of flows", "give \"load\", or \"flows\"");
    if (spec.load != kNotGiven && spec.load < kFractionParts / workload::SizeDistribution::kOne)
      add(spec.pointer + "/load", "the load is below one millionth", "ask for more");
    if (spec.load == kNotGiven && spec.duration != Duration(kNotGiven) && spec.flows == kNotGiven)
      add(spec.pointer + "/duration", "\"duration\" is that of flows that arrive at a load", "give \"load\": 0.5");
    if (spec.flows != kNotGiven && spec.duration != Duration(kNotGiven))
      add(spec.pointer + "/duration", "a number of flows is given, too", "leave one of them out");
  }

  // nullopt if all flows have one size.
  std::optional<workload::SizeDistribution> sizes_of(const WorkloadSpec& spec) {
    if (spec.sizes.empty()) return std::nullopt;
    if (const auto* const known = workload::find_size_distribution(spec.sizes)) return *known;
    const std::string pointer = spec.pointer + "/sizes", path = beside(scenario_.file, spec.sizes);
    if (spec.sizes.find_first_of("./") == std::string::npos && !is_there(path, options_)) {
      std::vector<std::string> names(workload::size_distribution_names().begin(), workload::size_distribution_names().end());
      const std::string near = nearest(spec.sizes, names);
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      add(pointer, "there is no distribution " + in_quotes(spec.sizes),
          near.empty() ? "known are " + list + ", and files" : "did you mean \"" + near + "\"?");
      return std::nullopt;
    }
    const auto text = load_text(path, options_, diagnostics_);
    if (!text) return std::nullopt;
    return read_distribution(*text, path);
  }

  std::optional<workload::SizeDistribution> read_distribution(const std::string& text, const std::string& path) {
    std::vector<workload::SizeDistribution::Point> points;
    std::size_t number = 0;
    const auto refuse = [&](const std::string& what) {
      diagnostics_.add(path, "line " + std::to_string(number), what,
                       "lines have bytes and the percentage of flows that are not larger, both ascending, "
                       "from 0 % to 100 %");
      return std::nullopt;
    };
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = std::string_view(text).substr(at, end - at);
      at = end + 1;
      ++number;
      line = line.substr(0, line.find('#'));
      constexpr std::string_view kBlanks = " \t\r";
      const std::size_t first = line.find_first_not_of(kBlanks);
      if (first == std::string_view::npos) continue;
      line = line.substr(first, line.find_last_not_of(kBlanks) + 1 - first);
      const std::size_t blank = line.find_first_of(kBlanks);
      workload::SizeDistribution::Point point;
      const std::string_view bytes = line.substr(0, blank);
      const auto [stop, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), point.bytes);
      if (error != std::errc() || stop != bytes.data() + bytes.size() || point.bytes > 1ull << 50)
        return refuse(in_quotes(bytes) + " is no number of bytes");
      const std::string_view share =
          blank == std::string_view::npos ? "" : line.substr(line.find_first_not_of(kBlanks, blank));
      const auto cumulative = millionths_of(share);
      if (!cumulative) return refuse(in_quotes(share) + " is no percentage with four decimals at most");
      point.cumulative = *cumulative;
      if (!points.empty() && (point.bytes < points.back().bytes || point.cumulative < points.back().cumulative))
        return refuse("the line is below the one before it");
      if (!points.empty() && point == points.back()) continue;
      points.push_back(point);
    }
    if (points.size() < 2 || points.front().cumulative != 0 || points.back().cumulative != workload::SizeDistribution::kOne)
      return refuse("the distribution does not reach from 0 % to 100 %");
    return workload::SizeDistribution(std::move(points));
  }

  // Rate of each member's link, in bits per second.
  void find_rates(WorkloadSpec& spec) {
    const std::vector<std::uint64_t> rates = cable_rates(topology_);
    for (const std::uint32_t adapter : spec.members) {
      if (rates[adapter] == 0) {
        add(spec.pointer + "/load", "the adapter of " + in_quotes(topology_.adapters[adapter].name) + " has no cable",
            "leave the host out");
        return;
      }
      spec.rates.push_back(rates[adapter]);
    }
  }

  void count_flows(const WorkloadSpec& spec) {
    const auto members = static_cast<double>(spec.members.size());
    double flows = members;
    if (spec.pattern == "all-to-all") flows = members * (members - 1);
    if (spec.flows != kNotGiven) flows = members * static_cast<double>(spec.flows);
    // A load without a duration generates flows while the run lasts.
    if (spec.load != kNotGiven && spec.duration == Duration(kNotGiven)) flows = 0;
    if (spec.load != kNotGiven && spec.duration != Duration(kNotGiven)) {
      double bits = 0;
      for (const std::uint64_t rate : spec.rates) bits += static_cast<double>(rate);
      const double bytes =
          spec.distribution ? static_cast<double>(spec.distribution->mean()) : static_cast<double>(spec.size);
      flows = bits / 8 * static_cast<double>(spec.duration.count()) / kSecondPs * static_cast<double>(spec.load) /
              kFractionParts / bytes;
    }
    flows_ += flows;
    if (flows_ > kMostFlows && flows_ - flows <= kMostFlows)
      add(spec.pointer, "the scenario would have more than " + std::to_string(kMostFlows) + " flows", "ask for fewer");
  }

  ScenarioSpec& scenario_;
  const TopologySpec& topology_;
  const LoadOptions& options_;
  Diagnostics& diagnostics_;
  double flows_ = 0;  // estimated number so far
};

}  // namespace

void resolve_workloads(ScenarioSpec& scenario, const LoadOptions& options, Diagnostics& diagnostics) {
  WorkloadResolver(scenario, options, diagnostics).run();
}

}  // namespace verbatim::config
