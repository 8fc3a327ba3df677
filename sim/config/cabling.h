// The subnet's view of a checked topology: nodes, cables, and the plan of LIDs and routes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/spec.h"
#include "sim/fabric/switch.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

// Finds the cable at a port. The topology must outlive the index and must not change.
class CableIndex {
 public:
  explicit CableIndex(const TopologySpec& topology);

  // Null if the port has no cable or does not exist.
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
  std::vector<std::size_t> first_;    // by node, adapters first: index of its port 1 in links_; then the end
  std::vector<std::uint32_t> links_;  // by port
};

// Adapters first, then switches, in the order of the spec.
std::vector<subnet::Node> nodes_of(const TopologySpec& topology);
std::vector<subnet::Cable> cables_of(const TopologySpec& topology);
// The topology's routing settings, with the number of data lanes that all cables between switches have.
subnet::Routing routing_of(const TopologySpec& topology);
// Whether switches need all ports on shortest paths: on Ethernet, and for adaptive routing.
inline bool needs_all_paths(const TopologySpec& topology) { return topology.is_roce() || topology.load_balancing.is_by_packet(); }
inline subnet::Plan plan_of(const TopologySpec& topology) {
  return subnet::plan(nodes_of(topology), cables_of(topology), needs_all_paths(topology), routing_of(topology));
}
// Whether the adapter keeps packets after a gap in the sequence, for at most gap_time, because switches
// choose a path for each packet.
inline bool puts_into_order(const TopologySpec& topology, const AdapterSpec& adapter) {
  return topology.load_balancing.is_by_packet() && topology.hca_profile(adapter).loss_recovery.gap_time > Duration(0);
}
// The groups of ports among which a switch (index into TopologySpec::switches) routes adaptively on
// InfiniBand, for destinations that put packets into order; null if there are none.
std::shared_ptr<const fabric::RouteTable> groups_of(const TopologySpec& topology, const subnet::Plan& plan, std::size_t index);

// GIDs by index, as programs see them. InfiniBand: the link-local GID. Ethernet: the GID of the MAC address,
// then those of the interface's IPv4 and IPv6 addresses.
std::vector<ib::Gid> gids_of(const TopologySpec& topology, const subnet::Plan& plan, std::size_t adapter);

// By adapter.
std::vector<std::vector<std::uint16_t>> pkey_tables_of(const TopologySpec& topology);

// The outputs on the route between two adapters: the sender's port, then one output of each switch. Empty if
// there is no route. With several equal paths (Ethernet) this is one of them. `cables` must be the
// topology's.
std::vector<Endpoint> outputs_of(const TopologySpec& topology, const CableIndex& cables, const subnet::Plan& plan,
                                 std::size_t from, std::size_t to);

// The hops between two adapters: "leaf0:1", "leaf0:2" (in, out), … up to the port of `to`. Empty if there is
// no route. With several equal paths (Ethernet) this is one of them.
std::vector<std::string> route(const TopologySpec& topology, const subnet::Plan& plan, std::size_t from,
                               std::size_t to);

}  // namespace verbatim::config
