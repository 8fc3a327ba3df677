// A checked topology as the subnet sees it: nodes, cables, and the plan of LIDs and routes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/spec.h"
#include "sim/fabric/switch.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

// The cable in a port. The topology outlives it and stays as it is.
class CableIndex {
 public:
  explicit CableIndex(const TopologySpec& topology);

  // Null: there is no cable in it, or no such port.
  const LinkSpec* at(const Endpoint& end) const {
    const std::size_t node = end.is_switch ? topology_.adapters.size() + end.node : end.node;
    if (end.port == 0 || end.port > first_[node + 1] - first_[node]) return nullptr;
    const std::uint32_t link = links_[first_[node] + end.port - 1];
    return link == kNone ? nullptr : &topology_.links[link];
  }
  std::optional<Endpoint> far_end(const Endpoint& end) const {
    const LinkSpec* const link = at(end);
    if (link == nullptr) return std::nullopt;
    return link->end_a == end ? link->end_b : link->end_a;
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  const TopologySpec& topology_;
  std::vector<std::size_t> first_;    // by node, adapters before switches: place of its port 1; and the end
  std::vector<std::uint32_t> links_;  // by place
};

// Adapters first, then switches, in the order of the spec.
std::vector<subnet::Node> nodes_of(const TopologySpec& topology);
std::vector<subnet::Cable> cables_of(const TopologySpec& topology);
// The topology's routing, with the data lanes that all cables between switches have.
subnet::Routing routing_of(const TopologySpec& topology);
// Whether switches need every port that begins a shortest way: on Ethernet, and for adaptive routing.
inline bool takes_all_ways(const TopologySpec& topology) { return topology.is_roce() || topology.load_balancing.is_by_packet(); }
inline subnet::Plan plan_of(const TopologySpec& topology) {
  return subnet::plan(nodes_of(topology), cables_of(topology), takes_all_ways(topology), routing_of(topology));
}
// Whether the adapter keeps packets behind a gap when switches give each its own path, until gap_time has passed.
inline bool puts_into_order(const TopologySpec& topology, const AdapterSpec& adapter) {
  return topology.load_balancing.is_by_packet() && topology.hca_profile(adapter).loss_recovery.gap_time > Duration(0);
}
// Ports among which adaptive routing of InfiniBand chooses at a switch (index into TopologySpec::switches), to adapters that put
// packets into order; null: there are none.
std::shared_ptr<const fabric::RouteTable> groups_of(const TopologySpec& topology, const subnet::Plan& plan, std::size_t index);

// By index, as programs see them: on InfiniBand the link-local one; on Ethernet that of the MAC address, then
// those of its interface's IPv4 and IPv6 addresses.
std::vector<ib::Gid> gids_of(const TopologySpec& topology, const subnet::Plan& plan, std::size_t adapter);

// By adapter.
std::vector<std::vector<std::uint16_t>> pkey_tables_of(const TopologySpec& topology);

// The ends by which a packet from one adapter to another leaves: the adapter's port, then an output of each switch. Empty when no
// route leads there. On Ethernet other flows may take paths of the same length: one of them. `cables` are the topology's.
std::vector<Endpoint> outputs_of(const TopologySpec& topology, const CableIndex& cables, const subnet::Plan& plan,
                                 std::size_t from, std::size_t to);

// The hops of a packet from one adapter to another: "leaf0:1", "leaf0:2" (in, out), … up to the port of `to`.
// Empty when no route leads there. On Ethernet other flows may take ways of the same length: one of them.
std::vector<std::string> route(const TopologySpec& topology, const subnet::Plan& plan, std::size_t from,
                               std::size_t to);

}  // namespace verbatim::config
