// The agents of one node, switch or adapter: which datagram is for them, what they answer, and the way on of those whose route
// is written in them.
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

// How datagrams leave a node, and who else on it takes some.
class NodeOutlet {
 public:
  // By a port whatever the LID: to the other end of its cable.
  virtual void send_by(std::uint8_t port, const ib::ManagementDatagram& datagram) = 0;
  // To datagram.lid.
  virtual void send_to_lid(const ib::ManagementDatagram& datagram) = 0;
  // Is not for the node's own agents. Whether there is anybody here who takes it.
  virtual bool deliver(const ib::ManagementDatagram& datagram) = 0;

 protected:
  ~NodeOutlet() = default;
};

class NodeAgents : private TrapRoute {
 public:
  // `source`: of the events of its work. All outlive it.
  NodeAgents(Engine& engine, ComponentId source, Node& node, NodeHardware& hardware, const PortCounters& counters,
             CongestionHardware& congestion, NodeOutlet& outlet);

  // Has come in by a port, all of it at `when`, which is not before now. Whether somebody takes it.
  void receive(const ib::ManagementDatagram& datagram, std::uint8_t in_port, Instant when);
  // The same without the firmware's work, for whom the processor gets it at once.
  void serve(const ib::ManagementDatagram& datagram, std::uint8_t in_port);
  // Leaves the node: along the route written in it, to its LID, or to somebody here.
  void send(const ib::ManagementDatagram& datagram);
  // The subnet manager is to know of it.
  void trap(const mad::Notice& notice);

  const PerformanceAgent& performance() const { return performance_; }
  CongestionAgent& congestion() { return congestion_; }

 private:
  struct Work {
    ib::ManagementDatagram datagram;
    std::uint8_t in_port = 0;
  };

  // Traps of congestion control.
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
  std::unique_ptr<TrapSender> congestion_traps_;  // null: there was none
  const ComponentId source_;
  Instant ready_{};  // for the next datagram
  DelayLine<Work> work_;
};

}  // namespace verbatim::management
