// Packets of flows: which are sent again, which are marked, how long flow control holds
// them up, and which switches they cross. It looks at every packet, so it is there only when somebody asks
// (`run --flows`).
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
    // Packets of both ends, requests and responses, that left with a PSN for a second or later time.
    std::uint64_t sent_again = 0;
    // Packets that reached the receiver with a congestion mark: ECN's CE, on InfiniBand FECN.
    std::uint64_t marked = 0;
    // Packets that brought the sender notice of marks: CNPs, on InfiniBand all with BECN.
    std::uint64_t notified = 0;
    // Between the flow's start and its finish, or the end of the run: the time for which the sender's port
    // had something to send, its line was free, and pauses or a lack of credits kept everything back.
    Duration held{0};
    // Switches that data has crossed, by place and at each place by name: "leaf0>spine0|spine1>leaf3" for two
    // paths. Empty: none.
    std::string path;
  };

  // `flows`: all of them, before the first event. The simulation outlives it.
  FlowFacts(config::Simulation& simulation, const workload::Traffic& traffic,
            std::span<const workload::Flow* const> flows);

  // The run has ended. By the place of the flow.
  std::vector<Facts> finish();

  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_flow_started(const workload::Flow& flow) override;
  void on_flow_ended(const workload::Flow& flow) override;

 private:
  // A queue pair of a flow at an adapter; its packets are those that are addressed to it.
  struct Target {
    static constexpr std::uint32_t kNone = ~0u;
    std::uint32_t flow = kNone;
    bool receives_data = false;
  };
  struct Crossing {
    std::uint32_t component = 0;  // of a switch
    std::uint32_t place = 0;      // 1: the first one
  };
  struct Flow {
    std::uint32_t sender = 0;  // adapter
    Duration wait_before{0};   // of its port, when the flow started
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
  std::vector<std::uint32_t> far_switch_;     // likewise: the component of the switch at the far end; 0: none
  std::vector<std::vector<Target>> targets_;  // by adapter, and by number from kFirstQueuePairNumber on
  std::unordered_map<const workload::Flow*, std::uint32_t> places_;
  std::vector<Flow> flows_;
};

}  // namespace verbatim::cli
