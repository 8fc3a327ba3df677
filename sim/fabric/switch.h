// A switch: looks up the output by destination LID. It cuts through if the output is not faster than the
// input; otherwise it waits for the whole packet, so that the output does not run dry. A packet stays in
// its input buffer until its last byte has left. Each output serves its packets in the order in which they
// became ready, across all inputs (virtual output queues, no head-of-line blocking between outputs).
// Simultaneous arrivals are ordered by the component of their ingress port.
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

// Whether a link with byte time `a` is faster than one with `b`.
constexpr bool is_faster(ByteTime a, ByteTime b) {
  return static_cast<unsigned __int128>(a.ps_numerator) * b.denominator <
         static_cast<unsigned __int128>(b.ps_numerator) * a.denominator;
}

// Settings of a switch model in a device profile (JSON).
struct SwitchProfile {
  std::string name;
  std::uint64_t core_clock_hz = 400'000'000;
  // From the header (store and forward: the whole packet) to the first byte out on an idle output, in whole
  // cycles after the next edge.
  std::uint32_t cut_through_cycles = 36;
  // An input looks up one packet per this many cycles.
  std::uint32_t lookup_interval_cycles = 1;
  std::uint32_t virtual_lanes = 1;           // data lanes of every port, 1 … 15
  std::uint32_t input_buffer_bytes = 65536;  // per port and lane
  std::uint32_t vl15_buffer_bytes = 0;       // per port; packets that do not fit are dropped; 0: unlimited
  std::uint32_t crossbar_speedup = 0;        // packets that leave one input at a time; 0: any number
  // Maximum time of a packet as the first of an output's lane (IBA HOQLife), and the same at ports with an
  // adapter; 0: unlimited. `stall_count`: drops in a row that stall the lane (VLStallCount).
  Duration head_lifetime{0}, leaf_head_lifetime{0};
  std::uint32_t stall_count = 0;
  Duration lifetime{0};  // maximum time in the switch (IBA SwitchLifeTime); 0: unlimited
  // Limits of the device. A topology that exceeds them causes a warning and runs nevertheless.
  std::uint32_t ports_max = 0;          // 0: not known
  ByteTime link_byte_time_min{0, 1};    // of its fastest link; 0: not known
  SharedMemoryParams shared_memory;     // for links without credits
  MarkingProfile marking;               // of every output
  WatchdogProfile watchdog;             // of every output whose link has pauses
  ArbitrationTables arbitration;        // of every output
  std::vector<LevelMapping> sl_to_vl;   // of every output; on Ethernet, of priorities
  // On Ethernet: classification of arriving packets.
  std::string trust = "dscp";  // or pcp
  std::vector<DscpMapping> dscp_to_priority;
  // On Ethernet: time from a link's failure to its port's leaving the groups of equally good outputs, and
  // from its repair to the port's return.
  Duration withdrawal_delay{10'000'000'000};
};

// Management agent of a switch, at its port 0.
class SwitchAgent {
 public:
  // A packet for the switch itself, or a directed-route SMP; it has arrived completely at `tail`.
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
  // Discards route changes and groups.
  void set_forwarding_table(const std::vector<PortNumber>& table) {
    routes_ = std::make_shared<const RouteTable>(table);
    groups_ = nullptr;
    rerouting_.set_changes({});
  }

  // Spanning tree: the ports to which multicast packets, and raw Ethernet frames to unknown MAC addresses,
  // are flooded, except the ingress port. Group membership is not considered (no IGMP or MLD snooping).
  void set_multicast_ports(std::vector<PortNumber> ports) { multicast_ports_ = std::move(ports); }

  // On Ethernet: destination n of `routes` is the adapter with the MAC address `base` + n. Of several ports
  // with equally short paths a flow uses one, chosen by its hash and `ecmp_salt` (flow_hash.h).
  void set_ethernet_routes(ib::MacAddress base, std::shared_ptr<const RouteTable> routes, std::uint64_t ecmp_salt = 0) {
    is_ethernet_ = true;
    mac_base_ = base;
    routes_ = std::move(routes);
    ecmp_salt_ = ecmp_salt;
  }

  // Route changes that a routing protocol or InfiniBand's subnet manager makes after links fail and are
  // repaired. Call before the first event.
  void set_route_changes(std::vector<RouteChange> changes) { rerouting_.set_changes(std::move(changes)); }
  // The table at the current time, if set_route_changes() set any change; otherwise null.
  const RouteTable* changing_routes() {
    if (!rerouting_.has_changes()) return nullptr;
    const RouteTable* const routes = rerouting_.routes(engine_.now());
    return routes == nullptr ? routes_.get() : routes;
  }

  // Installs a load balancer that chooses among equally good outputs: on Ethernet instead of the hash, on
  // InfiniBand within groups. Call before the first event.
  void set_load_balancing(const LoadBalancing& params, Rng random) { balancer_ = std::make_unique<LoadBalancer>(params, random); }

  // SL-to-VL table for packets that arrive by `in` and leave by `out`, in place of the output's table.
  void set_lane_table(PortNumber in, PortNumber out, const std::vector<LevelMapping>& mappings);

