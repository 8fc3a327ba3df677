// Credit loops. A packet occupies a switch's input buffer until its output has credits of the next switch's
// buffer. If these waits can form a cycle, a loaded fabric can stop for ever. Dally and Seitz (IEEE
// Transactions on Computers, 1987): routes are deadlock-free if and only if the following graph has no cycle:
// its vertices are the outputs (per virtual lane), and an edge joins two outputs that some route uses in
// sequence.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/subnet/subnet.h"

namespace verbatim::subnet {

// A virtual lane of a switch's output.
struct Channel {
  std::size_t node = 0;  // index into the nodes
  fabric::PortNumber port;
  std::uint8_t lane = 0;
  friend auto operator<=>(const Channel&, const Channel&) = default;
};

// Outputs in the order in which a packet uses them. For a blocked packet these are two: the output that sent
// it to the switch, and the output that it waits for.
using Route = std::vector<Channel>;

// The outputs of a shortest cycle, each once, in the direction of the packets; empty: no cycle. It begins
// with its least output; of several shortest cycles, the one with the least beginning is returned.
Route find_credit_loop(const std::vector<Route>& routes);

inline constexpr std::uint8_t kNoLane = 15;  // packets of the level are dropped
// Lane of packets of service level `level`, 0 … 15, that enter the switch `node` by port `in` and leave it by
// `port`. `in` is 0 for packets that arrive from an adapter, and for all packets if paths have no individual
// levels, as the lane then does not depend on it.
using LaneOf = std::function<std::uint8_t(std::size_t node, fabric::PortNumber in, fabric::PortNumber port, std::uint8_t level)>;

// The same for all packets between adapters with the plan's tables; on Ethernet, with NodePlan::routes, for
// all paths that a flow may use. Packets have any level or, with Plan::levels, the level of their path. The
// least output is determined by node name, port and lane. Packets to switches need no credits. Without
// `lane_of` there is one lane. `with_groups`: includes packets of level 0 that flood the plan's tree.
Route find_credit_loop(const std::vector<Node>& nodes, const std::vector<Cable>& cables, const Plan& plan,
                       const LaneOf& lane_of = {}, bool with_groups = false);

// "s0:2 -> s1:2 -> s2:2 -> s0:2"; lanes are included if they are not all 0: "s0:2 VL 1 -> …"; with a
// `lane_name`, always.
std::string credit_loop_text(const std::vector<Node>& nodes, const Route& loop, std::string_view lane_name = {});

}  // namespace verbatim::subnet
