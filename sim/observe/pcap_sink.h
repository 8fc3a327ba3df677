// What a sniffer at every end of every cable would have caught, as a pcapng file: one interface per link end, or per cable;
// times in nanoseconds of virtual time, InfiniBand packets in ERF records of type 21, RoCE packets as
// Ethernet frames without their check sequence. What only a simulator knows (dropped here, sent again) stands
// in packet comments.
//
// One packet of the file for each packet-transmitted, packet-received and packet-dropped record, in the order of traces
// (trace_order.h). A fault is a comment on the packet that it hits as it leaves, so a packet is written when the next
// one is known.
//
// On an interface of a cable each packet is written once, when it leaves one end: outbound from `port`, inbound from `far_port`.
// That the cable loses it is a comment. What ports, switches and adapters drop at other times is not on the cable, and left out.
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
  std::optional<ComponentId> far_port;  // the other end of the cable, where the interface is the cable's
};

class PcapSink final : public ib::PacketObserver {
 public:
  // Writes the header and the interfaces. `file` outlives the sink; write errors are the owner's to ask for
  // (ferror). Packets of other ports than those of `interfaces` are left out. `application` names the writer.
  // Of each packet the first `snap_length` bytes are kept, 0: all; how long it was is told all the same.
  PcapSink(std::FILE* file, const std::vector<PcapInterface>& interfaces, const std::string& application,
           std::uint32_t snap_length = 0);

  ~PcapSink() { flush(); }

  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  // Writes what waits.
  void flush();

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  void assign(ComponentId port, std::uint32_t interface);
  // The packet that waits has its comments.
  void end_packet();

  std::uint32_t snap_length_;
  std::vector<std::uint32_t> interface_of_;  // by component
  std::vector<PcapInterface> interfaces_;
  TraceOrder<std::vector<std::byte>> order_;  // of blocks
  std::vector<std::byte> packet_;            // kept for its memory, as block_

  // The packet that waits to be written; empty: none.
  std::vector<std::byte> block_;
  TraceRecord record_{};
  std::string comment_;
  bool leaves_ = false;
};

}  // namespace verbatim::observe
