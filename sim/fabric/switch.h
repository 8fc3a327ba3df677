// A switch: looks up the output by destination LID and cuts through when the output is not faster than the
// input, else it waits for the whole packet, so that an output never runs dry. A packet stays in the input
// buffer it came in by until its last byte has left; each output serves its packets in the order in which
// they became ready, whatever their inputs (virtual output queues, no head of line blocking between outputs).
// Simultaneous arrivals are ordered by the component of the port they came in by.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/time.h"
#include "sim/core/trace.h"
#include "sim/fabric/load_balancing.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/port.h"
#include "sim/fabric/priority_map.h"
#include "sim/fabric/rerouting.h"
#include "sim/fabric/route_table.h"

namespace verbatim::fabric {

// Whether a byte takes less time in `a` than in `b`.
constexpr bool is_faster(ByteTime a, ByteTime b) {
  return static_cast<unsigned __int128>(a.ps_numerator) * b.denominator <
         static_cast<unsigned __int128>(b.ps_numerator) * a.denominator;
}

// Everything about a switch model that a device profile (JSON) may set.
struct SwitchProfile {
  std::string name;
  std::uint64_t core_clock_hz = 400'000'000;
  // Header in (store and forward: packet in) to first byte out on an idle output; whole cycles after the next
  // edge.
  std::uint32_t cut_through_cycles = 36;
  // An input looks up one packet per so many cycles.
  std::uint32_t lookup_interval_cycles = 1;
  std::uint32_t virtual_lanes = 1;           // data lanes of every port, 1 … 15
  std::uint32_t input_buffer_bytes = 65536;  // per port and lane
  std::uint32_t vl15_buffer_bytes = 0;       // per port; what does not fit is dropped; 0: everything fits
  std::uint32_t crossbar_speedup = 0;        // packets that leave one input at a time; 0: any number
  // How long a packet may be the first of an output's lane (IBA HOQLife); the second at ports with an adapter. 0: for
  // ever. And how many such drops in a row stall the lane (VLStallCount).
  Duration head_lifetime{0}, leaf_head_lifetime{0};
  std::uint32_t stall_count = 0;
  Duration lifetime{0};  // how long a packet may be in the switch (IBA SwitchLifeTime); 0: for ever
  // Limits of the device. A topology that exceeds them gets a warning and runs all the same.
  std::uint32_t ports_max = 0;          // 0: not known
  ByteTime link_byte_time_min{0, 1};    // of its fastest link; 0: not known
  SharedMemoryParams shared_memory;     // on links without credits
  MarkingProfile marking;               // of every output
  WatchdogProfile watchdog;             // of every output whose link has pauses
  ArbitrationTables arbitration;        // of every output
  std::vector<LevelMapping> sl_to_vl;   // likewise; on Ethernet, of priorities
  // On Ethernet: priorities of packets that come in.
  std::string trust = "dscp";  // or pcp
  std::vector<DscpMapping> dscp_to_priority;
  // On Ethernet: from a link's failure to when its port leaves the groups of equally good outputs, and from its repair to when
  // the port is in them again.
  Duration withdrawal_delay{10'000'000'000};
};

// Who answers for a switch, at its management port 0.
class SwitchAgent {
 public:
  // A packet for the switch itself, or one of subnet management whose route is written in it; it is there as a whole at `tail`.
  virtual void on_packet(PortNumber in, ib::PacketPtr packet, Instant tail) = 0;
  virtual void on_link(PortNumber port, bool up) = 0;

 protected:
  ~SwitchAgent() = default;
};

class Switch final : public PacketSink {
 public:
  // Port n is the component `port_ids[n - 1]`.
  Switch(Engine& engine, Tracer& tracer, ComponentId id, const SwitchProfile& profile,
         const std::vector<ComponentId>& port_ids);
  ~Switch() { check_claims(); }

  std::uint32_t port_count() const { return static_cast<std::uint32_t>(inputs_.size()); }
  // `number` from 1.
  Port& port(PortNumber number) { return *inputs_.at(number.value - 1u).port; }

  // Linear forwarding table: element n is the output for LID n, 0 the switch itself, kNoRoute none.
  static constexpr PortNumber kNoRoute = RouteTable::kNoRoute;
  // Neither route changes nor groups are left.
  void set_forwarding_table(const std::vector<PortNumber>& table) {
    routes_ = std::make_shared<const RouteTable>(table);
    groups_ = nullptr;
    rerouting_.set_changes({});
  }

  // Ports of the spanning tree on which packets to groups leave, and programs' frames to nobody that is known; all but the
  // one they came by. Whoever has joined which group is not looked at (no IGMP or MLD snooping).
  void set_multicast_ports(std::vector<PortNumber> ports) { multicast_ports_ = std::move(ports); }

  // On Ethernet: destination n is the adapter with the MAC address `base` + n. Of the ports that lead to it by ways of one length
  // a flow keeps to one, which its hash and `ecmp_salt` choose (flow_hash.h).
  void set_ethernet_routes(ib::MacAddress base, std::shared_ptr<const RouteTable> routes, std::uint64_t ecmp_salt = 0) {
    is_ethernet_ = true;
    mac_base_ = base;
    routes_ = std::move(routes);
    ecmp_salt_ = ecmp_salt;
  }

  // Routes that a routing protocol, or InfiniBand's subnet manager, brings about when links fail and come back; before
  // the first event.
  void set_route_changes(std::vector<RouteChange> changes) { rerouting_.set_changes(std::move(changes)); }
  // The table of now, if there are such changes; else null.
  const RouteTable* changing_routes() {
    if (!rerouting_.has_changes()) return nullptr;
    const RouteTable* const routes = rerouting_.routes(engine_.now());
    return routes == nullptr ? routes_.get() : routes;
  }

