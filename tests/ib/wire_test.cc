#include "sim/ib/wire.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>
#include <string_view>

#include "sim/ib/ecn.h"

namespace verbatim::ib {
namespace {

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  std::string digits;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    digits += c;
    if (digits.size() == 2) {
      bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
      digits.clear();
    }
  }
  return bytes;
}

std::vector<std::byte> encoded(const Packet& packet) {
  std::vector<std::byte> bytes;
  encode(packet, bytes);
  return bytes;
}

enum class Frame { kLocal, kGlobal, kRoceIpv4, kRoceIpv6 };

Gid any_gid() {
  Gid gid;
  for (std::uint8_t& byte : gid.raw) byte = *rc::gen::arbitrary<std::uint8_t>();
  gid.raw[0] = 0xfe;  // not an IPv4-mapped address
  return gid;
}

Gid any_ipv4_gid() {
  Gid gid;
  gid.raw[10] = gid.raw[11] = 0xff;
  for (int i = 12; i < 16; ++i) gid.raw[i] = *rc::gen::arbitrary<std::uint8_t>();
  return gid;
}

Payload any_payload() {
  Payload payload;
  payload.length = *rc::gen::inRange<std::uint32_t>(0, 200);
  if (payload.length == 0) return payload;
  payload.buffer = PayloadBuffer::allocate(payload.length + 3);
  for (std::byte& byte : payload.buffer.fill())
    byte = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  payload.offset = 3;
  return payload;
}

// A packet with random values in the headers of the opcode; all other headers are empty.
Packet any_packet(Opcode opcode, Frame frame) {
  const auto number = [](std::uint32_t limit) { return *rc::gen::inRange<std::uint32_t>(0, limit); };
  const auto u64 = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
  const auto u32 = [] { return *rc::gen::arbitrary<std::uint32_t>(); };
  Packet packet;
  packet.bth.opcode = opcode;
  packet.bth.solicited = number(2) == 1;
  packet.bth.mig_request = number(2) == 1;
  packet.bth.ack_request = number(2) == 1;
  packet.bth.fecn = number(2) == 1;
  packet.bth.becn = number(2) == 1;
  packet.bth.pkey = static_cast<std::uint16_t>(number(65536));
  packet.bth.destination = Qpn{number(1 << 24)};
  packet.bth.psn = Psn{number(1 << 24)};
  const OpcodeInfo& which = info(opcode);
  if (which.has_deth) packet.deth = {u32(), Qpn{number(1 << 24)}};
  if (which.has_xrc_eth) packet.xrc_srqn = number(1 << 24);
  if (which.has_reth) packet.reth = {RemoteVa{u64()}, RKey{u32()}, u32()};
  if (which.has_atomic_eth) packet.atomic = {RemoteVa{u64()}, RKey{u32()}, u64(), u64()};
  if (which.has_aeth) packet.aeth = {static_cast<std::uint8_t>(number(256)), number(1 << 24)};
  if (which.has_atomic_ack_eth) packet.atomic_ack = u64();
  if (which.has_immediate) packet.immediate = u32();
  if (which.has_invalidate) packet.invalidate_rkey = u32();
  if (which.has_payload) packet.payload = any_payload();
  if (frame == Frame::kLocal || frame == Frame::kGlobal) {
    packet.lrh = {Lid{static_cast<std::uint16_t>(number(65536))},
                  Lid{static_cast<std::uint16_t>(number(65536))},
                  ServiceLevel{static_cast<std::uint8_t>(number(16))},
                  VirtualLane{static_cast<std::uint8_t>(number(16))}};
  } else {
    packet.ethernet =
        Ethernet{MacAddress{u64() >> 16}, MacAddress{u64() >> 16}, static_cast<std::uint16_t>(number(65536)),
                 number(2) == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(number(65536) | 1)};
  }
  if (frame != Frame::kLocal) {
    const bool ipv4 = frame == Frame::kRoceIpv4;
    Grh& grh = packet.grh.emplace();
    grh = {ipv4 ? any_ipv4_gid() : any_gid(), ipv4 ? any_ipv4_gid() : any_gid(), ipv4 ? 0 : number(1 << 20),
           static_cast<std::uint8_t>(number(256)), static_cast<std::uint8_t>(number(256))};
  }
  return packet;
}

Decoded decoded(const Packet& like, std::span<const std::byte> bytes) {
  return like.ethernet ? decode_ethernet(bytes) : decode_infiniband(bytes);
}

