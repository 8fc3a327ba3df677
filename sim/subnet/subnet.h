// Decisions of a subnet manager before the first packet, as a pure function of the cabling: LIDs, GUIDs and
// GIDs, and the switches' forwarding tables by one of OpenSM's routing engines (routing.h). The default is
// minhop: routes have the fewest hops; among equally short ones each switch takes the port with the fewest
// paths between adapters so far, then the lowest port number. It differs from OpenSM's in the paths that it
// counts (ROUTING.md). Results depend on names and port numbers, not on the order of the lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/fabric/lane_table.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/route_table.h"
#include "sim/ib/packet.h"
#include "sim/subnet/routing.h"

namespace verbatim::subnet {

enum class NodeKind { kAdapter, kSwitch };

struct Node {
  std::string name;  // unique; "server/mlx5_0", "leaf0"
  NodeKind kind = NodeKind::kAdapter;
  std::uint32_t ports = 1;  // numbered from 1, at most 254
  bool has_management = true;  // false: an adapter that cannot be subnet manager
  // Given addresses; 0: assigned by the order of names. Given LIDs must differ.
  std::uint64_t guid = 0, port_guid = 0;
  std::uint16_t lid = 0;
};

struct Attachment {
  std::size_t node = 0;  // index into the nodes
  fabric::PortNumber port;
};

// A port has at most one cable, and a cable joins two different ports; the reader of topologies ensures it.
struct Cable {
  Attachment a, b;
};

struct PortPlan {
  ib::Lid lid;  // for a switch: the same on every port
  std::uint64_t guid = 0;
  ib::Gid gid;         // index 0: the link-local prefix fe80::/64 and the GUID
  ib::MacAddress mac;  // Ethernet: kMacBase plus the adapter's position in the order of names, from 1
};

struct NodePlan {
  std::uint64_t guid = 0;
  std::vector<PortPlan> ports;  // [0] is port 1; for a switch: [0] is port 0 and the only one
  std::vector<fabric::PortNumber> forwarding_table;  // switches: by LID, in fabric::Switch's format
  // Switches: ports of the spanning tree that multicast packets flood, ascending; adapters are its leaves.
  std::vector<fabric::PortNumber> multicast_ports;
  // Switches, by LID or by MAC address minus kMacBase: all ports that begin a shortest path to an adapter,
  // among those that the engine permits. For ECMP on Ethernet and adaptive routing on InfiniBand. Null: not
  // requested.
  std::shared_ptr<const fabric::RouteTable> routes;
  // Switches: by port - 1, the SL-to-VL mapping that the routing engine needs; empty: that of the profile.
  std::vector<std::vector<fabric::LevelMapping>> lanes;
  // Switches: mapping for packets that arrive by `in` and leave by `out`, in place of the output's.
  struct TurnLanes {
    fabric::PortNumber in, out;
    std::vector<fabric::LevelMapping> lanes;
  };
  std::vector<TurnLanes> turn_lanes;
};

// Service levels of paths, which the routing engine assigns to pairs of switches with adapters.
class ServiceLevels {
 public:
  // `switches`: by LID, the number (less than `count`) of the LID's switch: an adapter's is the one to which
  // it is attached; LIDs with another value have level 0.
  ServiceLevels(std::vector<std::uint32_t> switches, std::size_t count)
      : switches_(std::move(switches)), count_(count), levels_(count * count, 0) {}

  void set(std::size_t from, std::size_t to, std::uint8_t level) { levels_.at(from * count_ + to) = level; }
  std::uint8_t of(ib::Lid from, ib::Lid to) const {
    if (from.value >= switches_.size() || to.value >= switches_.size()) return 0;
    const std::size_t a = switches_[from.value], b = switches_[to.value];
    return a < count_ && b < count_ ? levels_[a * count_ + b] : std::uint8_t{0};
  }

 private:
  std::vector<std::uint32_t> switches_;
  std::size_t count_;
  std::vector<std::uint8_t> levels_;  // 0 … 15
};

// Reason why an engine cannot route the fabric.
struct Refusal {
  Engine engine;
  std::string text;
};

struct Plan {
  std::vector<NodePlan> nodes;  // in the order of the nodes given
  ib::Lid subnet_manager;       // LID of the first adapter port with management; 0: none
  // One sentence for each connectivity problem: adapter ports without a cable, unconnected parts.
  std::vector<std::string> findings;
  Engine engine = Engine::kMinhop;  // engine that computed the tables
  bool is_routed = true;            // false: no engine can route it, and there is no fallback
  std::vector<Refusal> refusals;    // by engines tried before
  std::shared_ptr<const ServiceLevels> levels;  // null: level 0 for all paths
  std::uint32_t layers = 1;                     // lanes that the engine needs between switches
  // Cables followed and outputs compared: a measure of the planning time.
  std::uint64_t steps = 0;
};

// Locally administered MAC addresses that spell "VB".
inline constexpr ib::MacAddress kMacBase{0x0256'4200'0000};

// Unicast LIDs are 1 … 0xbfff (IBA 4.1.3). Further ports get LID 0 and a finding.
inline constexpr std::uint32_t kUnicastLids = 0xbfff;

// `all_paths`: also computes NodePlan::routes, for engines with has_groups(). `before`: a plan of the same
// nodes with other cables; minhop, updn, dnup and dor keep its entries that are still valid, as OpenSM does.
Plan plan(const std::vector<Node>& nodes, const std::vector<Cable>& cables, bool all_paths = false, const Routing& routing = {},
          const Plan* before = nullptr);

// Members by index in the list of adapters. Full members communicate with all members, limited members with
// full members.
struct Partition {
  std::uint16_t number = 0;  // 1 … 0x7fff
  std::vector<std::size_t> full, limited;
};

// The P_Key table of every adapter port (IBA 10.9). All adapters are full members of the default partition,
// 0x7fff, unless `partitions` contains it. It comes first, the others follow by number.
std::vector<std::vector<std::uint16_t>> pkey_tables(std::size_t adapters, std::vector<Partition> partitions);

// fe80:: and the modified EUI-64 of a MAC address (RFC 4291, appendix A).
ib::Gid link_local_gid(ib::MacAddress mac);
// fe80:: and the port GUID.
ib::Gid link_local_gid(std::uint64_t port_guid);

}  // namespace verbatim::subnet
