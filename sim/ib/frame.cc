#include "sim/ib/frame.h"

#include <cstring>
#include <utility>
#include <vector>

#include "sim/core/check.h"
#include "sim/ib/bytes.h"
#include "sim/ib/crc.h"

namespace verbatim::ib {

namespace {

constexpr std::uint16_t kTypeIpv4 = 0x0800, kTypeIpv6 = 0x86dd, kTypeServiceVlan = 0x88a8;
constexpr std::uint16_t kTypeMpls = 0x8847, kTypeMplsMulticast = 0x8848, kTypeEthernet = 0x6558;
constexpr int kMacBytes = 6;

bool is_mpls(std::uint16_t type) { return type == kTypeMpls || type == kTypeMplsMulticast; }
bool is_vlan(std::uint16_t type) { return type == kTypeVlan || type == kTypeServiceVlan; }

// RFC 8200 4.1: extension headers with a length in units of 8 bytes.
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

// RFC 3032 2.1: an entry has label, traffic class, bottom of stack and time to live. Returns the first entry.
std::optional<std::uint32_t> parse_labels(ByteReader& in) {
  constexpr std::uint32_t kBottom = 1 << 8;
  const std::uint32_t first = in.get32();
  for (std::uint32_t entry = first; in.good() && (entry & kBottom) == 0;) entry = in.get32();
  return in.good() ? std::optional(first) : std::nullopt;
}

// A label stack does not name its payload: IP is recognised by its version (RFC 4928 2).
std::uint16_t type_below_labels(ByteReader ahead) {
  const int version = ahead.get8() >> 4;
  return version == 4 ? kTypeIpv4 : version == 6 ? kTypeIpv6 : 0;
}

// Parses IP, of the given EtherType, and its payload.
void parse_network(FrameLayer& layer, std::uint16_t type, ByteReader& in) {
  if (type == kTypeIpv4) parse_ipv4(layer, in);
  if (type == kTypeIpv6) parse_ipv6(layer, in);
  if (!in.good() || (layer.ipv4.empty() && layer.ipv6.empty()) || layer.is_fragment) return;
  if (layer.protocol == kProtocolTcp || layer.protocol == kProtocolUdp) layer.ports = in.take(4);
  if (layer.protocol == kProtocolEsp) layer.esp = in.take(8);
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
  if (!is_mpls(layer.ether_type)) {
    parse_network(layer, layer.ether_type, in);
  } else if (in.good()) {
    layer.mpls = parse_labels(in);
    if (layer.mpls) parse_network(layer, type_below_labels(in), in);
  }
  return layer;
}

// Parses the payload of a tunnel without an inner Ethernet header.
void parse_labelled(Frame& frame, ByteReader& in) {
  frame.mpls = parse_labels(in);
  if (frame.mpls) parse_network(frame.inner, type_below_labels(in), in);
}

void parse_vxlan(Frame& frame, ByteReader& in) {
  // RFC 7348 5: flags, and the network identifier in the upper three bytes of the second word.
  constexpr std::uint32_t kHasIdentifier = 0x0800'0000;
  const std::uint32_t flags = in.get32();
  const std::uint32_t identifier = in.get32();
  if (!in.good() || (flags & kHasIdentifier) == 0) return;
  frame.vxlan = identifier >> 8;
  frame.inner = parse_layer(in);
}

// RFC 2784 2.1, RFC 2890 2: flags announce checksum, key and sequence number. Routing (RFC 1701) is not
// supported.
void parse_gre(Frame& frame, ByteReader& in) {
  constexpr std::uint16_t kChecksum = 0x8000, kRouting = 0x4000, kKey = 0x2000, kSequence = 0x1000, kVersion = 7;
  GreHeader gre{in.get16(), in.get16(), 0};
  if ((gre.flags & (kVersion | kRouting)) != 0) return;
  if ((gre.flags & kChecksum) != 0) in.get32();
  if ((gre.flags & kKey) != 0) gre.key = in.get32();
  if ((gre.flags & kSequence) != 0) in.get32();
  if (!in.good()) return;
  frame.gre = gre;
  if (gre.protocol == kTypeEthernet) {
    frame.inner = parse_layer(in);
  } else if (is_mpls(gre.protocol)) {
    parse_labelled(frame, in);
  } else {
    parse_network(frame.inner, gre.protocol, in);
  }
}

}  // namespace

Frame parse_frame(std::span<const std::byte> bytes) {
  Frame frame;
  ByteReader in(bytes);
  frame.outer = parse_layer(in);
  const bool is_ip = !frame.outer.ipv4.empty() || !frame.outer.ipv6.empty();
  if (in.good() && is_ip && frame.outer.protocol == kProtocolGre && !frame.outer.is_fragment) parse_gre(frame, in);
  if (frame.outer.ports.empty() || frame.outer.protocol != kProtocolUdp) return frame;
  ByteReader ports(frame.outer.ports);
  ports.get16();
  const std::uint16_t destination = ports.get16();
  if (destination != kVxlanUdpPort && destination != kMplsUdpPort) return frame;
  in.take(kUdpBytes - 4);
  if (!in.good()) return frame;
  destination == kVxlanUdpPort ? parse_vxlan(frame, in) : parse_labelled(frame, in);
  return frame;
}

PacketPtr make_frame() {
  auto packet = std::make_unique<Packet>();
  packet->is_frame = true;
  packet->ethernet.emplace();
  packet->bth.opcode = make_opcode(Transport::kUd, Operation::kSendOnly);
  return packet;
}

PacketPtr make_pause_frame(MacAddress source, std::uint8_t enabled, std::uint8_t paused, std::uint16_t quanta) {
  constexpr std::uint64_t kDestination = 0x0180'c200'0001;
  constexpr std::uint16_t kMacControl = 0x8808, kPriorityPause = 0x0101;
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  out.put(kDestination, kMacBytes);
  out.put(source.value, kMacBytes);
  out.put(kMacControl, 2);
  out.put(kPriorityPause, 2);
  out.put(enabled, 2);
  for (int priority = 0; priority < 8; ++priority) out.put((paused >> priority & 1) != 0 ? quanta : 0, 2);
  out.zeros(kLeastFrameBytes - out.size());
  PacketPtr packet = make_frame();
  packet->payload = {PayloadBuffer::copy_of(bytes), 0, kLeastFrameBytes};
  address_frame(*packet);
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
