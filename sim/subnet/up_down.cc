#include "sim/subnet/up_down.h"

#include <algorithm>

namespace verbatim::subnet {

namespace {

// Makes ranks distinct, by number; unreachable switches are last.
std::vector<std::uint64_t> all_different(const std::vector<std::uint32_t>& ranks) {
  std::vector<std::uint64_t> different;
  for (std::size_t number = 0; number < ranks.size(); ++number)
    different.push_back(std::uint64_t{ranks[number]} * ranks.size() + number);
  return different;
}

}  // namespace

std::vector<std::size_t> find_roots(const SwitchGraph& graph) {
  std::size_t adapters = 0;
  for (std::size_t number = 0; number < graph.size(); ++number) adapters += graph.adapters(number).size();
  std::vector<std::size_t> roots, certain;
  std::vector<std::uint32_t> distances;
  std::uint64_t steps = 0;
  for (std::size_t number = 0; number < graph.size(); ++number) {
    std::vector<std::size_t> histogram;  // adapters by hops
    for (const std::size_t other : graph.switches_by_distance(number, distances, steps)) {
      if (histogram.size() <= distances[other]) histogram.resize(distances[other] + 1);
      histogram[distances[other]] += graph.adapters(other).size();
    }
    std::size_t high = 0, low = 0;
    for (const std::size_t count : histogram) {
      if (10 * count > 9 * adapters) ++high;
      if (20 * count > adapters) ++low;
    }
    if (high == 1 && low == 1) roots.push_back(number);
    if (std::ranges::find(histogram, adapters) != histogram.end()) certain.push_back(number);
  }
  return certain.empty() ? roots : certain;
}

std::vector<std::uint64_t> ranks_below(const SwitchGraph& graph, std::span<const std::size_t> roots) {
  return all_different(ranks_from(graph, roots));
}

std::vector<std::uint64_t> ranks_above_adapters(const SwitchGraph& graph) {
  std::vector<std::uint32_t> ranks = ranks_from(graph, leaves_of(graph));
  for (std::uint32_t& rank : ranks) {
    if (rank != kUnreachable) rank = kUnreachable - 1 - rank;
  }
  return all_different(ranks);
}

}  // namespace verbatim::subnet
