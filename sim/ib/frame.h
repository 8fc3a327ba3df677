// What lies in an Ethernet frame that is no packet of RoCE: headers that flow rules look at, that receive side scaling hashes,
// that a switch tells flows apart by (802.3, 802.1Q; RFC 791, 8200, 768, 9293, 7348, 2784, 2890, 3032, 7510, 4303). Any bytes do;
// what does not fit into the frame is as if it were not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/ib/packet.h"
#include "sim/ib/wire.h"

namespace verbatim::ib {

// Shorter frames are filled up with zeros (IEEE 802.3 4.2.3.3); without the frame check sequence.
inline constexpr std::uint32_t kLeastFrameBytes = 60;
// Behind the address and type, and two VLAN tags.
inline constexpr std::uint32_t kFrameHeaderBytes = kEthernetBytes + 2 * kVlanTagBytes;
inline constexpr std::uint16_t kVxlanUdpPort = 4789, kMplsUdpPort = 6635;

// One stack of headers, from the link to the ports. Spans are empty where there is no such header.
struct FrameLayer {
  std::span<const std::byte> ethernet;  // destination and source
  std::uint16_t ether_type = 0;         // behind the VLAN tags
  std::optional<std::uint16_t> vlan;    // of the first tag: priority, CFI, identifier
  std::optional<std::uint32_t> mpls;    // the first entry of a label stack behind them; IP below it is found
  std::span<const std::byte> ipv4;      // without options
  std::span<const std::byte> ipv6;      // without extension headers
  std::uint8_t protocol = 0;            // what IP carries, behind extension headers
  bool is_fragment = false;             // of an IP packet: then its ports are not looked for
  std::span<const std::byte> ports;     // of TCP or UDP: source and destination
  std::span<const std::byte> esp;       // security parameters index and sequence number
};

inline constexpr std::uint8_t kProtocolTcp = 6, kProtocolUdp = 17, kProtocolGre = 47, kProtocolEsp = 50;

struct GreHeader {
  std::uint16_t flags = 0;     // and version, 0
  std::uint16_t protocol = 0;  // what it carries, as an EtherType
  std::uint32_t key = 0;       // 0 where there is none
};

struct Frame {
  FrameLayer outer;
  std::optional<std::uint32_t> vxlan;  // the network's identifier, 24 bits
  std::optional<GreHeader> gre;
  std::optional<std::uint32_t> mpls;   // the first entry of a label stack over UDP or GRE
  FrameLayer inner;                    // what is in the tunnel
};

Frame parse_frame(std::span<const std::byte> bytes);

// A frame without its bytes. Where a packet is told by its opcode, it is a datagram.
PacketPtr make_frame();

// A frame that asks for a pause of `quanta` (IEEE 802.3 31B, 802.1Qbb): bit n of `enabled` stands for priority n, which is to be
// paused if its bit of `paused` is set, and else resumed.
PacketPtr make_pause_frame(MacAddress source, std::uint8_t enabled, std::uint8_t paused, std::uint16_t quanta);

// Takes addresses, and the service level, which is the priority of the VLAN tag, from the payload of a frame to its headers,
// and fills it up to the least length. The payload is of 14 bytes or more.
void address_frame(Packet& packet);

// IEEE 802.3 3.2.9, as its four bytes follow the frame.
void put_frame_check(std::span<const std::byte> frame, std::span<std::byte, kFrameCheckBytes> to);

}  // namespace verbatim::ib
