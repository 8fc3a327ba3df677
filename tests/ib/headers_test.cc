#include "sim/ib/headers.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace verbatim::ib {
namespace {

TEST(HeadersTest, the_global_route_header_byte_by_byte) {
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

}  // namespace
}  // namespace verbatim::ib
