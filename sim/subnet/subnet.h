// What a subnet manager does before the first packet, as a pure function of the cabling: LIDs, GUIDs and
// GIDs, and the switches' forwarding tables, by one of OpenSM's routing engines (routing.h). minhop, the usual one: routes have
// the fewest hops; among equally short ones each switch takes the port with the fewest paths between adapters so far, then the
// lowest port number, which is what OpenSM's does but for what it counts (README). Everything follows from the names and port
// numbers, never from the order of the lists.
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
  std::uint32_t ports = 1;  // numbered from 1, at the most 254
  bool has_management = true;  // an adapter without is no subnet manager
  // The LID of a node with one; 0: the order of names gives it. Those that are given differ from each other.
  std::uint64_t guid = 0, port_guid = 0;
  std::uint16_t lid = 0;
};

struct Attachment {
  std::size_t node = 0;  // index into the nodes
  fabric::PortNumber port;
};

// Every port has at the most one cable, and a cable joins two different ports; the reader of topologies sees
// to it.
struct Cable {
  Attachment a, b;
};

struct PortPlan {
  ib::Lid lid;  // of a switch: the same on every port
  std::uint64_t guid = 0;
  ib::Gid gid;         // index 0: the link-local prefix fe80::/64 and the GUID
  ib::MacAddress mac;  // of an Ethernet port with the same place in the order of names: kMacBase and that place, from 1
};

struct NodePlan {
  std::uint64_t guid = 0;
  std::vector<PortPlan> ports;  // [0] is port 1; of a switch: [0] is port 0 and the only one
  std::vector<fabric::PortNumber> forwarding_table;  // switches: by LID, as fabric::Switch takes it
  // Switches: ports on the spanning tree that multicast packets flood, ascending; adapters are its leaves.
  std::vector<fabric::PortNumber> multicast_ports;
  // Switches, by LID or by MAC address minus kMacBase: every port that begins a shortest way to an adapter, of those that the
  // engine allows. Ethernet spreads flows over them, adaptive routing of InfiniBand packets. Null: nobody has asked for them.
  std::shared_ptr<const fabric::RouteTable> routes;
  // Switches: by port - 1, the lanes that the routing engine asks for; empty: those of the profile.
  std::vector<std::vector<fabric::LevelMapping>> lanes;
  // Switches: lanes of packets that come by `in` and leave by `out`, instead of those of the output.
  struct TurnLanes {
    fabric::PortNumber in, out;
    std::vector<fabric::LevelMapping> lanes;
  };
  std::vector<TurnLanes> turn_lanes;
};

// Service levels of paths, which the routing engine gives to the two switches that the adapters are at.
class ServiceLevels {
 public:
  // `switches`: by LID, which of the `count` switches it is at or of; others have level 0 to and from everywhere.
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

// Why an engine cannot route the fabric.
struct Refusal {
  Engine engine;
  std::string text;
};

struct Plan {
  std::vector<NodePlan> nodes;  // in the order of the nodes given
  ib::Lid subnet_manager;       // that of the first adapter port with management; 0: there is none
  // One sentence each on what cannot talk: adapter ports without a cable, parts without a connection.
  std::vector<std::string> findings;
  Engine engine = Engine::kMinhop;  // by which the tables are
  bool is_routed = true;            // false: no engine can, and there is no fallback
  std::vector<Refusal> refusals;    // of engines that were tried before
  std::shared_ptr<const ServiceLevels> levels;  // null: 0 for all paths
  std::uint32_t layers = 1;                     // lanes that the engine needs between switches
  // Cables followed and outputs compared for the routes: what the time of planning grows with.
  std::uint64_t steps = 0;
};

// Locally administered MAC addresses that spell "VB".
inline constexpr ib::MacAddress kMacBase{0x0256'4200'0000};

// Unicast LIDs are 1 … 0xbfff (IBA 4.1.3). Ports beyond them get LID 0 and a finding.
inline constexpr std::uint32_t kUnicastLids = 0xbfff;

// `all_ways` asks for NodePlan::routes, too, of engines for which has_groups(). `before`: a plan of the same nodes with other
// cables; minhop, updn, dnup and dor keep its entries where these are still good, as OpenSM does.
Plan plan(const std::vector<Node>& nodes, const std::vector<Cable>& cables, bool all_ways = false, const Routing& routing = {},
          const Plan* before = nullptr);

// Members by place in the list of adapters. Full members talk with all, limited ones with full ones.
struct Partition {
  std::uint16_t number = 0;  // 1 … 0x7fff
  std::vector<std::size_t> full, limited;
};

// The P_Key table of every adapter port (IBA 10.9). Everybody is a full member of the default partition,
// 0x7fff, unless it is among those given. It comes first, the others follow by number.
std::vector<std::vector<std::uint16_t>> pkey_tables(std::size_t adapters, std::vector<Partition> partitions);

// fe80:: and the modified EUI-64 of a MAC address (RFC 4291, appendix A).
ib::Gid link_local_gid(ib::MacAddress mac);
// fe80:: and the port GUID.
ib::Gid link_local_gid(std::uint64_t port_guid);

}  // namespace verbatim::subnet