  // Chooses among equally good outputs: on Ethernet instead of the hash, on InfiniBand within groups. Before the first event.
  void set_load_balancing(const LoadBalancing& params, Rng random) { balancer_ = std::make_unique<LoadBalancer>(params, random); }

  // Lanes of packets that come by `in` and leave by `out`, in place of the table of the output.
  void set_lane_table(PortNumber in, PortNumber out, const std::vector<LevelMapping>& mappings);

  // Adaptive routing of InfiniBand: by LID, the ports among which the load balancer chooses for packets that may take any. Ports
  // whose link is down are left out at once. Without an entry, and with all links down, the forwarding table decides.
  void set_groups(std::shared_ptr<const RouteTable> groups) { groups_ = std::move(groups); }

  // Groups that the subnet manager has laid itself (IBA 18.2.4.3.3): by LID from 0xc000 on, the ports that a packet to it leaves
  // by. Once there is such a table, no others are flooded.
  void set_multicast_table(std::vector<std::vector<PortNumber>> table) { multicast_table_ = std::move(table); }

  // The memory in which packets wait that have come in.
  const PerPortBuffer& buffer() const { return buffer_; }

  // On Ethernet: the priority of a packet by this switch's own map, whatever priority the sender or another switch gave it.
  ib::ServiceLevel priority_of(ib::Packet& packet) const { return priorities_.of(packet); }

  // Gets what comes for the switch itself; set once. Without, such packets are dropped.
  void attach(SwitchAgent& agent) { agent_ = &agent; }
  // What the agent sends: by a port, or by the forwarding table. Without a way it is dropped.
  void send(PortNumber out, ib::PacketPtr packet);
  void send(ib::PacketPtr packet);

  void receive(PortNumber in, ib::PacketPtr packet, ArrivalTimes times) override;
  void prefetch(PortNumber in, ib::Packet& packet, int step) override;
  void link_changed(PortNumber port, bool up) override;

 private:
  struct Input {
    std::unique_ptr<Port> port;
    std::int64_t next_lookup_edge = 0;  // of the core clock
  };

  // kManagementLane for a packet of another: none.
  ib::VirtualLane lane_at(PortNumber in, const Port& out, const ib::Packet& packet) const;
  // When a packet whose lookup is at an edge may start on an output.
  Instant ready_at(const Port& in, const Port& out, std::int64_t lookup, ArrivalTimes times,
                   ib::Packet& packet, std::uint32_t wire_bytes) const;
  void replicate(PortNumber in, ib::PacketPtr packet, std::uint32_t wire_bytes, std::int64_t lookup,
                 ArrivalTimes times);
  const std::vector<PortNumber>& group_ports(const ib::Packet& packet);
  RouteTable::Entry route_of(const ib::Packet& packet) const { return routes_->entry(destination_of(packet)); }
  // In the route table.
  std::uint64_t destination_of(const ib::Packet& packet) const {
    return packet.ethernet ? packet.ethernet->destination.value - mac_base_.value : packet.lrh.destination.value;
  }
  // The one of several outputs that the hash of the packet's flow chooses; the packet has it.
  PortNumber output_among(std::span<const PortNumber> ports, const ib::Packet& packet) const;
  // Sets the priority of a packet, and the lane on which it counts as having come in.
  void classify(const Port& in, ib::Packet& packet) const;
  // By the load balancer.
  PortNumber balanced_output(ib::Packet& packet);
  PortNumber balanced_output(std::span<const PortNumber> ports, const ib::Packet& packet);
  PortNumber adaptive_output(const ib::Packet& packet);
  // By the forwarding table, as the last sweep has left it.
  PortNumber fixed_output(const ib::Packet& packet);
  // In debug builds: when no packet waits for an output, none claims space.
  void check_claims();
  bool is_for_agent(ib::Packet& packet);
  // 0: this switch itself, kNoRoute: none.
  PortNumber output_for(ib::Packet& packet);
  // The same on InfiniBand when the subnet manager may have swept.
  // Ports that have left their groups, or have returned; a packet asks after a change of a link.
  void record_withdrawals();
  PortNumber swept_output_for(const ib::Packet& packet);
  void drop(Port& in, const ib::Packet& packet, std::uint32_t wire_bytes, Instant tail, DropReason reason);

  Engine& engine_;
  Tracer& tracer_;
  const ComponentId id_;
  const SwitchProfile profile_;
  const PriorityMap priorities_;
  const bool has_priorities_;  // there is more than one lane to choose from
  const ClockDomain clock_;
  // By LID, or by MAC address from mac_base_ on.
  std::shared_ptr<const RouteTable> routes_ = std::make_shared<const RouteTable>();
  std::shared_ptr<const RouteTable> groups_;  // of adaptive routing; null: none
  ib::MacAddress mac_base_;
  std::uint64_t ecmp_salt_ = 0;
  bool is_ethernet_ = false;
  Rerouting rerouting_;
  std::vector<std::optional<LaneTable>> turn_lanes_;  // by input and output, of ports from 0 on; empty: outputs' tables decide
  std::unique_ptr<LoadBalancer> balancer_;  // null: hashes of flows choose
  std::vector<PortNumber> multicast_ports_;
  std::optional<std::vector<std::vector<PortNumber>>> multicast_table_;
  SwitchAgent* agent_ = nullptr;
  PerPortBuffer buffer_;
  std::vector<Input> inputs_;
};

}  // namespace verbatim::fabric
