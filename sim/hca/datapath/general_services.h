// Queue pairs 0 and 1 of the port: datagrams between management agents (IBA 13.5, 14, 16). They belong to the
// kernel. A datagram that is sent takes a doorbell, the fetch of the work request and the gather; a received
// one the placement in kernel memory and the interrupt. Agents never lack a receive.
#pragma once

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/context.h"
#include "sim/hca/stages/input_buffer.h"
#include "sim/host/dma_engine.h"
#include "sim/ib/management.h"

namespace verbatim::hca {

struct AdapterBase;
class KeyGuard;
class SendPipeline;

class GeneralServices final : public ib::ManagementPort, public host::DmaClient {
 public:
  GeneralServices(AdapterBase& adapter, host::DmaEngine& dma, SendPipeline& sender, KeyGuard& key_guard);

  // Set once; without an agent the port answers nothing.
  void attach(ib::ManagementAgent& agent) { agent_ = &agent; }
  void send(const ib::ManagementDatagram& datagram) override;
  void report_link(bool up) {
    if (agent_ != nullptr) agent_->on_link(up);
  }
  void report_failure() {
    if (agent_ != nullptr) agent_->on_failure();
  }

  // Time at which the agent gets the next datagram; kNever: none is due.
  Instant next_delivery() const { return delivering_.next(); }

  bool takes(const ib::Packet& packet) const;
  // Whether a packet is a subnet management packet. One with a directed route has no destination LID.
  static bool is_subnet_management(const ib::Packet& packet);
  void receive(Incoming&& incoming);

 private:
  ib::PacketPtr make_packet(const ib::ManagementDatagram& datagram);
  void on_posted(ib::PacketPtr packet);
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t cookie) override;
  void deliver(ib::ManagementDatagram datagram);

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  SendPipeline& sender_;
  KeyGuard& key_guard_;
  ib::ManagementAgent* agent_ = nullptr;
  std::uint32_t next_psn_ = 0;
  DelayLine<ib::PacketPtr> posted_;
  Ring<ib::PacketPtr> fetching_;  // datagrams whose bytes are being read
  Ring<ib::ManagementDatagram> placing_;
  DelayLine<ib::ManagementDatagram> delivering_;
};

}  // namespace verbatim::hca
