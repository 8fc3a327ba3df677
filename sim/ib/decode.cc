#include <cstring>

#include "sim/ib/bytes.h"
#include "sim/ib/crc.h"
#include "sim/ib/wire.h"

namespace verbatim::ib {

namespace {

Gid gid_from(std::span<const std::byte> bytes) {
  Gid gid;
  if (bytes.size() == sizeof(gid.raw)) std::memcpy(gid.raw, bytes.data(), sizeof(gid.raw));
  return gid;
}

Gid ipv4_mapped(std::span<const std::byte> address) {
  Gid gid;
  gid.raw[10] = gid.raw[11] = 0xff;
  if (address.size() == 4) std::memcpy(&gid.raw[12], address.data(), 4);
  return gid;
}

// Reads one packet; each step returns the problem that it found, or nothing.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes), in_(bytes) {}

  Decoded infiniband() {
    if (bytes_.size() < kLrhBytes + kBthBytes + kIcrcBytes + kVcrcBytes)
      return fail("shorter than any packet");
    tail_bytes_ = kVcrcBytes;
    result_.problem = lrh();
    if (result_.problem.empty() && has_grh_) result_.problem = ipv6(0x1b);
    if (result_.problem.empty()) result_.problem = transport();
    if (!result_.problem.empty()) return std::move(result_);
    check_icrc();
    const std::size_t end = bytes_.size() - kVcrcBytes;
    const std::uint16_t vcrc = vcrc_of(bytes_.first(end));
    result_.vcrc_matches = static_cast<std::uint8_t>(bytes_[end]) == (vcrc & 0xff) &&
                           static_cast<std::uint8_t>(bytes_[end + 1]) == vcrc >> 8;
    return std::move(result_);
  }

  Decoded ethernet() {
    Ethernet& ethernet = result_.packet.ethernet.emplace();
    ethernet.destination = MacAddress{in_.get(6)};
    ethernet.source = MacAddress{in_.get(6)};
    std::uint16_t type = in_.get16();
    if (type == kTypeVlan) {
      ethernet.vlan = in_.get16();
      if ((ethernet.vlan & kVlanIdentifier) == 0) return fail("a VLAN tag without an identifier");
      shape_.ethernet_bytes += kVlanTagBytes;
      type = in_.get16();
    }
    if (!in_.good()) return fail("shorter than an Ethernet header");
    if (type == 0x0800) {
      shape_.kind = FrameShape::kRoceIpv4;
      result_.problem = ipv4();
    } else if (type == 0x86dd) {
      shape_.kind = FrameShape::kRoceIpv6;
      result_.problem = ipv6(17);
    } else {
      return fail("neither IPv4 nor IPv6");
    }
    if (result_.problem.empty()) result_.problem = udp();
    if (result_.problem.empty()) result_.problem = transport();
    if (result_.problem.empty()) check_icrc();
    return std::move(result_);
  }

 private:
  Decoded fail(std::string_view problem) {
    result_.problem = problem;
    return std::move(result_);
  }

  std::string_view lrh() {
    Lrh& lrh = result_.packet.lrh;
    const std::uint8_t first = in_.get8();
    lrh.lane = VirtualLane{static_cast<std::uint8_t>(first >> 4)};
    const std::uint8_t second = in_.get8();
    lrh.service_level = ServiceLevel{static_cast<std::uint8_t>(second >> 4)};
    lrh.destination = Lid{in_.get16()};
    const std::size_t words = in_.get16() & 0x7ff;
    lrh.source = Lid{in_.get16()};
    if ((first & 0xf) != 0) return "unknown link version";
    if ((second & 3) < 2) return "not of the InfiniBand transport";
    has_grh_ = (second & 3) == 3;
    if (4 * words + kVcrcBytes != bytes_.size()) return "the LRH has another length";
    return {};
  }

  std::string_view ipv6(std::uint8_t next_header) {
    Grh& grh = result_.packet.grh.emplace();
    const std::uint32_t first = in_.get32();
    grh.traffic_class = static_cast<std::uint8_t>(first >> 20);
    grh.flow_label = first & 0xfffff;
    const std::size_t length = in_.get16();
    const std::uint8_t next = in_.get8();
    grh.hop_limit = in_.get8();
    grh.source = gid_from(in_.take(16));
    grh.destination = gid_from(in_.take(16));
    if (!in_.good()) return "shorter than its network header";
    if (first >> 28 != 6) return "the network header is not of version 6";
    if (next != next_header) return "the network header is followed by something else";
    if (length + tail_bytes_ != in_.left()) return "the network header has another length";
    // On Ethernet, two IPv4-mapped addresses belong in an IPv4 header.
    if (next_header == 17 && is_ipv4_mapped(grh.source) && is_ipv4_mapped(grh.destination)) {
      return "IPv4 addresses in an IPv6 header";
    }
    return {};
  }

