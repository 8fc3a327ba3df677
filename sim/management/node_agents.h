// The agents of one node, switch or adapter: selects the agent for a datagram, sends its response, and
// forwards directed-route SMPs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "sim/core/delay_line.h"
#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/management/congestion_agent.h"
#include "sim/management/directed_route.h"
#include "sim/management/node.h"
#include "sim/management/performance_agent.h"
#include "sim/management/subnet_agent.h"
#include "sim/management/trap_sender.h"

namespace verbatim::management {

// Sends datagrams of a node, and passes datagrams to its other agents.
class NodeOutlet {
 public:
  // Sends by a port regardless of the LID: to the other end of its cable.
  virtual void send_by(std::uint8_t port, const ib::ManagementDatagram& datagram) = 0;
  // Sends to datagram.lid.
  virtual void send_to_lid(const ib::ManagementDatagram& datagram) = 0;
  // A datagram for none of the node's own agents. Returns whether another agent took it.
  virtual bool deliver(const ib::ManagementDatagram& datagram) = 0;

 protected:
  ~NodeOutlet() = default;
};

class NodeAgents : private TrapRoute {
 public:
  // `source`: component of its events. All references must outlive this.
  NodeAgents(Engine& engine, ComponentId source, Node& node, NodeHardware& hardware, const PortCounters& counters,
             CongestionHardware& congestion, NodeOutlet& outlet);

  // A datagram received by a port, complete at `when`, which is not in the past.
  void receive(const ib::ManagementDatagram& datagram, std::uint8_t in_port, Instant when);
  // The same without the firmware's time, for datagrams that bypass the firmware.
  void serve(const ib::ManagementDatagram& datagram, std::uint8_t in_port);
  // Sends a datagram of this node: along its directed route, to its LID, or to an agent of this node.
  void send(const ib::ManagementDatagram& datagram);
  // Reports an event to the subnet manager.
  void trap(const mad::Notice& notice);

  const PerformanceAgent& performance() const { return performance_; }
  CongestionAgent& congestion() { return congestion_; }

 private:
  struct Work {
    ib::ManagementDatagram datagram;
    std::uint8_t in_port = 0;
  };

  // Route of congestion control traps.
  std::optional<ib::ManagementDatagram> trap_datagram() const override;
  std::size_t notice_offset() const override { return mad::congestion::kDataOffset; }
  std::size_t notice_bytes() const override { return mad::Notice::kBytes; }

  void on_work(Work work);
  void take(Hop hop, const ib::ManagementDatagram& datagram, std::uint8_t in_port);

  Engine& engine_;
  Node& node_;
  NodeOutlet& outlet_;
  SubnetAgent subnet_;
  PerformanceAgent performance_;
  CongestionAgent congestion_;
  TrapSender traps_;
  std::unique_ptr<TrapSender> congestion_traps_;  // null: no such trap so far
  const ComponentId source_;
  Instant ready_{};  // for the next datagram
  DelayLine<Work> work_;
};

}  // namespace verbatim::management
