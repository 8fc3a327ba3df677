#include "tools/verbatim/overview_lanes.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "tools/verbatim/page_block.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;
using Operation = RunOverview::Operation;

// Adds up how much of each bin the time spans cover; overlapping spans count once.
class CoveredBins {
 public:
  CoveredBins(std::int64_t from, std::int64_t to, std::size_t bins)
      : from_(from), span_(std::max<std::int64_t>(1, to - from)), bins_(bins) {}

  // Percentage of each bin; at least 1 if any of it is covered.
  std::vector<std::uint64_t> of(std::vector<std::pair<std::int64_t, std::int64_t>>& times) const {
    std::ranges::sort(times);
    std::vector<std::int64_t> covered(bins_);
    std::int64_t until = from_;
    for (const auto& [begin, end] : times) {
      add(covered, std::max(begin, until), end);
      until = std::max(until, end);
    }
    std::vector<std::uint64_t> shares;
    for (std::size_t k = 0; k < bins_; ++k) {
      const std::int64_t room = std::max<std::int64_t>(1, edge(k + 1) - edge(k));
      const auto share = static_cast<std::uint64_t>(static_cast<__int128>(covered[k]) * 100 / room);
      shares.push_back(covered[k] == 0 ? 0 : std::clamp<std::uint64_t>(share, 1, 100));
    }
    return shares;
  }

 private:
  std::int64_t edge(std::size_t bin) const {
    return from_ + static_cast<std::int64_t>(static_cast<__int128>(span_) * static_cast<std::int64_t>(bin) /
                                             static_cast<std::int64_t>(bins_));
  }
  std::size_t bin_of(std::int64_t time) const {
    const auto bin = static_cast<__int128>(time - from_) * static_cast<std::int64_t>(bins_) / span_;
    return static_cast<std::size_t>(std::clamp<__int128>(bin, 0, static_cast<std::int64_t>(bins_) - 1));
  }
  void add(std::vector<std::int64_t>& covered, std::int64_t begin, std::int64_t end) const {
    if (end <= begin) return;
    for (std::size_t k = bin_of(begin); k < bins_ && edge(k) < end; ++k)
      covered[k] += std::max<std::int64_t>(0, std::min(end, edge(k + 1)) - std::max(begin, edge(k)));
  }

  std::int64_t from_, span_;
  std::size_t bins_;
};

struct Placed {
  std::uint32_t lane = 0, peer = 0;  // peer: a host
  std::int64_t from_ps = 0, to_ps = 0;
  std::uint64_t bytes = 0;
  Operation::Kind kind = Operation::Kind::kSend;
};

}  // namespace

PageBlocks lanes_blocks(const RunOverview& overview) {
  std::map<std::uint32_t, std::uint32_t> lanes;  // by host
  std::int64_t from = INT64_MAX, to = 0;
  std::size_t count = 0;
  for (const RunOverview::Graph& graph : overview.graphs) {
    for (const Operation& one : graph.operations) {
      lanes.emplace(graph.hosts[one.rank], 0);
      from = std::min(from, one.from_ps);
      to = std::max(to, one.to_ps < 0 ? overview.end_ps : one.to_ps);
      ++count;
    }
  }
  if (lanes.empty()) return {nullptr, ""};
  to = std::max(to, from + 1);
  Json hosts = Json::array();
  for (auto& [host, lane] : lanes) {
    lane = static_cast<std::uint32_t>(hosts.size());
    hosts.push_back(host);
  }
  std::vector<Placed> placed;
  placed.reserve(count);
  std::uint32_t every = 1;
  for (const RunOverview::Graph& graph : overview.graphs) {
    every = std::max(every, graph.every);
    for (const Operation& one : graph.operations) {
      placed.push_back({lanes.at(graph.hosts[one.rank]), graph.hosts[one.peer], one.from_ps,
                        one.to_ps < 0 ? std::max(overview.end_ps, one.from_ps) : one.to_ps, one.bytes,
                        one.kind});
    }
  }
  std::ranges::stable_sort(placed, {}, [](const Placed& one) { return std::pair(one.lane, one.from_ps); });

  constexpr std::size_t kBins = 256, kManyLanes = 2048;
  const std::size_t bins = lanes.size() > kManyLanes ? kBins / 2 : kBins;
  const CoveredBins covered(from, to, bins);
  PageBlock shares(3), operations(6);
  for (std::size_t i = 0, lane = 0; lane < lanes.size(); ++lane) {
    std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, 3> times;  // computing, sending, receiving
    for (; i < placed.size() && placed[i].lane == lane; ++i) {
      const std::size_t kind = placed[i].kind == Operation::Kind::kCompute ? 0
                               : placed[i].kind == Operation::Kind::kSend  ? 1
                                                                           : 2;
      times[kind].emplace_back(placed[i].from_ps, placed[i].to_ps);
    }
    for (std::size_t kind = 0; kind < times.size(); ++kind) {
      for (const std::uint64_t share : covered.of(times[kind])) shares.put(kind, share);
    }
  }
  const bool has_operations = placed.size() <= kMostPageOperations;
  std::uint32_t lane = 0;
  std::int64_t before = 0;
  for (const Placed& one : placed) {
    if (!has_operations) break;
    if (std::exchange(lane, one.lane) != one.lane) before = 0;
    operations.put(0, one.lane);
    operations.put(1, static_cast<std::uint64_t>(one.kind));
    operations.put(2, one.peer);
    operations.put(3, one.bytes);
    operations.put_signed(4, one.from_ps - std::exchange(before, one.from_ps));
    operations.put(5, static_cast<std::uint64_t>(one.to_ps - one.from_ps));
  }
  return {
      {{"from", from},
       {"to", to},
       {"bins", bins},
       {"lanes", std::move(hosts)},
       {"every", every},
       {"operations", has_operations ? placed.size() : 0},
       {"all_operations", placed.size()}},
      block_element("lanes", 0, shares) + (has_operations ? block_element("operations", 0, operations) : "")};
}

}  // namespace verbatim::cli
