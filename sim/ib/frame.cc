#include "sim/ib/frame.h"

#include <cstring>

#include "sim/core/check.h"
#include "sim/ib/bytes.h"
#include "sim/ib/crc.h"

namespace verbatim::ib {

namespace {

constexpr std::uint16_t kTypeIpv4 = 0x0800, kTypeIpv6 = 0x86dd, kTypeVlan = 0x8100, kTypeServiceVlan = 0x88a8;
constexpr int kMacBytes = 6;

bool is_vlan(std::uint16_t type) { return type == kTypeVlan || type == kTypeServiceVlan; }

// RFC 8200 4.1: those that say in units of 8 bytes how long they are, and fragments.
bool is_extension(std::uint8_t header) {
  constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kDestinationOptions = 60;
  return header == kHopByHop || header == kRouting || header == kDestinationOptions;
}
constexpr std::uint8_t kFragment = 44;

void parse_ipv4(FrameLayer& layer, ByteReader& in) {
  const std::span<const std::byte> header = in.take(kIpv4Bytes);
  if (header.empty() || std::to_integer<int>(header[0]) >> 4 != 4) return;
  const std::size_t words = std::to_integer<std::size_t>(header[0]) & 15;
  if (words < kIpv4Bytes / 4) return;
  layer.ipv4 = header;
  layer.protocol = std::to_integer<std::uint8_t>(header[9]);
  ByteReader fragment(header.subspan(6, 2));
  constexpr std::uint16_t kMoreAndOffset = 0x3fff;
  layer.is_fragment = (fragment.get16() & kMoreAndOffset) != 0;
  in.take(words * 4 - kIpv4Bytes);
}

void parse_ipv6(FrameLayer& layer, ByteReader& in) {
  const std::span<const std::byte> header = in.take(kIpv6Bytes);
  if (header.empty() || std::to_integer<int>(header[0]) >> 4 != 6) return;
  layer.ipv6 = header;
  layer.protocol = std::to_integer<std::uint8_t>(header[6]);
  while (is_extension(layer.protocol) || layer.protocol == kFragment) {
    const bool is_fragment = layer.protocol == kFragment;
    const std::uint8_t next = in.get8();
    const std::uint8_t length = in.get8();
    in.take(is_fragment ? 6 : std::size_t{length} * 8 + 6);
    if (!in.good()) return;
    layer.is_fragment |= is_fragment;
    layer.protocol = next;
  }
}

FrameLayer parse_layer(ByteReader& in) {
  FrameLayer layer;
  layer.ethernet = in.take(2 * kMacBytes);
  layer.ether_type = in.get16();
  while (in.good() && is_vlan(layer.ether_type)) {
    const std::uint16_t tag = in.get16();
    if (!layer.vlan) layer.vlan = tag;
    layer.ether_type = in.get16();
  }
  if (layer.ether_type == kTypeIpv4) parse_ipv4(layer, in);
  if (layer.ether_type == kTypeIpv6) parse_ipv6(layer, in);
  const bool is_ip = !layer.ipv4.empty() || !layer.ipv6.empty();
  const bool has_ports = layer.protocol == kProtocolTcp || layer.protocol == kProtocolUdp;
  if (in.good() && is_ip && has_ports && !layer.is_fragment) layer.ports = in.take(4);
  return layer;
}

}  // namespace

Frame parse_frame(std::span<const std::byte> bytes) {
  Frame frame;
  ByteReader in(bytes);
  frame.outer = parse_layer(in);
  if (frame.outer.ports.empty() || frame.outer.protocol != kProtocolUdp) return frame;
  ByteReader ports(frame.outer.ports);
  ports.get16();
  if (ports.get16() != kVxlanUdpPort) return frame;
  in.take(kUdpBytes - 4);
  // RFC 7348 5: flags, and the identifier in the second word's upper three bytes.
  constexpr std::uint32_t kHasIdentifier = 0x0800'0000;
  const std::uint32_t flags = in.get32();
  const std::uint32_t identifier = in.get32();
  if (!in.good() || (flags & kHasIdentifier) == 0) return frame;
  frame.vxlan = identifier >> 8;
  frame.inner = parse_layer(in);
  return frame;
}

PacketPtr make_frame() {
  auto packet = std::make_unique<Packet>();
  packet->is_frame = true;
  packet->ethernet.emplace();
  packet->bth.opcode = make_opcode(Transport::kUd, Operation::kSendOnly);
  return packet;
}

void address_frame(Packet& packet) {
  CHECK(packet.is_frame && packet.payload.length >= kEthernetBytes);
  const std::span<const std::byte> bytes = packet.payload.bytes();
  ByteReader in(bytes);
  Ethernet& ethernet = packet.ethernet.emplace();
  ethernet.destination = MacAddress{in.get(kMacBytes)};
  ethernet.source = MacAddress{in.get(kMacBytes)};
  constexpr int kPriorityShift = 13;
  const bool has_tag = is_vlan(in.get16());
  packet.lrh.service_level = ServiceLevel{static_cast<std::uint8_t>(has_tag ? in.get16() >> kPriorityShift : 0)};
  if (bytes.size() >= kLeastFrameBytes) return;
  PayloadBuffer filled = PayloadBuffer::allocate(kLeastFrameBytes);
  const std::span<std::byte> to = filled.fill();
  std::memset(to.data(), 0, to.size());
  std::memcpy(to.data(), bytes.data(), bytes.size());
  packet.payload = {std::move(filled), 0, kLeastFrameBytes};
}

void put_frame_check(std::span<const std::byte> frame, std::span<std::byte, kFrameCheckBytes> to) {
  Icrc crc;  // the same polynomial
  crc.add(frame);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(crc.value() >> 8 * i);
}

}  // namespace verbatim::ib
