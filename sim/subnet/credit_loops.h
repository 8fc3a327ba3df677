// Credit loops. A packet keeps its place in a switch's input buffer until the output that it leaves by has credits of the
// next switch's buffer. Where such waits can form a circle, a loaded fabric can stop for ever. Dally and Seitz (IEEE
// Transactions on Computers, 1987): routes are free of deadlock if and only if the graph has no cycle whose vertices are the
// outputs (per virtual lane) and whose edges join two outputs that some route uses in sequence.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/subnet/subnet.h"

namespace verbatim::subnet {

// An output of a switch, and a virtual lane of it.
struct Channel {
  std::size_t node = 0;  // index into the nodes
  fabric::PortNumber port;
  std::uint8_t lane = 0;
  friend auto operator<=>(const Channel&, const Channel&) = default;
};

// Outputs in the order in which a packet takes them. A packet that is stuck is a route of two: the output that it came by,
// and the output that it waits for.
using Route = std::vector<Channel>;

// The outputs of a shortest cycle, each once, in the order of the packets' way; empty: there is none. It begins with its least
// output, and of several shortest cycles the one with the least beginning is found.
Route find_credit_loop(const std::vector<Route>& routes);

inline constexpr std::uint8_t kNoLane = 15;  // packets of the level are dropped
// Lane by which packets of a service level, 0 … 15, that have come by a port of a node leave by another. `in` is 0 for packets of
// adapters, and for all where paths have no levels of their own: such lanes do not depend on it.
using LaneOf = std::function<std::uint8_t(std::size_t node, fabric::PortNumber in, fabric::PortNumber port, std::uint8_t level)>;

// The same for all packets between adapters, by the plan's tables; on Ethernet, with NodePlan::routes, for all ways that a flow
// may take. Packets have any level, or, with Plan::levels, that of their path. Least is by the nodes' names, ports and lanes.
// Packets to switches themselves need no credits. Without `lane_of` there is one lane. `with_groups`: also packets of level 0
// that flood the plan's tree.
Route find_credit_loop(const std::vector<Node>& nodes, const std::vector<Cable>& cables, const Plan& plan,
                       const LaneOf& lane_of = {}, bool with_groups = false);

// "s0:2 -> s1:2 -> s2:2 -> s0:2"; lanes are named when they are not all 0: "s0:2 VL 1 -> …"; with a name for lanes always.
std::string credit_loop_text(const std::vector<Node>& nodes, const Route& loop, std::string_view lane_name = {});

}  // namespace verbatim::subnet
