// Forwarding tables of shortest ways, for the engines that choose among them: minhop, updn, dnup, dor, lash and dfsssp.
//
// Destinations are treated switch by switch: those with many adapters first, else neighbours of neighbours, from the first switch
// by name on. So destinations at one switch, and at switches near to it, get routes one after the other, and different ones.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

struct ShortestOptions {
  // How a switch chooses among the ports that begin a shortest way to a destination.
  enum class Choice {
    kLeastLoaded,     // the one with the fewest paths between adapters so far
    kFirstDimension,  // the same among the cables to the switch behind the lowest port
    kOneForSwitch,    // the same next switch for all adapters of a switch; its cables are shared out
    kCheapest,        // the one whose whole way has the fewest paths of others, added up
  };
  Choice choice = Choice::kLeastLoaded;
  // By number of the switch, all different: a packet that has gone to a greater rank never goes to a lesser one again. Empty: it
  // may go anywhere.
  std::vector<std::uint64_t> ranks;
  bool all_ways = false;          // NodePlan::routes, too
  const Plan* before = nullptr;   // of the same addresses: entries that still begin a shortest way stay
};

// Two switches with adapters between which cables, but no way that the ranks allow, lead; by number.
using Unreached = std::optional<std::pair<std::size_t, std::size_t>>;

// Writes the tables of `plan`, whose addresses are given and fewer than `lids`, and counts its steps.
Unreached lay_shortest_routes(const SwitchGraph& graph, std::size_t lids, const ShortestOptions& options, Plan& plan);

}  // namespace verbatim::subnet
