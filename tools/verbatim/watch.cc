#include "tools/verbatim/watch.h"

#include <set>

#include "sim/config/name_patterns.h"
#include "sim/config/quantity.h"
#include "sim/config/simulation.h"
#include "sim/config/words.h"

namespace verbatim::cli {

namespace {

// "leaf0" for "port/leaf0:3", "server" for "hca/server".
std::string_view node_of(std::string_view component) {
  const std::size_t slash = component.find('/');
  if (slash == component.npos) return "";
  std::string_view node = component.substr(slash + 1);
  if (component.starts_with("port/")) node = node.substr(0, node.rfind(':'));
  return node;
}

// Hosts with their adapters, and switches, that match the patterns.
std::set<std::string, std::less<>> find_nodes(const std::vector<std::string>& patterns, const config::TopologySpec& topology,
                                              config::Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const config::HostSpec& host : topology.hosts) known.push_back(host.name);
  for (const config::SwitchSpec& one : topology.switches) known.push_back(one.name);
  std::set<std::string, std::less<>> found;
  for (const std::string& pattern : patterns) {
    std::string problem;
    for (const std::string& name : config::expand_ranges(pattern, &problem)) {
      bool is_there = false;
      for (const std::string& node : known) {
        if (!config::matches_stars(name, node)) continue;
        found.insert(node);
        is_there = true;
      }
      if (!is_there) {
        problem = "the topology has no host or switch " + config::in_quotes(name);
        break;
      }
    }
    if (problem.empty()) continue;
    const std::string near = config::nearest(pattern, known);
    diagnostics.add("--watch", "", problem,
                    near.empty() ? "name hosts and switches, such as \"" + known.front() + "\", \"*\" or \"h[0-63]\""
                                 : "did you mean \"" + near + "\"?");
  }
  for (const config::AdapterSpec& adapter : topology.adapters) {
    if (found.contains(topology.hosts[adapter.host].name)) found.insert(adapter.name);
  }
  return found;
}

void parse_times(const std::string& text, observe::WatchSet& watch, config::Diagnostics& diagnostics) {
  const std::size_t dots = text.find("..");
  std::string problem, hint;
  const auto time = [&](const std::string& word, std::int64_t otherwise) {
    if (word.empty()) return otherwise;
    return config::parse_quantity(word, config::Dimension::kDuration, &problem, &hint).value_or(otherwise);
  };
  if (dots == text.npos) {
    problem = "is not of the form FROM..TO";
  } else {
    watch.from_ps = time(text.substr(0, dots), watch.from_ps);
    watch.until_ps = time(text.substr(dots + 2), watch.until_ps);
    if (problem.empty() && watch.until_ps < watch.from_ps) problem = "ends before it begins";
  }
  if (problem.empty()) return;
  diagnostics.add("--watch-time", "", config::in_quotes(text) + " " + problem,
                  hint.empty() ? "write it like \"10ms..10.5ms\", \"10ms..\" or \"..1ms\"" : hint);
}

}  // namespace

observe::WatchSet parse_watch(const RunOptions& options, const config::TopologySpec& topology, config::Diagnostics& diagnostics) {
  observe::WatchSet watch;
  const bool has_file = !options.trace.empty() || !options.pcap.empty() || !options.record.empty() || options.keep_trace ||
                        !options.explain_latency.empty();
  for (const auto& [name, is_given] : {std::pair("--watch", !options.watch.empty()), std::pair("--watch-time", !options.watch_time.empty())}) {
    if (is_given && !has_file)
      diagnostics.add(name, "", "needs a file that shows the run", "add --trace, --pcap, --record, --explain-latency or --keep-trace");
  }
  if (!options.watch_time.empty()) parse_times(options.watch_time, watch, diagnostics);
  if (options.watch.empty() || topology.hosts.empty()) return watch;
  const auto nodes = find_nodes(options.watch, topology, diagnostics);
  const ComponentTable components(config::Simulation::component_names(topology));
  for (std::uint32_t i = 0; i < components.size(); ++i)
    watch.components.push_back(nodes.contains(node_of(components.name(ComponentId{i}))));
  return watch;
}

std::vector<std::string> watch_words(const RunOptions& options) {
  std::vector<std::string> words;
  for (const std::string& pattern : options.watch) words.insert(words.end(), {"--watch", pattern});
  if (!options.watch_time.empty()) words.insert(words.end(), {"--watch-time", options.watch_time});
  return words;
}

}  // namespace verbatim::cli
