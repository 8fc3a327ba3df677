#include "tools/verbatim/workload/workload.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/config/cabling.h"
#include "sim/config/graphs.h"
#include "sim/config/load.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/text_table.h"

namespace verbatim::cli {

namespace {

using config::Dimension;
using config::format_quantity;
using Json = Answer::Json;

std::string bytes_text(std::uint64_t bytes) { return format_quantity(static_cast<std::int64_t>(bytes), Dimension::kSize); }
std::string time_of(Duration time) { return time_text(Instant(time)); }

// Bytes at so many bits per second, rounded up to a picosecond.
Duration time_for(std::uint64_t bytes, std::uint64_t bits_per_second) {
  constexpr unsigned __int128 kScale = 8ull * 1'000'000'000'000;
  return Duration(static_cast<std::int64_t>((bytes * kScale + bits_per_second - 1) / bits_per_second));
}

// Payload of one workload, or of all.
struct Summary {
  std::string name;
  std::uint64_t flows = 0, endless = 0, messages = 0;  // flows of patterns; messages of graphs
  std::uint64_t bytes = 0, least = ~std::uint64_t{0}, most = 0;
  Duration first_start = Duration::max(), last_start{0};
  std::uint32_t load = 0;  // of one without end: of each host's link, in millionths
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> pairs;  // bytes by adapters

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
  explicit Fabric(const config::TopologySpec& topology) : topology_(topology), plan_(config::plan_of(topology)) {
    for (const config::LinkSpec& link : topology.links) {
      rates_[name(link.end_a)] = rates_[name(link.end_b)] = static_cast<std::uint64_t>(config::bits_per_second(link.rate));
    }
  }

  // By the routes that packets take, or on Ethernet one of them; the busiest first.
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
    if (!links.empty()) {
      const LoadedLink& most = links.front();
      answer.print("  ideal: %s, for the bytes of %s at %s\n", time_of(most.time()).c_str(), most.from.c_str(),
                 format_quantity(static_cast<std::int64_t>(most.bits_per_second), Dimension::kRate).c_str());
      row["ideal_ps"] = most.time().count();
      row["busiest"] = json_of(most);
    }
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
  table.row({"busiest links", "", "bytes", "ideal time"});
  for (std::size_t i = 0; i < std::min(links.size(), kMostLinks); ++i)
    table.row({links[i].from, links[i].to, bytes_text(links[i].bytes), time_of(links[i].time())});
  answer.print("\n%s", table.text().c_str());
  if (links.size() > kMostLinks) answer.print("  and %zu more; all with --json\n", links.size() - kMostLinks);
  if (scenario->topology.is_roce()) answer.print("  Where several ways are equally long, one is taken here; packets may take others.\n");
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
