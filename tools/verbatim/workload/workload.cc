#include "tools/verbatim/workload/workload.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/config/cabling.h"
#include "sim/config/graphs.h"
#include "sim/config/load.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/text_table.h"
#include "tools/verbatim/workload/bottleneck.h"

namespace verbatim::cli {

namespace {

using config::Dimension;
using config::format_quantity;
using Json = Answer::Json;

std::string bytes_text(std::uint64_t bytes) { return format_quantity(static_cast<std::int64_t>(bytes), Dimension::kSize); }
std::string time_of(Duration time) { return time_text(Instant(time)); }

// Payload of one workload, or of all.
struct Summary {
  std::string name;
  std::uint64_t flows = 0, endless = 0, messages = 0;  // flows of patterns; messages of graphs
  std::uint64_t bytes = 0, least = ~std::uint64_t{0}, most = 0;
  Duration first_start = Duration::max(), last_start{0};
  std::uint32_t load = 0;  // of one without end: of each host's link, in millionths
  BytesOfPairs pairs;

  void add(std::uint32_t from, std::uint32_t to, std::uint64_t size) {
    bytes += size;
    least = std::min(least, size);
    most = std::max(most, size);
    if (from != to) pairs[{from, to}] += size;
  }
  bool is_graph() const { return messages > 0; }
};

struct LoadedLink {
  std::string from, to;  // ends of a cable, in the direction of the bytes
  std::uint64_t bytes = 0, bits_per_second = 0;
  Duration time() const { return time_for(bytes, bits_per_second); }
};

class Fabric {
 public:
  explicit Fabric(const config::TopologySpec& topology)
      : topology_(topology), plan_(config::plan_of(topology)), cuts_(topology) {
    for (const config::LinkSpec& link : topology.links) {
      rates_[name(link.end_a)] = rates_[name(link.end_b)] = static_cast<std::uint64_t>(config::bits_per_second(link.rate));
    }
  }

  // Whether each pair of adapters has one route, which does not depend on the seed or on the load.
  bool has_fixed_routes() const { return !config::needs_all_paths(topology_); }

  // A lower bound, for any routes or for the fixed ones. `links`: loads() of the pairs, or none.
  std::optional<Bottleneck> bottleneck(const BytesOfPairs& pairs, const std::vector<LoadedLink>& links) const {
    std::optional<Bottleneck> slowest = cuts_.slowest(pairs);
    if (has_fixed_routes() && !links.empty() && (!slowest || links.front().time() >= slowest->time())) {
      const LoadedLink& most = links.front();
      return Bottleneck{.from = most.from, .to = most.to, .bytes = most.bytes, .bits_per_second = most.bits_per_second};
    }
    return slowest;
  }

  // By the routes that packets take, or by one of them if there are several; the busiest first.
  std::vector<LoadedLink> loads(const Summary& summary) const {
    std::map<std::pair<std::string, std::string>, std::uint64_t> bytes;
    for (const auto& [pair, size] : summary.pairs) {
      std::string out = topology_.adapters[pair.first].name + ":1";
      const std::vector<std::string> hops = config::route(topology_, plan_, pair.first, pair.second);
      for (std::size_t i = 0; i < hops.size(); i += 2) {
        bytes[{out, hops[i]}] += size;
        if (i + 1 < hops.size()) out = hops[i + 1];
      }
    }
    std::vector<LoadedLink> links;
    for (const auto& [ends, size] : bytes) links.push_back({ends.first, ends.second, size, rates_.at(ends.first)});
    std::ranges::stable_sort(links, std::ranges::greater(), &LoadedLink::time);
    return links;
  }

 private:
  std::string name(const config::Endpoint& end) const { return topology_.node_name(end) + ":" + std::to_string(end.port); }