void expect_same(const Packet& a, const Packet& b) {
  RC_ASSERT(a.bth.opcode == b.bth.opcode);
  RC_ASSERT(a.bth.solicited == b.bth.solicited);
  RC_ASSERT(a.bth.mig_request == b.bth.mig_request);
  RC_ASSERT(a.bth.ack_request == b.bth.ack_request);
  RC_ASSERT(a.bth.fecn == b.bth.fecn);
  RC_ASSERT(a.bth.becn == b.bth.becn);
  RC_ASSERT(a.bth.pkey == b.bth.pkey);
  RC_ASSERT(a.bth.destination == b.bth.destination);
  RC_ASSERT(a.bth.psn == b.bth.psn);
  RC_ASSERT(a.deth.qkey == b.deth.qkey);
  RC_ASSERT(a.deth.source == b.deth.source);
  RC_ASSERT(a.xrc_srqn == b.xrc_srqn);
  RC_ASSERT(a.reth.va == b.reth.va);
  RC_ASSERT(a.reth.rkey == b.reth.rkey);
  RC_ASSERT(a.reth.length == b.reth.length);
  RC_ASSERT(a.atomic.va == b.atomic.va);
  RC_ASSERT(a.atomic.rkey == b.atomic.rkey);
  RC_ASSERT(a.atomic.swap_add == b.atomic.swap_add);
  RC_ASSERT(a.atomic.compare == b.atomic.compare);
  RC_ASSERT(a.aeth.syndrome == b.aeth.syndrome);
  RC_ASSERT(a.aeth.msn == b.aeth.msn);
  RC_ASSERT(a.atomic_ack == b.atomic_ack);
  RC_ASSERT(a.immediate == b.immediate);
  RC_ASSERT(a.invalidate_rkey == b.invalidate_rkey);
  RC_ASSERT(a.lrh.source == b.lrh.source);
  RC_ASSERT(a.lrh.destination == b.lrh.destination);
  RC_ASSERT(a.lrh.service_level == b.lrh.service_level);
  RC_ASSERT(a.lrh.lane == b.lrh.lane);
  RC_ASSERT(a.grh.has_value() == b.grh.has_value());
  if (a.grh) {
    RC_ASSERT(a.grh->source == b.grh->source);
    RC_ASSERT(a.grh->destination == b.grh->destination);
    RC_ASSERT(a.grh->flow_label == b.grh->flow_label);
    RC_ASSERT(a.grh->traffic_class == b.grh->traffic_class);
    RC_ASSERT(a.grh->hop_limit == b.grh->hop_limit);
  }
  RC_ASSERT(a.ethernet.has_value() == b.ethernet.has_value());
  if (a.ethernet) {
    RC_ASSERT(a.ethernet->source == b.ethernet->source);
    RC_ASSERT(a.ethernet->destination == b.ethernet->destination);
    RC_ASSERT(a.ethernet->udp_source_port == b.ethernet->udp_source_port);
    RC_ASSERT(a.ethernet->vlan == b.ethernet->vlan);
  }
  RC_ASSERT(a.payload.length == b.payload.length);
  if (a.payload.length > 0) {
    RC_ASSERT(std::memcmp(a.payload.bytes().data(), b.payload.bytes().data(), a.payload.length) == 0);
  }
}

std::vector<Opcode> defined_opcodes() {
  std::vector<Opcode> opcodes;
  for (int code = 0; code < 256; ++code) {
    if (info(static_cast<Opcode>(code)).defined) opcodes.push_back(static_cast<Opcode>(code));
  }
  return opcodes;
}

TEST(WireTest, the_global_route_header_byte_by_byte) {
  Packet packet;
  packet.bth.opcode = make_opcode(Transport::kUd, Operation::kSendOnly);
  packet.payload.length = 1;
  Grh& grh = packet.grh.emplace();
  grh.traffic_class = 0xab;
  grh.flow_label = 0xcdef1;
  grh.hop_limit = 9;
  for (std::uint8_t i = 0; i < 16; ++i) {
    grh.source.raw[i] = i;
    grh.destination.raw[i] = static_cast<std::uint8_t>(0x80 + i);
  }
  std::array<std::byte, kGrhBytes> bytes{};
  write_grh(packet, bytes);
  // BTH 12, DETH 8, payload padded to 4, ICRC 4.
  const std::uint8_t head[] = {0x6a, 0xbc, 0xde, 0xf1, 0, 28, 0x1b, 9};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(static_cast<std::uint8_t>(bytes[i]), head[i]) << i;
  EXPECT_EQ(std::memcmp(&bytes[8], grh.source.raw, 16), 0);
  EXPECT_EQ(std::memcmp(&bytes[24], grh.destination.raw, 16), 0);
}