  // InfiniBand adaptive routing: by LID, the ports among which the load balancer chooses for packets that
  // may take any. Ports whose link is down are left out immediately. Without an entry, or with all links
  // down, the forwarding table decides.
  void set_groups(std::shared_ptr<const RouteTable> groups) { groups_ = std::move(groups); }

  // Multicast forwarding table written by the subnet manager (IBA 18.2.4.3.3): by LID from 0xc000 on, the
  // ports by which a packet leaves. Once there is a table, unlisted groups are not flooded.
  void set_multicast_table(std::vector<std::vector<PortNumber>> table) { multicast_table_ = std::move(table); }

  // Memory for arriving packets.
  const PerPortBuffer& buffer() const { return buffer_; }

  // On Ethernet: priority of a packet by this switch's own map, regardless of the sender's or another
  // switch's classification.
  ib::ServiceLevel priority_of(ib::Packet& packet) const { return priorities_.of(packet); }

  // The agent receives packets for the switch itself; set once. Without an agent they are dropped.
  void attach(SwitchAgent& agent) { agent_ = &agent; }
  // Sends a packet of the agent: by a given port, or by the forwarding table. A packet without a route is
  // dropped.
  void send(PortNumber out, ib::PacketPtr packet);
  void send(ib::PacketPtr packet);

  void receive(PortNumber in, ib::PacketPtr packet, ArrivalTimes times) override;
  void prefetch(PortNumber in, ib::Packet& packet, int step) override;
  void link_changed(PortNumber port, bool up) override;

 private:
  struct Input {
    std::unique_ptr<Port> port;
    std::int64_t next_lookup_edge = 0;  // edge of the core clock
  };

  // Lane on which a packet leaves. kManagementLane for a packet that arrived on a data lane: no lane, it is
  // dropped.
  ib::VirtualLane lane_at(PortNumber in, const Port& out, const ib::Packet& packet) const;
  // When a packet that is looked up at an edge may start on an output.
  Instant ready_at(const Port& in, const Port& out, std::int64_t lookup, ArrivalTimes times,
                   ib::Packet& packet, std::uint32_t wire_bytes) const;
  void replicate(PortNumber in, ib::PacketPtr packet, std::uint32_t wire_bytes, std::int64_t lookup,
                 ArrivalTimes times);
  const std::vector<PortNumber>& group_ports(const ib::Packet& packet);
  RouteTable::Entry route_of(const ib::Packet& packet) const { return routes_->entry(destination_of(packet)); }
  // Index in the route table.
  std::uint64_t destination_of(const ib::Packet& packet) const {
    return packet.ethernet ? packet.ethernet->destination.value - mac_base_.value : packet.lrh.destination.value;
  }
  // The one of `ports` that the hash of the packet's flow chooses; flow_hash must be set.
  PortNumber output_among(std::span<const PortNumber> ports, const ib::Packet& packet) const;
  // On Ethernet: sets the packet's priority and, on a link without credits, the lane on which its input
  // buffer space is counted.
  void classify(const Port& in, ib::Packet& packet) const;
  // The output that the load balancer chooses.
  PortNumber balanced_output(ib::Packet& packet);
  PortNumber balanced_output(std::span<const PortNumber> ports, const ib::Packet& packet);
  PortNumber adaptive_output(const ib::Packet& packet);
  // The output of the forwarding table, as of the last sweep.
  PortNumber fixed_output(const ib::Packet& packet);
  // In debug builds: if no packet waits for an output, no space is claimed.
  void check_claims();
  bool is_for_agent(ib::Packet& packet);
  // 0: this switch itself, kNoRoute: none.
  PortNumber output_for(ib::Packet& packet);
  // Records ports that have left their groups or returned; called for the first packet after a link change.
  void record_withdrawals();
  // output_for() on InfiniBand if the subnet manager may have swept.
  PortNumber swept_output_for(const ib::Packet& packet);
  void drop(Port& in, const ib::Packet& packet, std::uint32_t wire_bytes, Instant tail, DropReason reason);

  // Ordered by use: a packet needs the members up to the beginning of profile_.
  Engine& engine_;
  Tracer& tracer_;
  const ComponentId id_;
  const bool has_priorities_;  // there is more than one data lane
  bool is_ethernet_ = false;
  SwitchAgent* agent_ = nullptr;
  std::unique_ptr<LoadBalancer> balancer_;  // null: hashes of flows choose
  std::vector<Input> inputs_;
  // By LID, or by MAC address from mac_base_ on.
  std::shared_ptr<const RouteTable> routes_ = std::make_shared<const RouteTable>();
  ib::MacAddress mac_base_;
  std::uint64_t ecmp_salt_ = 0;
  const ClockDomain clock_;
  Rerouting rerouting_;
  PerPortBuffer buffer_;
  const SwitchProfile profile_;  // a packet needs the first members
  const PriorityMap priorities_;
  std::shared_ptr<const RouteTable> groups_;  // adaptive routing; null: none
  // By input and output port, from 0 on; empty: the outputs' tables apply.
  std::vector<std::optional<LaneTable>> turn_lanes_;
  std::vector<PortNumber> multicast_ports_;
  std::optional<std::vector<std::vector<PortNumber>>> multicast_table_;
};

}  // namespace verbatim::fabric
