// The opcode table compared to IBA 9.2.1, table 38, and the sizes that follow from it.
#include "sim/ib/opcode.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/ib/packet.h"

namespace verbatim::ib {
namespace {

const OpcodeInfo& rc(Operation operation) { return info(make_opcode(Transport::kRc, operation)); }

TEST(Opcode, exactly_the_legal_codes_are_defined) {
  std::set<int> legal = {0x1d, 0x64, 0x65, 0x80, 0x81};
  for (const int transport : {0x00, 0xa0}) {
    for (int operation = 0; operation <= 0x17; ++operation) {
      if (operation != 0x15) legal.insert(transport | operation);
    }
  }
  for (int operation = 0; operation <= 0x0b; ++operation) legal.insert(0x20 | operation);
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(info(static_cast<Opcode>(code)).defined, legal.count(code) == 1) << code;
  }
}

TEST(Opcode, extended_headers_have_their_sizes) {
  EXPECT_EQ(rc(Operation::kSendOnly).extended_header_bytes, 0);
  EXPECT_EQ(rc(Operation::kSendOnlyImm).extended_header_bytes, 4);
  EXPECT_EQ(rc(Operation::kSendLastInvalidate).extended_header_bytes, 4);
  EXPECT_EQ(rc(Operation::kWriteFirst).extended_header_bytes, 16);
  EXPECT_EQ(rc(Operation::kWriteMiddle).extended_header_bytes, 0);
  EXPECT_EQ(rc(Operation::kWriteOnlyImm).extended_header_bytes, 20);
  EXPECT_EQ(rc(Operation::kReadRequest).extended_header_bytes, 16);
  EXPECT_EQ(rc(Operation::kReadResponseFirst).extended_header_bytes, 4);
  EXPECT_EQ(rc(Operation::kReadResponseMiddle).extended_header_bytes, 0);
  EXPECT_EQ(rc(Operation::kAcknowledge).extended_header_bytes, 4);
  EXPECT_EQ(rc(Operation::kAtomicAcknowledge).extended_header_bytes, 12);
  EXPECT_EQ(rc(Operation::kCompareSwap).extended_header_bytes, 28);
  EXPECT_EQ(rc(Operation::kAtomicWrite).extended_header_bytes, 16);
  EXPECT_EQ(info(make_opcode(Transport::kUd, Operation::kSendOnlyImm)).extended_header_bytes, 12);
  EXPECT_EQ(info(make_opcode(Transport::kXrc, Operation::kWriteOnlyImm)).extended_header_bytes, 24);
  EXPECT_EQ(info(make_opcode(Transport::kXrc, Operation::kReadResponseOnly)).extended_header_bytes, 4);
  EXPECT_EQ(info(static_cast<Opcode>(0x80)).extended_header_bytes, 16);
}

TEST(Opcode, flags_agree_with_each_other) {
  for (int code = 0; code < 256; ++code) {
    const OpcodeInfo& row = info(static_cast<Opcode>(code));
    EXPECT_EQ(row.defined, !row.name.empty());
    const int bytes = 16 * row.has_reth + 4 * row.has_aeth + 28 * row.has_atomic_eth +
                      8 * row.has_atomic_ack_eth + 4 * row.has_immediate + 4 * row.has_invalidate +
                      8 * row.has_deth + 4 * row.has_xrc_eth;
    if (row.name != "CNP") {
      EXPECT_EQ(row.extended_header_bytes, bytes) << code;
    }
    EXPECT_FALSE(row.is_request && row.has_aeth) << code;
    EXPECT_FALSE((row.has_immediate || row.has_invalidate) && !row.ends_message) << code;
  }
}

TEST(Opcode, place_in_the_message_follows_the_name) {
  for (int code = 0; code < 256; ++code) {
    const OpcodeInfo& row = info(static_cast<Opcode>(code));
    if (!row.has_payload) continue;
    const bool first = row.name.find(" First") != row.name.npos,
               only = row.name.find(" Only") != row.name.npos || row.name == "Atomic Write";
    const bool last = row.name.find(" Last") != row.name.npos,
               middle = row.name.find(" Middle") != row.name.npos;
    EXPECT_EQ(first + only + last + middle, 1) << row.name;
    EXPECT_EQ(row.begins_message, first || only) << row.name;
    EXPECT_EQ(row.ends_message, last || only) << row.name;
  }
}

Packet packet(Transport transport, Operation operation, std::uint32_t payload) {
  Packet packet;
  packet.bth.opcode = make_opcode(transport, operation);
  packet.payload.length = payload;
  return packet;
}

// LRH 8 + BTH 12 + ICRC 4 + VCRC 2 = 26 bytes, plus extended headers, plus payload padded to four.
TEST(Packet, wire_bytes_add_up) {
  EXPECT_EQ(packet(Transport::kRc, Operation::kSendOnly, 0).wire_bytes(), 26u);
  EXPECT_EQ(packet(Transport::kRc, Operation::kSendOnly, 1).wire_bytes(), 30u);
  EXPECT_EQ(packet(Transport::kRc, Operation::kSendOnly, 4).wire_bytes(), 30u);
  EXPECT_EQ(packet(Transport::kRc, Operation::kSendOnly, 5).wire_bytes(), 34u);
  EXPECT_EQ(packet(Transport::kRc, Operation::kSendMiddle, 4096).wire_bytes(), 4122u);
  EXPECT_EQ(packet(Transport::kRc, Operation::kWriteOnly, 8).wire_bytes(), 50u);
  EXPECT_EQ(packet(Transport::kRc, Operation::kAcknowledge, 0).wire_bytes(), 30u);
  EXPECT_EQ(packet(Transport::kUd, Operation::kSendOnly, 64).wire_bytes(), 98u);
  Packet global = packet(Transport::kUd, Operation::kSendOnly, 64);
  global.grh.emplace();
  EXPECT_EQ(global.wire_bytes(), 138u);
}

}  // namespace
}  // namespace verbatim::ib
