// Headers of an Ethernet frame that is not a RoCE packet, for flow rules, receive side scaling and switches'
// flow hashes (802.3, 802.1Q; RFC 791, 8200, 768, 9293, 7348, 2784, 2890, 3032, 7510, 4303). Accepts any
// bytes; a header that does not fit into the frame counts as absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/ib/packet.h"
#include "sim/ib/wire.h"

namespace verbatim::ib {

// Shorter frames are padded with zeros (IEEE 802.3 4.2.3.3); without the frame check sequence.
inline constexpr std::uint32_t kLeastFrameBytes = 60;
// Addresses, type and two VLAN tags.
inline constexpr std::uint32_t kFrameHeaderBytes = kEthernetBytes + 2 * kVlanTagBytes;
inline constexpr std::uint16_t kVxlanUdpPort = 4789, kMplsUdpPort = 6635;

// One stack of headers, from the link layer to the ports. A span is empty if there is no such header.
struct FrameLayer {
  std::span<const std::byte> ethernet;  // destination and source address
  std::uint16_t ether_type = 0;         // after the VLAN tags
  std::optional<std::uint16_t> vlan;    // first tag: priority, CFI, identifier
  std::optional<std::uint32_t> mpls;    // first entry of a label stack after them; IP below it is parsed
  std::span<const std::byte> ipv4;      // without options
  std::span<const std::byte> ipv6;      // without extension headers
  std::uint8_t protocol = 0;            // payload of IP, after extension headers
  bool is_fragment = false;             // IP fragment: its ports are not parsed
  std::span<const std::byte> ports;     // TCP or UDP source and destination
  std::span<const std::byte> esp;       // security parameters index and sequence number
};

inline constexpr std::uint8_t kProtocolTcp = 6, kProtocolUdp = 17, kProtocolGre = 47, kProtocolEsp = 50;

struct GreHeader {
  std::uint16_t flags = 0;     // and version, which is 0
  std::uint16_t protocol = 0;  // of the payload, as an EtherType
  std::uint32_t key = 0;       // 0: none
};

struct Frame {
  FrameLayer outer;
  std::optional<std::uint32_t> vxlan;  // network identifier, 24 bits
  std::optional<GreHeader> gre;
  std::optional<std::uint32_t> mpls;   // first entry of a label stack over UDP or GRE
  FrameLayer inner;                    // content of the tunnel
};

Frame parse_frame(std::span<const std::byte> bytes);

// A frame without its bytes. Code that selects by opcode treats it as a datagram.
PacketPtr make_frame();

// A PFC frame (IEEE 802.3 31B, 802.1Qbb): bit n of `enabled` selects priority n, which is paused for `quanta`
// if its bit of `paused` is set, and resumed otherwise.
PacketPtr make_pause_frame(MacAddress source, std::uint8_t enabled, std::uint8_t paused, std::uint16_t quanta);

// Copies the addresses, and the service level, which is the priority of the VLAN tag, from a frame's payload
// to its headers, and pads it to the minimum length. The payload must have at least 14 bytes.
void address_frame(Packet& packet);

// IEEE 802.3 3.2.9: writes the four bytes that follow the frame.
void put_frame_check(std::span<const std::byte> frame, std::span<std::byte, kFrameCheckBytes> to);

}  // namespace verbatim::ib
