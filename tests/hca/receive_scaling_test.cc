// The Toeplitz hash, compared to the published vectors ("Verifying the RSS hash calculation" of the Windows
// driver documentation), and the header fields that it covers.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <string>
#include <vector>

#include "sim/hca/queues/receive_side_scaling.h"

namespace verbatim::test {
namespace {

using namespace hca;

constexpr HashKey kKey = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
                          0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
                          0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

struct Vector {
  std::string source, destination;
  std::uint16_t source_port, destination_port;
  std::uint32_t of_addresses, of_ports;
};

void put(std::vector<std::byte>& to, const void* bytes, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), from, from + count);
}

void put16(std::vector<std::byte>& to, std::uint16_t value) {
  value = htons(value);
  put(to, &value, sizeof(value));
}

// An Ethernet frame with only the hashed fields.
std::vector<std::byte> frame_of(const Vector& vector, std::uint8_t protocol, bool has_tag = false) {
  const bool is_v6 = vector.source.find(':') != std::string::npos;
  std::vector<std::byte> frame(12);
  if (has_tag) put16(frame, 0x8100), put16(frame, 7);
  put16(frame, is_v6 ? 0x86dd : 0x0800);
  std::vector<std::byte> header(is_v6 ? 8 : 12);
  header[0] = std::byte{is_v6 ? std::uint8_t{0x60} : std::uint8_t{0x45}};
  header[is_v6 ? 6 : 9] = std::byte{protocol};
  put(frame, header.data(), header.size());
  for (const std::string& text : {vector.source, vector.destination}) {
    std::uint8_t address[16];
    EXPECT_EQ(inet_pton(is_v6 ? AF_INET6 : AF_INET, text.c_str(), address), 1);
    put(frame, address, is_v6 ? 16 : 4);
  }
  put16(frame, vector.source_port);
  put16(frame, vector.destination_port);
  return frame;
}

const std::vector<Vector> kVectors = {
    {"66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178},
    {"199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea},
    {"24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a},
    {"38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f},
    {"153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2},
    {"3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d},
    {"3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf},
    {"3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4b61e985, 0x02d1feef},
};
constexpr std::uint64_t kAddresses = kHashSourceIpv4 | kHashDestinationIpv4 | kHashSourceIpv6 | kHashDestinationIpv6;
constexpr std::uint64_t kPortsTcp = kHashSourcePortTcp | kHashDestinationPortTcp;
constexpr std::uint64_t kPortsUdp = kHashSourcePortUdp | kHashDestinationPortUdp;

std::uint32_t hash(const std::vector<std::byte>& frame, std::uint64_t fields) {
  return hash_of(ib::parse_frame(frame), kKey, fields);
}

TEST(ReceiveScalingTest, hashes_are_those_of_the_published_vectors) {
  for (const Vector& vector : kVectors) {
    for (const bool has_tag : {false, true}) {
      const auto tcp = frame_of(vector, ib::kProtocolTcp, has_tag);
      const auto udp = frame_of(vector, ib::kProtocolUdp, has_tag);
      EXPECT_EQ(hash(tcp, kAddresses), vector.of_addresses) << vector.source;
      EXPECT_EQ(hash(tcp, kAddresses | kPortsTcp), vector.of_ports) << vector.source;
      EXPECT_EQ(hash(udp, kAddresses | kPortsUdp), vector.of_ports) << vector.source;
      EXPECT_EQ(hash(udp, kAddresses | kPortsTcp), vector.of_addresses) << vector.source << ": no ports of TCP";
    }
  }
}

TEST(ReceiveScalingTest, of_a_tunnel_what_is_in_it_is_hashed_when_it_is_asked_for) {
  Vector outside = kVectors[1];
  outside.destination_port = ib::kVxlanUdpPort;
  auto frame = frame_of(outside, ib::kProtocolUdp);
  put16(frame, 0), put16(frame, 0);                                        // length and checksum
  put16(frame, 0x0800), put16(frame, 0), put16(frame, 0), put16(frame, 77 << 8);  // VXLAN
  const auto inner = frame_of(kVectors[5], ib::kProtocolTcp);
  frame.insert(frame.end(), inner.begin(), inner.end());
  EXPECT_EQ(hash(frame, kAddresses), kVectors[1].of_addresses);
  EXPECT_EQ(hash(frame, kAddresses | kHashInner), kVectors[5].of_addresses);
  EXPECT_EQ(hash(frame, kAddresses | kPortsTcp | kHashInner), kVectors[5].of_ports);
  EXPECT_EQ(hash(inner, kAddresses | kHashInner), 0u) << "no tunnel";
}

TEST(ReceiveScalingTest, a_fragment_has_no_ports_and_what_is_not_ip_no_hash) {
  auto frame = frame_of(kVectors[0], ib::kProtocolTcp);
  frame[14 + 6] = std::byte{0x20};  // more fragments
  EXPECT_EQ(hash(frame, kAddresses | kPortsTcp), kVectors[0].of_addresses);
  frame[12] = std::byte{0x88};  // another type of frame
  EXPECT_EQ(hash(frame, kAddresses | kPortsTcp), 0u);
  for (std::size_t length = 0; length < frame.size(); ++length) {
    EXPECT_EQ(hash({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length)}, kPortsTcp), 0u);
  }
}

}  // namespace
}  // namespace verbatim::test
