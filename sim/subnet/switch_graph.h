// The switches of a fabric, numbered by name, the cables between them, and the adapters at each: the input of
// routing engines.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/subnet/subnet.h"

namespace verbatim::subnet {

inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
inline constexpr std::uint32_t kUnreachable = std::numeric_limits<std::uint32_t>::max();

class SwitchGraph {
 public:
  // A cable from a switch to another, at a port of the former.
  struct Hop {
    fabric::PortNumber port;
    std::uint32_t to;  // number of the switch
  };
  struct Adapter {
    std::size_t lid;
    fabric::PortNumber port;  // of the switch
  };

  SwitchGraph(const std::vector<Node>& nodes, const std::vector<Cable>& cables);

  std::size_t size() const { return switches_.size(); }
  std::size_t node(std::size_t number) const { return switches_[number]; }
  std::size_t number(std::size_t node) const { return numbers_[node]; }  // kNowhere: an adapter
  std::uint32_t ports(std::size_t number) const { return static_cast<std::uint32_t>(neighbours_[switches_[number]].size()); }
  // The other end of a port's cable; its node is kNowhere if there is no cable.
  const Attachment& neighbour(std::size_t node, std::uint32_t port) const { return neighbours_[node][port - 1]; }
  const Attachment& neighbour(const Attachment& end) const { return neighbour(end.node, end.port.value); }
  // Number of the switch at the other end of a port's cable, which must exist; kNowhere: an adapter.
  std::size_t next_switch(std::size_t number, fabric::PortNumber port) const {
    return numbers_[neighbours_[switches_[number]][port.value - 1u].node];
  }

  // In ascending order of ports.
  std::span<const Hop> hops_of(std::size_t number) const {
    return {hops_.data() + first_hop_[number], first_hop_[number + 1] - first_hop_[number]};
  }

  // Adapters at a switch, in the order of ports. Empty until add_adapters().
  const std::vector<Adapter>& adapters(std::size_t number) const { return adapters_[number]; }
  bool is_leaf(std::size_t number) const { return !adapters_[number].empty(); }
  // Adds the adapters of all switches. `owners`: by LID, its port; LIDs of switches and LID 0 are skipped.
  void add_adapters(std::span<const Attachment> owners);

  // The switches that reach `root`, beginning with `root`, by ascending distance. Fills `distances`: hops
  // over switches only, since adapters do not forward. Adds the number of cables followed to `steps`.
  std::vector<std::size_t> switches_by_distance(std::size_t root, std::vector<std::uint32_t>& distances,
                                                std::uint64_t& steps) const;

 private:
  void join(const Attachment& from, const Attachment& to);

  std::vector<std::vector<Attachment>> neighbours_;  // by node, by port - 1
  std::vector<std::size_t> switches_;                // nodes; a switch's number is its index here, by name
  std::vector<std::size_t> numbers_;                 // by node
  std::vector<Hop> hops_;                            // of all switches, by number and port
  std::vector<std::size_t> first_hop_;               // by number, and the end
  std::vector<std::vector<Adapter>> adapters_;       // by number
};

// Rank of each switch, by number: hops to the nearest switch of `from`; kUnreachable: none is reachable.
std::vector<std::uint32_t> ranks_from(const SwitchGraph& graph, std::span<const std::size_t> from);
// Numbers of the switches with adapters, in ascending order.
std::vector<std::size_t> leaves_of(const SwitchGraph& graph);

}  // namespace verbatim::subnet