  const config::TopologySpec& topology_;
  const subnet::Plan plan_;
  const FabricCuts cuts_;
  std::map<std::string, std::uint64_t> rates_;  // by end
};

std::vector<Summary> summaries_of(const config::ScenarioSpec& scenario) {
  std::vector<Summary> summaries;
  std::map<std::string, std::size_t> places;
  const auto of = [&](const std::string& name) -> Summary& {
    const auto [place, is_new] = places.emplace(name, summaries.size());
    if (is_new) summaries.emplace_back().name = name.empty() ? "flows" : name;
    return summaries[place->second];
  };
  for (const workload::FlowPlan& flow : scenario.traffic.flows) {
    Summary& summary = of(scenario.traffic.kinds[flow.kind].name);
    ++summary.flows;
    if (flow.trigger == workload::FlowPlan::kNone) {
      summary.first_start = std::min(summary.first_start, flow.start);
      summary.last_start = std::max(summary.last_start, flow.start);
    }
    if (flow.is_endless()) ++summary.endless;
    else summary.add(flow.from, flow.to, flow.bytes);
  }
  for (const workload::LoadPlan& load : scenario.traffic.loads) {
    Summary& summary = of(scenario.traffic.kinds[load.kind].name);
    summary.load = load.load;
    summary.first_start = summary.last_start = load.start;
  }
  for (const config::DrawnGraph& drawn : config::draw_graphs(scenario)) {
    Summary& summary = of(drawn.spec->name);
    summary.first_start = summary.last_start = drawn.spec->start;
    for (workload::OperationId id = 0; id < drawn.graph->size(); ++id) {
      const workload::Operation& one = (*drawn.graph)[id];
      if (one.kind != workload::Operation::Kind::kSend) continue;
      ++summary.messages;
      summary.add(drawn.adapters[one.rank], drawn.adapters[one.peer], one.amount);
    }
  }
  return summaries;
}

std::string sizes_text(const Summary& summary) {
  if (summary.least > summary.most) return "";
  if (summary.least == summary.most) return ", " + bytes_text(summary.most) + " each";
  return ", " + bytes_text(summary.least) + " to " + bytes_text(summary.most) + " each";
}

std::string line_of(const Summary& summary) {
  if (summary.load > 0) {
    const std::string percent = join(summary.load / 10'000, ".", std::to_string(10'000 + summary.load % 10'000).substr(1));
    return join(summary.name, ": random flows at ", percent, " % of each host's link, from ", time_of(summary.first_start), ", without end");
  }
  std::string line = summary.is_graph() ? join(summary.messages, summary.messages == 1 ? " message" : " messages")
                                        : join(summary.flows, summary.flows == 1 ? " flow" : " flows");
  if (summary.endless == summary.flows && summary.flows > 0) return summary.name + ": " + line + ", without end";
  line = summary.name + ": " + line + ", " + bytes_text(summary.bytes) + sizes_text(summary);
  if (summary.endless > 0) line += join(", ", summary.endless, " without end");
  if (summary.first_start == summary.last_start) return line + ", from " + time_of(summary.first_start);
  return line + ", starting from " + time_of(summary.first_start) + " to " + time_of(summary.last_start);
}

Json json_of(const LoadedLink& link) {
  return {{"from", link.from}, {"to", link.to}, {"bytes", link.bytes}, {"bits_per_second", link.bits_per_second},
          {"ideal_ps", link.time().count()}};
}

Json json_of(const Bottleneck& one) {
  Json json;
  if (one.cables == 1) json = {{"from", one.from}, {"to", one.to}};
  else json = {{"switches", one.switches}, {"direction", one.is_into ? "in" : "out"}};
  json["cables"] = one.cables;
  json["bytes"] = one.bytes;
  json["bits_per_second"] = one.bits_per_second;
  return json;
}

// "the bytes of leaf0:1 at 100 Gbps", "the bytes that leave pod0-leaf0 by 4 cables, 400 Gbps together"
std::string text_of(const Bottleneck& one) {
  const std::string rate = format_quantity(static_cast<std::int64_t>(one.bits_per_second), Dimension::kRate);
  if (one.cables == 1) return join("the bytes of ", one.from, " at ", rate);
  const std::string whose = one.switches.size() == 1
                                ? one.switches[0]
                                : join("the ", one.switches.size(), " switches ", one.switches.front(), " to ", one.switches.back());
  return join("the bytes that ", one.is_into ? "reach " : "leave ", whose, " by ", one.cables, " cables, ", rate, " together");
}

}  // namespace

int describe_workloads(const WorkloadOptions& options) {
  config::Diagnostics diagnostics;
  const auto scenario = config::load_scenario(options.file, {profile_folders(), nullptr, "workload"}, diagnostics);
  if (!scenario) {
    print(diagnostics);
    return kUsage;
  }
  Answer answer("workload", options.style);
  const std::vector<Summary> summaries = summaries_of(*scenario);
  if (summaries.empty()) {
    complain(options.file + ": there are no workloads and no flows; `verbatim describe` shows the topology");
    return kUsage;
  }
  constexpr std::size_t kMostPairs = 200'000, kMostLinks = 8;
  const Fabric fabric(scenario->topology);
  Json workloads = Json::array();
  Summary all;
  for (const Summary& summary : summaries) {
    answer.print("%s\n", line_of(summary).c_str());
    Json row = {{"name", summary.name}, {"flows", summary.flows}, {"endless", summary.endless}, {"messages", summary.messages},
                {"bytes", summary.bytes}};
    if (summary.load > 0) row["load_millionths"] = summary.load;
    for (const auto& [pair, bytes] : summary.pairs) all.pairs[pair] += bytes;
    const std::vector<LoadedLink> links = summary.pairs.size() > kMostPairs ? std::vector<LoadedLink>() : fabric.loads(summary);
    if (const std::optional<Bottleneck> slowest = fabric.bottleneck(summary.pairs, links)) {
      answer.print("  ideal: %s, for %s\n", time_of(slowest->time()).c_str(), text_of(*slowest).c_str());
      row["ideal_ps"] = slowest->time().count();
      row["bottleneck"] = json_of(*slowest);
    }
    if (!links.empty()) row["busiest"] = json_of(links.front());
    workloads.push_back(std::move(row));
  }
  answer.document()["workloads"] = std::move(workloads);
  if (all.pairs.size() > kMostPairs) {
    answer.print("links are not shown: more than %zu pairs of hosts\n", kMostPairs);
    return answer.end(kAsExpected);
  }
  const std::vector<LoadedLink> links = fabric.loads(all);
  Json rows = Json::array();
  for (const LoadedLink& link : links) rows.push_back(json_of(link));
  answer.document()["links"] = std::move(rows);
  if (links.empty()) return answer.end(kAsExpected);
  TextTable table(2);
  table.row({"busiest links", "", "bytes", "time"});
  for (std::size_t i = 0; i < std::min(links.size(), kMostLinks); ++i)
    table.row({links[i].from, links[i].to, bytes_text(links[i].bytes), time_of(links[i].time())});
  answer.print("\n%s", table.text().c_str());
  if (links.size() > kMostLinks) answer.print("  and %zu more; all with --json\n", links.size() - kMostLinks);
  if (!fabric.has_fixed_routes())
    answer.print("  Of paths of equal length this table takes one for each pair of hosts, and packets may take others; the ideal depends on no choice.\n");
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
