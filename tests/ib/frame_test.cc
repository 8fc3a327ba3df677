// Ethernet frames of programs: parsed headers, and changes to a frame on departure.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/ib/frame.h"

namespace verbatim::ib {
namespace {

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  int digits = 0, value = 0;
  for (const char c : hex) {
    if (c == ' ') continue;
    value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    if (++digits % 2 == 0) bytes.push_back(static_cast<std::byte>(std::exchange(value, 0)));
  }
  return bytes;
}

constexpr std::string_view kAddresses = "0a0000000001 0b0000000002 ";
constexpr std::string_view kIpv4 = "45001234 00004000 40110000 01020304 05060708 ";
constexpr std::string_view kPorts = "04d2 162e 00000000 ";

std::string join(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

std::vector<std::byte> plain() { return bytes_of(join({kAddresses, "0800", kIpv4, kPorts})); }

TEST(FrameTest, headers_are_found_behind_vlan_tags) {
  for (const std::string_view tags : {"", "8100 a00c", "88a8 a00c 8100 0001"}) {
    const auto bytes = bytes_of(join({kAddresses, tags, "0800", kIpv4, kPorts}));
    const Frame frame = parse_frame(bytes);
    EXPECT_EQ(frame.outer.ether_type, 0x0800);
    EXPECT_EQ(frame.outer.vlan.has_value(), !tags.empty());
    EXPECT_EQ(frame.outer.vlan.value_or(0xa00c), 0xa00c);
    EXPECT_EQ(frame.outer.ipv4.size(), 20u);
    EXPECT_EQ(frame.outer.protocol, kProtocolUdp);
    EXPECT_EQ(frame.outer.ports.size(), 4u);
    EXPECT_FALSE(frame.vxlan);
  }
}

TEST(FrameTest, ports_lie_behind_options_and_extension_headers) {
  const auto options = bytes_of(join({kAddresses, "0800", "46001234 00004000 40060000 01020304 05060708 01010101", kPorts}));
  EXPECT_EQ(std::to_integer<int>(parse_frame(options).outer.ports[0]), 0x04);
  const std::string addresses = "20010db8000000000000000000000001 20010db8000000000000000000000002 ";
  // Hop by hop, routing, then TCP.
  const auto six = bytes_of(join({kAddresses, "86dd", "60000000 0000 00 40", addresses, "2b00 000000000000 0601 00000000000000000000000000 00", kPorts}));
  const Frame frame = parse_frame(six);
  EXPECT_EQ(frame.outer.ipv6.size(), 40u);
  EXPECT_EQ(frame.outer.protocol, kProtocolTcp);
  ASSERT_EQ(frame.outer.ports.size(), 4u);
  EXPECT_EQ(std::to_integer<int>(frame.outer.ports[3]), 0x2e);
}

TEST(FrameTest, fragments_have_no_ports) {
  for (const std::string_view fragment : {"2000", "0001", "3fff"}) {
    const auto bytes = bytes_of(join({kAddresses, "0800", "45001234 0000", fragment, "40110000 01020304 05060708", kPorts}));
    const Frame frame = parse_frame(bytes);
    EXPECT_TRUE(frame.outer.is_fragment) << fragment;
    EXPECT_TRUE(frame.outer.ports.empty());
    EXPECT_EQ(frame.outer.ipv4.size(), 20u);
  }
}

TEST(FrameTest, what_is_in_a_tunnel_is_found) {
  const std::string_view tunnel = "04d2 12b5 00000000 08000000 00004d00 ";
  const auto bytes = bytes_of(join({kAddresses, "0800", kIpv4, tunnel, "0c0000000003 0d0000000004 0800", kIpv4, kPorts}));
  const Frame frame = parse_frame(bytes);
  EXPECT_EQ(frame.vxlan, 77u);
  EXPECT_EQ(std::to_integer<int>(frame.inner.ethernet[0]), 0x0c);
  EXPECT_EQ(frame.inner.ports.size(), 4u);
  // Without the flag for an identifier.
  const auto other = bytes_of(join({kAddresses, "0800", kIpv4, "04d2 12b5 00000000 00000000 00004d00", kAddresses, "0800", kIpv4, kPorts}));
  EXPECT_FALSE(parse_frame(other).vxlan);
}

TEST(FrameTest, what_does_not_fit_is_not_there) {
  const std::string_view tunnel = "04d2 12b5 00000000 08000000 00004d00 ";
  const auto whole = bytes_of(join({kAddresses, "8100 0001 0800", kIpv4, tunnel, kAddresses, "0800", kIpv4, kPorts}));
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const Frame frame = parse_frame(part);
    EXPECT_EQ(!frame.outer.ethernet.empty(), length >= 12) << length;
    EXPECT_EQ(!frame.outer.ipv4.empty(), length >= 38) << length;
    EXPECT_EQ(!frame.outer.ports.empty(), length >= 42) << length;
    EXPECT_EQ(frame.vxlan.has_value(), length >= 54) << length;
    EXPECT_EQ(!frame.inner.ports.empty(), length >= 54 + 14 + 20 + 4) << length;
  }
}

TEST(FrameTest, what_gre_carries_is_found_behind_its_optional_fields) {
  const std::string_view to_gre = "0800 45001234 00004000 402f0000 01020304 05060708 ", ethernet = "0c0000000003 0d0000000004 0800";
  struct {
    std::string_view header;
    std::uint32_t key;
  } const cases[] = {{"0000 6558", 0}, {"8000 6558 00000000", 0}, {"2000 6558 0000004d", 77}, {"1000 6558 00000001", 0},
                     {"b000 6558 00000000 0000004d 00000001", 77}};
  for (const auto& [header, key] : cases) {
    const auto bytes = bytes_of(join({kAddresses, to_gre, header, ethernet, kIpv4, kPorts}));
    const Frame frame = parse_frame(bytes);
    ASSERT_TRUE(frame.gre) << header;
    EXPECT_EQ(frame.gre->key, key) << header;
    EXPECT_EQ(frame.gre->protocol, 0x6558);
    EXPECT_EQ(frame.inner.ports.size(), 4u) << header;
  }
  // Another version, and routing, are not GRE as these RFCs have it; a fragment's later bytes are anything.
  for (const std::string_view header : {"0001 6558", "4000 6558"}) {
    EXPECT_FALSE(parse_frame(bytes_of(join({kAddresses, to_gre, header, ethernet, kIpv4, kPorts}))).gre) << header;
  }
}

TEST(FrameTest, ip_is_found_below_labels) {
  for (const std::string_view labels : {"0004d140", "0004d040 0004e140"}) {
    const auto bytes = bytes_of(join({kAddresses, "8847", labels, kIpv4, kPorts}));
    const Frame frame = parse_frame(bytes);
    EXPECT_EQ(frame.outer.mpls.value_or(0) >> 12, 77u) << labels;
    EXPECT_EQ(frame.outer.ports.size(), 4u);
    EXPECT_FALSE(frame.mpls);
  }
  const auto without_bottom = bytes_of(join({kAddresses, "8847", "0004d040 0004e040"}));
  EXPECT_FALSE(parse_frame(without_bottom).outer.mpls);
  const auto over_udp = bytes_of(join({kAddresses, "0800", kIpv4, "04d2 19eb 00000000 0004d140", kIpv4, kPorts}));
  const Frame frame = parse_frame(over_udp);
  EXPECT_EQ(frame.mpls.value_or(0) >> 12, 77u);
  EXPECT_TRUE(frame.inner.ethernet.empty());
  EXPECT_EQ(frame.inner.ports.size(), 4u);
}

TEST(FrameTest, of_esp_the_index_and_the_number_are_found) {
  const auto bytes = bytes_of(join({kAddresses, "0800 45001234 00004000 40320000 01020304 05060708", "00001234 00000005"}));
  EXPECT_EQ(parse_frame(bytes).outer.esp.size(), 8u);
  EXPECT_TRUE(parse_frame(plain()).outer.esp.empty());
}

TEST(FrameTest, a_short_frame_is_filled_up_and_has_its_addresses) {
  for (const std::uint32_t length : {14u, 46u, 59u, 60u, 61u}) {
    auto bytes = plain();
    bytes.resize(length, std::byte{0xee});
    const PacketPtr packet = make_frame();
    packet->payload = {PayloadBuffer::copy_of(bytes), 0, length};
    address_frame(*packet);
    EXPECT_EQ(packet->payload.length, std::max(length, 60u));
    EXPECT_EQ(packet->wire_bytes(), std::max(length, 60u) + 4);
    EXPECT_EQ(packet->ethernet->destination, MacAddress{0x0a0000000001});
    EXPECT_EQ(packet->ethernet->source, MacAddress{0x0b0000000002});
    EXPECT_EQ(packet->lrh.service_level, ServiceLevel{0});
    for (std::uint32_t at = length; at < packet->payload.length; ++at) {
      EXPECT_EQ(packet->payload.bytes()[at], std::byte{0});
    }
    std::vector<std::byte> wire;
    encode(*packet, wire);
    EXPECT_TRUE(std::equal(wire.begin(), wire.end(), packet->payload.bytes().begin(), packet->payload.bytes().end()));
  }
}

TEST(FrameTest, the_priority_of_a_tag_is_the_service_level) {
  const auto bytes = bytes_of(join({kAddresses, "8100 a00c 0800", kIpv4, kPorts}));
  const PacketPtr packet = make_frame();
  packet->payload = {PayloadBuffer::copy_of(bytes), 0, static_cast<std::uint32_t>(bytes.size())};
  address_frame(*packet);
  EXPECT_EQ(packet->lrh.service_level, ServiceLevel{5});
}

// The check value of CRC-32 that catalogues give for "123456789".
TEST(FrameTest, the_frame_check_sequence_is_that_of_ethernet) {
  const std::string_view text = "123456789";
  std::byte check[4];
  put_frame_check(std::as_bytes(std::span(text)), check);
  const std::byte expected[] = {std::byte{0x26}, std::byte{0x39}, std::byte{0xf4}, std::byte{0xcb}};
  EXPECT_TRUE(std::equal(std::begin(check), std::end(check), expected));
}

// IEEE 802.1Qbb: 01-80-c2-00-00-01, 88-08, opcode 01-01, priorities 3 and 5 of which 3 is paused, then eight times of two bytes.
TEST(PauseFrame, has_its_bytes) {
  const PacketPtr packet = make_pause_frame(MacAddress{0x0200'0000'0007}, 1 << 3 | 1 << 5, 1 << 3, 0xfffe);
  const std::span<const std::byte> bytes = packet->payload.bytes();
  std::vector<int> found;
  for (const std::byte byte : bytes) found.push_back(std::to_integer<int>(byte));
  std::vector<int> expected{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0, 0, 0, 0, 7, 0x88, 0x08, 0x01, 0x01, 0x00, 0x28,
                            0,    0,    0,    0,    0,    0,    0xff, 0xfe};
  expected.resize(60);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(packet->wire_bytes(), 64u);
  EXPECT_TRUE(packet->is_frame);
}

}  // namespace
}  // namespace verbatim::ib
