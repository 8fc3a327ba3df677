// Forwarding tables of shortest paths, for the engines that choose among them: minhop, updn, dnup, dor, lash
// and dfsssp.
//
// Destinations are processed switch by switch: those with many adapters first, otherwise neighbours of
// neighbours, from the first switch by name. Destinations at the same switch or at near ones are processed
// consecutively, and therefore get different routes.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

struct ShortestOptions {
  // How a switch chooses among the ports that begin a shortest path to a destination.
  enum class Choice {
    kLeastLoaded,     // the one with the fewest paths between adapters so far
    kFirstDimension,  // the same, among the cables to the switch that the lowest port leads to
    kOneForSwitch,    // one next switch for all adapters of a switch; its cables share them
    kCheapest,        // the first port of the path with the fewest other paths in sum
  };
  Choice choice = Choice::kLeastLoaded;
  // By switch number, all different: a packet that has passed to a greater rank never passes to a lesser one
  // again. Empty: no restriction.
  std::vector<std::uint64_t> ranks;
  bool all_paths = false;          // also computes NodePlan::routes
  // Plan of the same addresses, whose entries are kept if they still begin a shortest path.
  const Plan* before = nullptr;
};

// Two switches with adapters that are connected by cables, but not by a path that the ranks permit; by
// number.
using Unreached = std::optional<std::pair<std::size_t, std::size_t>>;

// Writes the tables of `plan`, whose LIDs are assigned and less than `lids`, and adds to its steps.
Unreached compute_shortest_routes(const SwitchGraph& graph, std::size_t lids, const ShortestOptions& options, Plan& plan);

}  // namespace verbatim::subnet
