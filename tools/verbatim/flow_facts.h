// Facts about packets of flows: retransmissions, marks, time held back by flow control, and the switches that
// they cross. It observes every packet, so it exists only on request (`run --flows`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/workload/flow.h"

namespace verbatim::cli {

class FlowFacts final : public ib::PacketObserver, public workload::FlowListener {
 public:
  struct Facts {
    // Packets of both ends, requests and responses, whose PSN had been sent before.
    std::uint64_t sent_again = 0;
    // Packets that reached the receiver with a congestion mark: ECN's CE, on InfiniBand FECN.
    std::uint64_t marked = 0;
    // Packets that notified the sender of marks: CNPs; on InfiniBand all packets with BECN.
    std::uint64_t notified = 0;
    // Between the flow's start and its finish, or the end of the run: time during which the sender's port had
    // packets and a free line, but pauses or a lack of credits stopped all of them.
    Duration held{0};
    // Switches that data crossed, by distance; several paths show as several names:
    // "leaf0>spine0|spine1>leaf3"; of more than 8 at one distance the first, the last and their number:
    // "leaf0>spine0|...|spine15 (16)>leaf3". Empty: none.
    std::string path;
  };

  // `flows` are all flows; call before the first event. The simulation must outlive this object.
  FlowFacts(config::Simulation& simulation, const workload::Traffic& traffic,
            std::span<const workload::Flow* const> flows);

  // Ends the run and returns the facts of each flow, in order.
  std::vector<Facts> finish();

  TraceEvents packet_events() const override {
    return bits_of(TraceEvent::kPacketForwarded, TraceEvent::kPacketTransmitted, TraceEvent::kPacketReceived);
  }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_flow_started(const workload::Flow& flow) override;
  void on_flow_ended(const workload::Flow& flow) override;

 private:
  // A queue pair of a flow at an adapter; the packets addressed to it belong to the flow.
  struct Target {
    static constexpr std::uint32_t kNone = ~0u;
    std::uint32_t flow = kNone;
    bool receives_data = false;
  };
  struct Crossing {
    std::uint32_t component = 0;  // of a switch
    std::uint32_t place = 0;      // distance from the sender; 1: the first switch
  };
  struct Flow {
    std::uint32_t sender = 0;  // adapter
    Duration wait_before{0};   // of its port until the flow started
    bool is_under_way = false;
    std::vector<Crossing> crossings;
    Facts facts;
  };
  static constexpr std::uint32_t kNoAdapter = ~0u;

  Duration wait_of(std::uint32_t adapter) { return simulation_.host_port(adapter).counters().xmit_wait; }
  Target& target(std::uint32_t adapter, std::uint32_t qpn);
  const Target* find(std::uint32_t adapter, std::uint32_t qpn) const;
  const Target* addressee(const ib::Packet& packet) const;
  void add_crossing(Flow& flow, std::uint32_t component, ComponentId input);

  config::Simulation& simulation_;
  std::unordered_map<std::uint64_t, std::uint32_t> adapters_;  // by LID, on Ethernet by MAC address
  std::vector<std::uint32_t> adapter_of_port_;  // by component; kNoAdapter: no port of an adapter
  std::vector<std::uint32_t> far_switch_;     // by component: the component of the switch at the far end; 0: none
  std::vector<std::vector<Target>> targets_;  // by adapter, then by QP number minus kFirstQueuePairNumber
  std::unordered_map<const workload::Flow*, std::uint32_t> places_;
  std::vector<Flow> flows_;
};

}  // namespace verbatim::cli
