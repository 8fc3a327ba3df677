// A pcapng file of the packets at every end of every cable: one interface per link end, or per cable. Times are virtual,
// in nanoseconds. InfiniBand packets are ERF records of type 21, RoCE packets Ethernet frames without check sequence.
// Packet comments hold facts that only a simulator knows (dropped here, retransmitted).
//
// The file has one packet for each packet-transmitted, packet-received and packet-dropped record, in the order of traces
// (trace_order.h). A fault is a comment on the packet that it hits as it leaves, so each packet is written when the next
// record is known.
//
// On an interface of a cable each packet is written once, when it leaves one end: outbound from `port`, inbound from
// `far_port`. Loss on the cable is a comment. Other drops by ports, switches and adapters are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/observe/trace_order.h"

namespace verbatim::observe {

struct PcapInterface {
  ComponentId port;
  std::string name;         // "server:1"
  std::string description;  // "cable to leaf0:1"
  bool is_ethernet = false;
  std::optional<ComponentId> far_port;  // other end, if the interface is a whole cable
};

class PcapSink final : public ib::PacketObserver {
 public:
  // Writes the header and the interfaces. `file` must outlive the sink; the caller checks it for write errors
  // (ferror). Packets of ports without an interface are left out. `application` names the writer. Each packet
  // is truncated to its first `snap_length` bytes (0: not truncated); its original length is recorded all the
  // same.
  PcapSink(std::FILE* file, const std::vector<PcapInterface>& interfaces, const std::string& application,
           std::uint32_t snap_length = 0);

  ~PcapSink() { flush(); }

  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  // Writes the pending packets.
  void flush();

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  void assign(ComponentId port, std::uint32_t interface);
  // Finishes the pending packet, whose comments are complete.
  void end_packet();

  std::uint32_t snap_length_;
  std::vector<std::uint32_t> interface_of_;  // by component
  std::vector<PcapInterface> interfaces_;
  TraceOrder<std::vector<std::byte>> order_;  // of finished blocks
  std::vector<std::byte> packet_;            // member to reuse its memory, like block_

  // The pending packet; empty: none.
  std::vector<std::byte> block_;
  TraceRecord record_{};
  std::string comment_;
  bool leaves_ = false;
};

}  // namespace verbatim::observe
