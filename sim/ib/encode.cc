#include <algorithm>
#include <cstring>

#include "sim/core/check.h"
#include "sim/ib/bytes.h"
#include "sim/ib/crc.h"
#include "sim/ib/wire.h"

namespace verbatim::ib {

namespace {

constexpr std::uint8_t kGrhNextHeader = 0x1b;  // IBA 8.3.4
constexpr std::uint8_t kUdpProtocol = 17;

std::span<const std::byte> bytes_of(const Gid& gid) { return std::as_bytes(std::span(gid.raw)); }
std::span<const std::byte> ipv4_of(const Gid& gid) { return bytes_of(gid).subspan(12, 4); }

std::uint32_t pad_bytes(const Packet& packet) { return -packet.payload.length & 3; }

// Size from the BTH to the ICRC.
std::uint32_t transport_bytes(const Packet& packet) {
  return kBthBytes + info(packet.bth.opcode).extended_header_bytes + packet.payload.length +
         pad_bytes(packet) + kIcrcBytes;
}

// GRH (IBA 8.3), which has the format of the IPv6 header.
void put_ipv6(ByteWriter& out, const Grh& grh, std::uint32_t payload_bytes, std::uint8_t next_header) {
  constexpr std::uint32_t kIpVersion = 6;
  out.put(kIpVersion << 28 | std::uint32_t{grh.traffic_class} << 20 | (grh.flow_label & 0xfffff), 4);
  out.put(payload_bytes, 2);
  out.put(next_header, 1);
  out.put(grh.hop_limit, 1);
  out.put(bytes_of(grh.source));
  out.put(bytes_of(grh.destination));
}

void put_ipv4(std::vector<std::byte>& to, const Grh& grh, std::uint32_t payload_bytes) {
  ByteWriter out(to);
  const std::size_t start = out.size();
  out.put(0x45, 1);  // version 4, five words
  out.put(grh.traffic_class, 1);
  out.put(kIpv4Bytes + payload_bytes, 2);
  out.put(0, 2);       // identification
  out.put(0x4000, 2);  // do not fragment
  out.put(grh.hop_limit, 1);
  out.put(kUdpProtocol, 1);
  out.put(0, 2);
  out.put(ipv4_of(grh.source));
  out.put(ipv4_of(grh.destination));
  std::uint32_t sum = 0;
  for (std::size_t i = start; i < to.size(); i += 2) {
    sum += static_cast<std::uint32_t>(to[i]) << 8 | static_cast<std::uint32_t>(to[i + 1]);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  to[start + 10] = static_cast<std::byte>(~sum >> 8);
  to[start + 11] = static_cast<std::byte>(~sum);
}

void put_lrh(ByteWriter& out, const Packet& packet) {
  const Lrh& lrh = packet.lrh;
  constexpr std::uint32_t kLocal = 2, kGlobal = 3;  // IBA 7.7.5
  const std::uint32_t grh = packet.grh ? kGrhBytes : 0;
  out.put(lrh.lane.value << 4, 1);  // link version 0
  out.put(static_cast<std::uint32_t>(lrh.service_level.value << 4) | (packet.grh ? kGlobal : kLocal), 1);
  out.put(lrh.destination.value, 2);
  out.put((kLrhBytes + grh + transport_bytes(packet)) / 4, 2);  // in words, without the VCRC
  out.put(lrh.source.value, 2);
}

void put_bth(ByteWriter& out, const Packet& packet) {
  const Bth& bth = packet.bth;
  out.put(static_cast<std::uint8_t>(bth.opcode), 1);
  // SE, M, PadCnt; the transport header version is 0.
  out.put((bth.solicited ? 0x80u : 0) | (bth.mig_request ? 0x40u : 0) | pad_bytes(packet) << 4, 1);
  out.put(bth.pkey, 2);
  out.put((bth.fecn ? kFecn : 0) | (bth.becn ? kBecn : 0), 1);
  out.put(bth.destination.value, 3);
  out.put(bth.ack_request ? 0x80 : 0, 1);
  out.put(bth.psn.value, 3);
}

// IBA 9.3, in the order of table 38; the XRC header comes first (A14.3.2).
void put_extended_headers(ByteWriter& out, const Packet& packet) {
  const OpcodeInfo& which = info(packet.bth.opcode);
  const std::size_t start = out.size();
  if (which.has_deth) {
    out.put(packet.deth.qkey, 4);
    out.put(packet.deth.source.value, 4);
  }
  if (which.has_xrc_eth) out.put(packet.xrc_srqn, 4);
  if (which.has_reth) {
    out.put(packet.reth.va.value, 8);
    out.put(packet.reth.rkey.value, 4);
    out.put(packet.reth.length, 4);
  }
  if (which.has_atomic_eth) {
    out.put(packet.atomic.va.value, 8);
    out.put(packet.atomic.rkey.value, 4);
    out.put(packet.atomic.swap_add, 8);
    out.put(packet.atomic.compare, 8);
  }
  if (which.has_aeth) {
    out.put(packet.aeth.syndrome, 1);
    out.put(packet.aeth.msn, 3);
  }
  if (which.has_atomic_ack_eth) out.put(packet.atomic_ack, 8);
  if (which.has_immediate) out.put(std::as_bytes(std::span(&packet.immediate, 1)));
  if (which.has_invalidate) out.put(packet.invalidate_rkey, 4);
  // Reserved bytes of a congestion notification.
  out.zeros(which.extended_header_bytes - (out.size() - start));
}

void put_payload(ByteWriter& out, const Packet& packet) {
  if (packet.payload.has_bytes()) {
    out.put(packet.payload.bytes());
  } else {
    out.zeros(packet.payload.length);
  }
  out.zeros(pad_bytes(packet));
}

void put_udp(ByteWriter& out, const Packet& packet) {
  out.put(packet.ethernet->udp_source_port, 2);
  out.put(kRoceUdpPort, 2);
  out.put(kUdpBytes + transport_bytes(packet), 2);
  out.put(0, 2);  // no checksum: the ICRC protects the datagram (A17.4.5.2)
}

}  // namespace

void write_grh(const Packet& packet, std::span<std::byte, kGrhBytes> to) {
  CHECK(packet.grh.has_value());
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  if (!packet.ethernet) {
    put_ipv6(out, *packet.grh, transport_bytes(packet), kGrhNextHeader);
  } else if (is_over_ipv4(packet)) {
    out.zeros(kGrhBytes - kIpv4Bytes);
    put_ipv4(bytes, *packet.grh, kUdpBytes + transport_bytes(packet));
  } else {
    put_ipv6(out, *packet.grh, kUdpBytes + transport_bytes(packet), kUdpProtocol);
  }
  std::memcpy(to.data(), bytes.data(), kGrhBytes);
}

std::uint32_t icrc_of(std::span<const std::byte> bytes, const FrameShape& shape) {
  const std::byte ones{0xff};
  std::vector<std::byte> head(bytes.begin(),
                              bytes.begin() + static_cast<std::ptrdiff_t>(shape.bth_at + kBthBytes));
  const auto mask = [&](std::size_t at) { head[at] = ones; };
  if (shape.kind == FrameShape::kInfiniBand) {
    head[0] |= std::byte{0xf0};  // the virtual lane
  } else {
    head.erase(head.begin(), head.begin() + shape.ethernet_bytes);
  }
  const std::size_t network = shape.kind == FrameShape::kInfiniBand ? kLrhBytes : 0;
  const std::size_t bth = shape.bth_at - (shape.kind == FrameShape::kInfiniBand ? 0 : shape.ethernet_bytes);
  if (shape.kind == FrameShape::kRoceIpv4) {
    for (const std::size_t at : {1, 8, 10, 11}) mask(at);  // type of service, time to live, checksum
  } else if (bth - network >= kGrhBytes) {
    head[network] |= std::byte{0x0f};                              // traffic class
    for (const std::size_t at : {1, 2, 3, 7}) mask(network + at);  // flow label, hop limit
  }
  if (shape.kind != FrameShape::kInfiniBand) {
    mask(bth - 2);  // UDP checksum
    mask(bth - 1);
  }
  mask(bth + 4);  // FECN, BECN and the reserved bits next to them
  Icrc icrc;
  if (shape.kind != FrameShape::kInfiniBand) icrc.add_ones(kLrhBytes);  // A17.3.3: in place of the LRH
  icrc.add(head);
  icrc.add(bytes.subspan(shape.bth_at + kBthBytes));
  return icrc.value();
}

void encode(const Packet& packet, std::vector<std::byte>& to) {
  if (packet.is_frame) {
    const std::span<const std::byte> frame = packet.payload.bytes();
    to.assign(frame.begin(), frame.end());
    return;
  }
  CHECK(info(packet.bth.opcode).defined && packet.payload.length <= kLargestPayload);
  to.clear();
  to.reserve(packet.wire_bytes());
  ByteWriter out(to);
  FrameShape shape;
  if (!packet.ethernet) {
    put_lrh(out, packet);
    if (packet.grh) put_ipv6(out, *packet.grh, transport_bytes(packet), kGrhNextHeader);
  } else {
    CHECK(packet.grh.has_value());
    const bool ipv4 = is_over_ipv4(packet);
    shape.kind = ipv4 ? FrameShape::kRoceIpv4 : FrameShape::kRoceIpv6;
    out.put(packet.ethernet->destination.value, 6);
    out.put(packet.ethernet->source.value, 6);
    if (packet.ethernet->vlan != 0) {
      out.put(kTypeVlan, 2);
      out.put(packet.ethernet->vlan, 2);
      shape.ethernet_bytes += kVlanTagBytes;
    }
    out.put(ipv4 ? 0x0800 : 0x86dd, 2);
    if (ipv4) {
      put_ipv4(to, *packet.grh, kUdpBytes + transport_bytes(packet));
    } else {
      put_ipv6(out, *packet.grh, kUdpBytes + transport_bytes(packet), kUdpProtocol);
    }
    put_udp(out, packet);
  }
  shape.bth_at = to.size();
  put_bth(out, packet);
  put_extended_headers(out, packet);
  put_payload(out, packet);

  const std::size_t icrc_at = to.size();
  const std::uint32_t icrc = icrc_of(to, shape);
  for (int i = 0; i < 4; ++i) out.put(icrc >> 8 * i & 0xff, 1);
  if (packet.corrupted) to[icrc_at] ^= std::byte{0x80};
  if (packet.ethernet) return;
  const std::uint16_t vcrc = vcrc_of(to);
  out.put(vcrc & 0xff, 1);
  out.put(vcrc >> 8, 1);
}

}  // namespace verbatim::ib