  std::string_view ipv4() {
    Grh& grh = result_.packet.grh.emplace();
    const std::uint8_t version = in_.get8();
    grh.traffic_class = in_.get8();
    const std::size_t length = in_.get16();
    in_.take(2);
    const std::uint16_t fragment = in_.get16();
    grh.hop_limit = in_.get8();
    const std::uint8_t protocol = in_.get8();
    in_.take(2);
    grh.source = ipv4_mapped(in_.take(4));
    grh.destination = ipv4_mapped(in_.take(4));
    if (!in_.good()) return "shorter than its network header";
    if (version != 0x45) return "the network header is not one of IPv4 without options";
    if ((fragment & 0x3fff) != 0) return "a fragment";
    if (protocol != 17) return "the network header is followed by something else";
    if (length != kIpv4Bytes + in_.left()) return "the network header has another length";
    return {};
  }

  std::string_view udp() {
    const std::size_t all = in_.left();
    result_.packet.ethernet->udp_source_port = in_.get16();
    const std::uint16_t port = in_.get16();
    const std::size_t length = in_.get16();
    in_.take(2);
    if (!in_.good()) return "shorter than its UDP header";
    if (port != kRoceUdpPort) return "not addressed to the UDP port of RoCEv2";
    if (length != all) return "the UDP header has another length";
    return {};
  }

  std::string_view transport() {
    shape_.bth_at = bytes_.size() - in_.left();
    if (in_.left() < kBthBytes + kIcrcBytes + tail_bytes_) return "shorter than a BTH and an ICRC";
    Packet& packet = result_.packet;
    Bth& bth = packet.bth;
    bth.opcode = static_cast<Opcode>(in_.get8());
    const std::uint8_t flags = in_.get8();
    bth.solicited = (flags & 0x80) != 0;
    bth.mig_request = (flags & 0x40) != 0;
    const std::uint32_t pad = flags >> 4 & 3;
    bth.pkey = in_.get16();
    const std::uint8_t congestion = in_.get8();
    bth.fecn = (congestion & kFecn) != 0;
    bth.becn = (congestion & kBecn) != 0;
    bth.destination = Qpn{in_.get24()};
    bth.ack_request = (in_.get8() & 0x80) != 0;
    bth.psn = Psn{in_.get24()};
    const OpcodeInfo& which = info(bth.opcode);
    if ((flags & 0xf) != 0) return "unknown transport header version";
    if (!which.defined) return "undefined opcode";
    if (in_.left() < which.extended_header_bytes + kIcrcBytes + tail_bytes_)
      return "shorter than its headers";
    extended_headers(which);
    const std::size_t rest = in_.left() - kIcrcBytes - tail_bytes_;
    if (rest < pad) return "more padding than payload";
    const std::size_t length = rest - pad;
    if (length > 0 && !which.has_payload) return "a payload behind an opcode that has none";
    if (length > kLargestPayload) return "a payload larger than any MTU";
    if (pad != (-length & 3)) return "the payload is not padded to whole words";
    packet.payload.length = static_cast<std::uint32_t>(length);
    if (length > 0) packet.payload.buffer = PayloadBuffer::copy_of(in_.take(length));
    return {};
  }

  void extended_headers(const OpcodeInfo& which) {
    Packet& packet = result_.packet;
    const std::size_t before = in_.left();
    if (which.has_deth) {
      packet.deth.qkey = in_.get32();
      packet.deth.source = Qpn{in_.get32() & 0xffffff};
    }
    if (which.has_xrc_eth) packet.xrc_srqn = in_.get32() & 0xffffff;
    if (which.has_reth) {
      packet.reth.va = RemoteVa{in_.get(8)};
      packet.reth.rkey = RKey{in_.get32()};
      packet.reth.length = in_.get32();
    }
    if (which.has_atomic_eth) {
      packet.atomic.va = RemoteVa{in_.get(8)};
      packet.atomic.rkey = RKey{in_.get32()};
      packet.atomic.swap_add = in_.get(8);
      packet.atomic.compare = in_.get(8);
    }
    if (which.has_aeth) {
      packet.aeth.syndrome = in_.get8();
      packet.aeth.msn = in_.get24();
    }
    if (which.has_atomic_ack_eth) packet.atomic_ack = in_.get(8);
    if (which.has_immediate) std::memcpy(&packet.immediate, in_.take(4).data(), 4);
    if (which.has_invalidate) packet.invalidate_rkey = in_.get32();
    in_.take(which.extended_header_bytes - (before - in_.left()));
  }

  void check_icrc() {
    const std::size_t at = bytes_.size() - tail_bytes_ - kIcrcBytes;
    const std::uint32_t icrc = icrc_of(bytes_.first(at), shape_);
    result_.icrc_matches = true;
    for (std::size_t i = 0; i < kIcrcBytes; ++i) {
      if (static_cast<std::uint8_t>(bytes_[at + i]) != (icrc >> 8 * i & 0xff)) result_.icrc_matches = false;
    }
  }

  std::span<const std::byte> bytes_;
  ByteReader in_;
  Decoded result_;
  FrameShape shape_;
  std::size_t tail_bytes_ = 0;  // bytes after the ICRC
  bool has_grh_ = false;
};

}  // namespace

Decoded decode_infiniband(std::span<const std::byte> bytes) { return Decoder(bytes).infiniband(); }
Decoded decode_ethernet(std::span<const std::byte> bytes) { return Decoder(bytes).ethernet(); }

}  // namespace verbatim::ib