// The 40 bytes before a datagram received over IPv4: 20 undefined bytes, then the IP header.
TEST(WireTest, the_route_header_of_ipv4_is_the_ip_header_in_the_last_20_bytes) {
  Packet packet;
  packet.bth.opcode = make_opcode(Transport::kUd, Operation::kSendOnly);
  packet.payload.length = 4;
  packet.ethernet.emplace();
  Grh& grh = packet.grh.emplace();
  const std::uint8_t server[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  std::memcpy(grh.source.raw, server, 16);
  std::memcpy(grh.destination.raw, server, 16);
  grh.destination.raw[15] = 2;
  grh.hop_limit = 64;
  std::array<std::byte, kGrhBytes> bytes{};
  write_grh(packet, bytes);
  // Length: IP 20, UDP 8, BTH 12, DETH 8, payload 4, ICRC 4. Checksum: the header's words add up to 0xffff.
  const auto header = from_hex("45 00 00 38 00 00 40 00 40 11 26 b3 0a 00 00 01 0a 00 00 02");
  EXPECT_EQ(std::memcmp(&bytes[20], header.data(), 20), 0);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(bytes[i], std::byte{0}) << i;
}

// IBA volume 1, 7.8.1, table 29: a sample packet and its ICRC, 0x9625b75a.
TEST(WireTest, the_sample_packet_of_the_specification_has_the_icrc_of_the_specification) {
  Packet packet;
  packet.lrh = {Lid{0x17d2}, Lid{0x375c}, ServiceLevel{1}, VirtualLane{7}};
  packet.bth.opcode = make_opcode(Transport::kRc, Operation::kWriteOnly);
  packet.bth.mig_request = false;
  packet.bth.pkey = 0x2487;
  packet.bth.destination = Qpn{0x87b1b3};
  packet.bth.psn = Psn{0x0dec2a};
  packet.reth = {RemoteVa{0x01710a1c015d4002}, RKey{0x38f27a05}, 14};
  packet.payload.buffer = PayloadBuffer::copy_of(from_hex("bb884d85fd5cfba4728bc0690ed4"));
  packet.payload.length = 14;
  const auto expected = from_hex(
      "70 12 37 5c 00 0e 17 d2  0a 20 24 87 00 87 b1 b3 00 0d ec 2a  01 71 0a 1c 01 5d 40 02 38 f2 7a 05 00 "
      "00 00 0e"
      "bb 88 4d 85 fd 5c fb a4 72 8b c0 69 0e d4 00 00  96 25 b7 5a");
  auto bytes = encoded(packet);
  ASSERT_EQ(bytes.size(), expected.size() + kVcrcBytes);
  bytes.resize(expected.size());
  EXPECT_EQ(bytes, expected);
}

// A UC packet of RoCEv2, from the regression tests of Scapy's RoCE layer (test/contrib/roce.uts): ICRC
// 78f353f3.
TEST(WireTest, a_published_uc_packet_of_roce_has_the_icrc_it_was_published_with) {
  const auto bytes = from_hex(
      "248a07a8fa22 000000000000 0800  45 01 0040 0478 4000 40 11 b4d5 c0a80007 c0a80007  c000 12b7 002c aca2"
      "24 60 ffff 00 0000d3 00 cf1710  4630818be28935d90e9a95505401be885e500000  78f353f3");
  const Decoded decoded = decode_ethernet(bytes);
  EXPECT_EQ(decoded.problem, "");
  EXPECT_TRUE(decoded.icrc_matches);
  EXPECT_EQ(decoded.packet.bth.destination.value, 211u);
  EXPECT_EQ(decoded.packet.bth.psn.value, 13571856u);
  EXPECT_EQ(decoded.packet.payload.length, 18u);
  EXPECT_EQ(decoded.packet.grh->traffic_class, 1);
}

// A congestion notification captured on a ConnectX-4 Lx, from the same tests.
TEST(WireTest, a_captured_congestion_notification_has_the_icrc_it_was_captured_with) {
  const auto bytes = from_hex(
      "e41d2dab2bc2 7cfe90643b32 0800  45c2003c718c40004011 9161 0a001101 0a001201  0000 12b7 0028 0000"
      "8100ffff 40000118 00000000 00000000000000000000000000000000  82fd002a");
  const Decoded decoded = decode_ethernet(bytes);
  EXPECT_EQ(decoded.problem, "");
  EXPECT_TRUE(decoded.icrc_matches);
  EXPECT_EQ(decoded.packet.bth.destination.value, 0x118u);
  EXPECT_EQ(decoded.packet.bth.opcode, Opcode::kCongestionNotification);
  EXPECT_TRUE(decoded.packet.bth.becn);
  EXPECT_FALSE(decoded.packet.bth.fecn);
  EXPECT_EQ(decoded.packet.grh->traffic_class >> kDscpShift, 48) << "the class that ConnectX adapters give notifications";
  EXPECT_EQ(ecn_of(decoded.packet), Ecn::kCapable0);
  EXPECT_EQ(encoded(decoded.packet)[46], std::byte{0x40}) << "BECN alone";
}

// RFC 3168, 5: the two low bits of the traffic class.
TEST(WireTest, the_ecn_codepoint_is_in_the_low_two_bits_of_the_traffic_class) {
  EXPECT_EQ(ecn_of(0xb8), Ecn::kNotCapable);
  EXPECT_EQ(ecn_of(0xb9), Ecn::kCapable1);
  EXPECT_EQ(ecn_of(0xba), Ecn::kCapable0);
  EXPECT_EQ(ecn_of(0xbb), Ecn::kCongestionExperienced);
  EXPECT_EQ(with_ecn(0xbb, Ecn::kNotCapable), 0xb8);
  EXPECT_EQ(with_ecn(0xb8, Ecn::kCongestionExperienced), 0xbb);
  Packet packet;
  packet.grh.emplace().traffic_class = 0x02;
  EXPECT_EQ(ecn_of(packet), Ecn::kNotCapable) << "a GRH of InfiniBand has no ECN";
  packet.ethernet.emplace();
  EXPECT_EQ(ecn_of(packet), Ecn::kCapable0);
  mark_congestion(packet);
  EXPECT_EQ(packet.grh->traffic_class, 0x03);
}

// IBA A17.9.3: a BTH and 16 reserved bytes. 14 + 20 + 8 + 12 + 16 + 4 + 4 = 78 bytes over IPv4.
TEST(WireTest, a_congestion_notification_over_ipv4_is_78_bytes_long) {
  Packet packet;
  packet.bth.opcode = Opcode::kCongestionNotification;
  packet.ethernet.emplace();
  Grh& grh = packet.grh.emplace();
  for (Gid* gid : {&grh.source, &grh.destination}) gid->raw[10] = gid->raw[11] = 0xff;
  EXPECT_EQ(packet.wire_bytes(), 78u);
}

RC_GTEST_PROP(WireTest, every_packet_comes_back_as_it_went_in, ()) {
  const Frame frame = *rc::gen::element(Frame::kLocal, Frame::kGlobal, Frame::kRoceIpv4, Frame::kRoceIpv6);
  const Opcode opcode = *rc::gen::elementOf(defined_opcodes());
  const Packet packet = any_packet(opcode, frame);
  const auto bytes = encoded(packet);
  RC_ASSERT(bytes.size() + (packet.ethernet ? kFrameCheckBytes : 0) == packet.wire_bytes());
  const Decoded back = decoded(packet, bytes);
  RC_ASSERT(back.problem == "");
  RC_ASSERT(back.icrc_matches);
  RC_ASSERT(back.vcrc_matches == !packet.ethernet.has_value());
  expect_same(packet, back.packet);
}

// Truncated, changed or random bytes result in a sentence or in a packet, and a packet can be encoded again.
RC_GTEST_PROP(WireTest, no_bytes_are_too_much_for_the_decoder, ()) {
  const Frame frame = *rc::gen::element(Frame::kLocal, Frame::kGlobal, Frame::kRoceIpv4, Frame::kRoceIpv6);
  const Packet packet = any_packet(*rc::gen::elementOf(defined_opcodes()), frame);
  auto bytes = encoded(packet);
  const auto changes = *rc::gen::container<std::vector<std::pair<std::uint16_t, std::uint8_t>>>(
      *rc::gen::inRange<std::size_t>(0, 4),
      rc::gen::pair(rc::gen::arbitrary<std::uint16_t>(), rc::gen::arbitrary<std::uint8_t>()));
  for (const auto& [at, value] : changes)
    bytes[at % std::min<std::size_t>(bytes.size(), 70)] = std::byte{value};
  if (*rc::gen::inRange(0, 3) == 0) bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  const Decoded first = decoded(packet, bytes);
  if (!first.problem.empty()) return;
  const Decoded second = decoded(packet, encoded(first.packet));
  RC_ASSERT(second.problem == "");
  RC_ASSERT(second.icrc_matches);
  expect_same(first.packet, second.packet);
}

// IBA 7.8.1, A17.3.3: the ICRC covers everything except fields that a switch or router may change.
TEST(WireTest, the_icrc_covers_what_must_not_change_and_nothing_else) {
  const auto icrc = [](const Packet& packet) {
    const auto bytes = encoded(packet);
    const std::size_t end = bytes.size() - (packet.ethernet ? 0 : kVcrcBytes);
    return std::vector<std::byte>(bytes.begin() + static_cast<std::ptrdiff_t>(end - 4),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const bool roce : {false, true}) {
    for (const bool ipv4 : {false, true}) {
      Packet packet;
      packet.payload.length = 0;
      Grh& grh = packet.grh.emplace();
      if (ipv4) {
        for (Gid* gid : {&grh.source, &grh.destination}) gid->raw[10] = gid->raw[11] = 0xff;
      }
      if (roce) packet.ethernet.emplace();
      const auto before = icrc(packet);
      packet.lrh.lane = VirtualLane{3};
      grh.hop_limit = 1;
      grh.traffic_class = 0x55;
      packet.bth.fecn = packet.bth.becn = true;
      grh.flow_label = 0x12345;
      if (roce) packet.ethernet->source = MacAddress{0x1234};
      if (roce) packet.ethernet->vlan = 0x600a;
      EXPECT_EQ(icrc(packet), before) << roce << ipv4;
      packet.bth.psn = Psn{1};
      const auto other_psn = icrc(packet);
      EXPECT_NE(other_psn, before) << roce << ipv4;
      grh.destination.raw[15] = 1;
      EXPECT_NE(icrc(packet), other_psn) << roce << ipv4;
    }
  }
}

TEST(WireTest, the_icrc_of_a_corrupted_packet_does_not_match) {
  Packet packet;
  packet.bth.opcode = make_opcode(Transport::kRc, Operation::kSendOnly);
  packet.payload.buffer = PayloadBuffer::copy_of(from_hex("01020304"));
  packet.payload.length = 4;
  packet.corrupted = true;
  Decoded back = decode_infiniband(encoded(packet));
  EXPECT_EQ(back.problem, "");
  EXPECT_FALSE(back.icrc_matches);
  EXPECT_TRUE(back.vcrc_matches);
  EXPECT_EQ(back.packet.payload.bytes()[0], std::byte{1}) << "whoever corrupts a packet changes its payload";
  packet.payload = {};
  back = decode_infiniband(encoded(packet));
  EXPECT_FALSE(back.icrc_matches);
}

TEST(WireTest, the_decoder_says_what_is_wrong) {
  Packet packet;
  packet.bth.opcode = make_opcode(Transport::kRc, Operation::kWriteOnly);
  packet.payload.length = 8;
  const auto good = encoded(packet);
  const auto problem = [&](std::size_t at, std::uint8_t value) {
    auto bytes = good;
    bytes[at] = std::byte{value};
    return std::string(decode_infiniband(bytes).problem);
  };
  EXPECT_EQ(decode_infiniband(std::span(good).first(20)).problem, "shorter than any packet");
  EXPECT_EQ(problem(0, 0x01), "unknown link version");
  EXPECT_EQ(problem(1, 0x00), "not of the InfiniBand transport");
  EXPECT_EQ(problem(5, 0x01), "the LRH has another length");
  EXPECT_EQ(problem(8, 0x15), "undefined opcode");
  EXPECT_EQ(problem(8, 0x0c), "a payload behind an opcode that has none");
  EXPECT_EQ(problem(9, 0x01), "unknown transport header version");
  EXPECT_EQ(problem(8, 0x13), "shorter than its headers");
}

}  // namespace
}  // namespace verbatim::ib
