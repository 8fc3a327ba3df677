// Segmentation of messages (IBA 9.7.4.1.6): FIRST and MIDDLE carry exactly one MTU.
#include "sim/ib/segmentation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>
#include <vector>

#include "sim/ib/types.h"

namespace verbatim::ib {
namespace {

constexpr MessageKind kKinds[] = {MessageKind::kSend,  MessageKind::kSendImm,  MessageKind::kSendInvalidate,
                                  MessageKind::kWrite, MessageKind::kWriteImm, MessageKind::kReadResponse};

std::vector<Segment> cut(MessageKind kind, std::uint32_t length, std::uint32_t mtu) {
  std::vector<Segment> segments;
  std::uint32_t offset = 0;
  do {
    segments.push_back(next_segment(Transport::kRc, kind, length, offset, mtu));
    offset += segments.back().length;
  } while (!segments.back().ends_message);
  return segments;
}

RC_GTEST_PROP(SegmentationProperty, segments_cover_the_message_once_and_in_order, ()) {
  const auto kind = kKinds[*rc::gen::inRange(0, 6)];
  const auto mtu = 256u << *rc::gen::inRange(0, 5);
  const auto length = *rc::gen::inRange<std::uint32_t>(0, 20'000);
  const std::vector<Segment> segments = cut(kind, length, mtu);
  RC_ASSERT(segments.size() == packet_count(length, mtu));
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    const OpcodeInfo& row = info(segment.opcode);
    const bool last = i + 1 == segments.size();
    RC_ASSERT(segment.offset == offset);
    RC_ASSERT(segment.begins_message == (i == 0) && row.begins_message == (i == 0));
    RC_ASSERT(segment.ends_message == last && row.ends_message == last);
    RC_ASSERT((last ? segment.length <= mtu : segment.length == mtu));
    RC_ASSERT(row.has_immediate ==
              (last && (kind == MessageKind::kSendImm || kind == MessageKind::kWriteImm)));
    RC_ASSERT(row.has_invalidate == (last && kind == MessageKind::kSendInvalidate));
    RC_ASSERT(row.has_reth == (i == 0 && (kind == MessageKind::kWrite || kind == MessageKind::kWriteImm)));
    offset += segment.length;
  }
  RC_ASSERT(offset == length);
}

// 96 bytes of headers in addition to the payload.
TEST(Segmentation, the_mtu_is_the_greatest_that_fits_into_an_interfaces) {
  const std::pair<std::uint32_t, std::uint32_t> kExpected[] = {{351, 0},  {352, 1},  {576, 1},  {608, 2},  {1119, 2}, {1120, 3},
                                                               {1500, 3}, {2143, 3}, {2144, 4}, {4191, 4}, {4192, 5}, {9000, 5}};
  for (const auto& [interface_mtu, mtu] : kExpected) EXPECT_EQ(mtu_within(interface_mtu), mtu) << interface_mtu;
}

TEST(Segmentation, an_empty_message_is_one_packet) {
  EXPECT_EQ(packet_count(0, 4096), 1u);
  const Segment segment = next_segment(Transport::kUc, MessageKind::kWriteImm, 0, 0, 256);
  EXPECT_EQ(segment, (Segment{make_opcode(Transport::kUc, Operation::kWriteOnlyImm), 0, 0, true, true}));
}

TEST(Segmentation, a_multiple_of_the_mtu_has_a_full_last_packet) {
  EXPECT_EQ(packet_count(8192, 4096), 2u);
  EXPECT_EQ(packet_count(8193, 4096), 3u);
  EXPECT_EQ(packet_count(UINT32_MAX, 256), 16'777'216u);
  const Segment last = next_segment(Transport::kRc, MessageKind::kSend, 8192, 4096, 4096);
  EXPECT_EQ(last, (Segment{make_opcode(Transport::kRc, Operation::kSendLast), 4096, 4096, false, true}));
}

TEST(SegmentationDeathTest, an_offset_inside_a_packet_or_behind_the_message_is_a_bug_of_ours) {
  EXPECT_EXIT(next_segment(Transport::kRc, MessageKind::kSend, 8192, 100, 4096), testing::ExitedWithCode(70),
              "CHECK");
  EXPECT_EXIT(next_segment(Transport::kRc, MessageKind::kSend, 8192, 8192, 4096), testing::ExitedWithCode(70),
              "CHECK");
  EXPECT_EXIT(next_segment(Transport::kUd, MessageKind::kSend, 8192, 0, 4096), testing::ExitedWithCode(70),
              "CHECK");
}

}  // namespace
}  // namespace verbatim::ib
