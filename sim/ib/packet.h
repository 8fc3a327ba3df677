// One packet in the fabric: headers as values, payload shared and immutable. It has exactly one owner;
// retransmissions and multicast copies share the payload's bytes. Wire bytes and the ICRC are computed from
// these fields only for observers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/core/traced_packet.h"
#include "sim/core/trail.h"
#include "sim/ib/header_sizes.h"
#include "sim/ib/opcode.h"
#include "sim/ib/payload.h"
#include "sim/ib/psn.h"

namespace verbatim::ib {

using Lid = Id<struct LidTag, std::uint16_t>;
using Qpn = Id<struct QpnTag>;  // 24 bits
using RKey = Id<struct RKeyTag>;
using LKey = Id<struct LKeyTag>;
using RemoteVa = Id<struct RemoteVaTag, std::uint64_t>;
using VirtualLane = Id<struct VirtualLaneTag, std::uint8_t>;
using ServiceLevel = Id<struct ServiceLevelTag, std::uint8_t>;

struct Gid {
  std::uint8_t raw[16] = {};

  // The raw bytes as words: comparing four bytes at a time speeds up the address checks of each packet.
  constexpr std::array<std::uint32_t, 4> words() const;
  friend constexpr bool operator==(const Gid& a, const Gid& b) { return a.words() == b.words(); }
};
constexpr std::array<std::uint32_t, 4> Gid::words() const { return std::bit_cast<std::array<std::uint32_t, 4>>(*this); }

// ::ffff:a.b.c.d
constexpr bool is_ipv4_mapped(const Gid& gid) {
  constexpr Gid kPrefix{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
  const std::array<std::uint32_t, 4> words = gid.words(), prefix = kPrefix.words();
  return ((words[0] ^ prefix[0]) | (words[1] ^ prefix[1]) | (words[2] ^ prefix[2])) == 0;
}

struct Lrh {
  Lid source;
  Lid destination;
  ServiceLevel service_level;
  VirtualLane lane;
};

struct Grh {
  Gid source;
  Gid destination;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
};

using MacAddress = Id<struct MacAddressTag, std::uint64_t>;  // 48 bits, the first byte in the highest

// RoCEv2 (IBA annex A17): Ethernet, IP and UDP replace LRH and GRH. The IP addresses are the GIDs of the
// packet's GRH; IPv4 if both are IPv4-mapped.
struct Ethernet {
  MacAddress source;
  MacAddress destination;
  std::uint16_t udp_source_port = 0xc000;  // entropy for ECMP
  // 802.1Q tag control information: priority and identifier; 0: no tag.
  std::uint16_t vlan = 0;
  // DSCP of the IP header, cached by the first switch that needs it (sim/fabric/priority_map.h), or one of
  // the values below.
  std::uint8_t dscp = kUnknownDscp;
  static constexpr std::uint8_t kUnknownDscp = 0xff, kNoDscp = 0xfe;  // not determined yet; frame without IP
};
// Fields of tag control information (802.1Q 9.6).
inline constexpr std::uint16_t kVlanIdentifier = 0x0fff;
inline constexpr int kVlanPriorityShift = 13;
inline constexpr std::uint16_t kRoceUdpPort = 4791;
// Whether it is a multicast or broadcast address (IEEE 802.3 3.2.3).
constexpr bool is_group(MacAddress mac) { return (mac.value >> 40 & 1) != 0; }

struct Bth {
  Opcode opcode = Opcode::kRcAcknowledge;
  bool solicited : 1 = false;
  bool mig_request : 1 = true;
  bool ack_request : 1 = false;
  // Congestion on this packet's path (FECN), and on the path of the peer's packets (BECN) (IBA A10, A17.9.3).
  bool fecn : 1 = false;
  bool becn : 1 = false;
  std::uint16_t pkey = 0xffff;
  Qpn destination;
  Psn psn;
};

struct Reth {
  RemoteVa va;
  RKey rkey;
  std::uint32_t length = 0;
};

struct Deth {
  std::uint32_t qkey = 0;
  Qpn source;
};

struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  // 24 bits
};

struct AtomicEth {
  RemoteVa va;
  RKey rkey;
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
};

// A flag that copies of a packet do not inherit.
struct UncopiedFlag {
  bool value = false;

  UncopiedFlag() = default;
  UncopiedFlag(const UncopiedFlag&) {}
  UncopiedFlag& operator=(const UncopiedFlag&) { return *this; }
};

// State of a packet in an output queue or on a line; ports and switches write it.
struct ForwardingState {
  // On a line: arrival of the head, and of the last byte. In a queue: earliest start, and end of the lifetime
  // in the switch.
  Instant begin{}, end{};
  // On a line: the sender's count of link failures (`sim/fabric/arrivals.h`).
  std::uint32_t failures = 0;
  // In a queue of a switch: ingress port and lane, whose buffer it occupies; port 0: none.
  std::uint8_t input = 0, input_lane = 0;
};

struct alignas(64) Packet : TracedPacket {
  // Ports access the first cache line, up to `trail`, at every link; switches also the second, up to
  // `ethernet`. Each has kPacketLineBytes.
  Packet* next = nullptr;  // in a PacketQueue
  [[no_unique_address]] ForwardingState forwarding;
  bool is_copy : 1 = false;  // duplicate made by a scripted fault, to which faults do not apply
  // Its buffer claim ends together with that of other copies (`shared_claim`).
  bool shares_claim : 1 = false;
  bool is_to_group : 1 = false;  // is_to_group(), set by the first port
  // An Ethernet frame as a program wrote it, without RoCE headers: all of it, without the frame check
  // sequence, is payload, and `ethernet` has its addresses. The BTH and the headers below are unused.
  bool is_frame : 1 = false;
  bool corrupted : 1 = false;  // a fault flipped a bit: the ICRC does not match
  // wire_bytes() as computed by the first port that sends it, for later switches.
  std::uint32_t sent_bytes = 0;
  Lrh lrh;
  Bth bth;
  // Steps since the call that posted the message, for observers; empty unless trails are enabled.
  Trail trail;

  std::optional<Ethernet> ethernet;  // on a RoCE link; then the packet has a GRH
  // Flow hash (sim/fabric/flow_hash.h) as computed by the first switch that needs it; 0: none.
  std::uint64_t flow_hash = 0;
  Payload payload;
  std::uint32_t shared_claim = 0;  // claim number shared by copies (`PerPortBuffer::share_claim`)
  // Number of earlier transmissions of its PSN; for observers, not on the wire.
  std::uint8_t retransmission = 0;
  // Bytes reserved for telemetry (`telemetry.h`), on Ethernet; whether it is a TelemetryPacket.
  std::uint8_t telemetry_bytes = 0;
  UncopiedFlag has_telemetry;
  bool may_take_any_path = false;  // per-packet routing is allowed; its bit on the wire is not published

  Reth reth;  // valid if has_reth(bth.opcode); each header below is valid if the opcode has it
  Aeth aeth;
  Deth deth;
  AtomicEth atomic;
  std::uint64_t atomic_ack = 0;
  std::uint32_t invalidate_rkey = 0;
  std::uint32_t xrc_srqn = 0;
  std::optional<Grh> grh;
  std::uint32_t immediate = 0;  // network byte order

  // Bytes from the first byte of the LRH to the last of the VCRC (IBA 7.7): headers, payload padded to four
  // bytes, ICRC and VCRC; on Ethernet from the destination address to the frame check sequence. Without the
  // link's framing symbols, preambles and gaps, which the channel adds.
  std::uint32_t wire_bytes() const;

  // A packet is allocated for each transmission: each thread has a pool of free ones.
  static void* operator new(std::size_t size);
  static void* operator new(std::size_t size, std::align_val_t) { return operator new(size); }
  static void operator delete(void* packet) noexcept;
  // Also destroys a TelemetryPacket, which is larger.
  static void operator delete(Packet* packet, std::destroying_delete_t) noexcept;

 private:
  static void delete_with_telemetry(Packet* packet) noexcept;
};

inline void Packet::operator delete(Packet* packet, std::destroying_delete_t) noexcept {
  if (packet->has_telemetry.value) [[unlikely]] return delete_with_telemetry(packet);
  packet->~Packet();
  operator delete(static_cast<void*>(packet));
}

inline constexpr std::size_t kPacketLineBytes = 64;
static_assert(sizeof(Packet) <= 256);

// Whether it is a RoCEv2 packet between IPv4 addresses.
inline bool is_over_ipv4(const Packet& packet) {
  return packet.grh && is_ipv4_mapped(packet.grh->source) && is_ipv4_mapped(packet.grh->destination);
}

inline std::uint32_t Packet::wire_bytes() const {
  if (is_frame) [[unlikely]] return payload.length + kFrameCheckBytes;
  const std::uint32_t padded = (payload.length + 3) & ~3u;
  const std::uint32_t transport = kBthBytes + info(bth.opcode).extended_header_bytes + padded + kIcrcBytes;
  if (!ethernet) return kLrhBytes + (grh ? kGrhBytes : 0) + transport + kVcrcBytes;
  // Always above Ethernet's minimum of 64 bytes.
  const std::uint32_t link = kEthernetBytes + (ethernet->vlan != 0 ? kVlanTagBytes : 0) + kFrameCheckBytes;
  return link + (is_over_ipv4(*this) ? kIpv4Bytes : kIpv6Bytes) + kUdpBytes + transport + telemetry_bytes;
}

using PacketPtr = std::unique_ptr<Packet>;

}  // namespace verbatim::ib
