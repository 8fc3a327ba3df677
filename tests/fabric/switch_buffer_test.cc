// Input buffers without ports.
#include "sim/fabric/switch_buffer.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "tests/core/at.h"

namespace verbatim::fabric {
namespace {

constexpr ib::VirtualLane kFirstLane{0}, kSecondLane{1};
constexpr PortNumber kFirst{1}, kSecond{2};

struct Ingress final : SpaceListener {
  ComponentId input_id() const override { return ComponentId{7}; }
  void on_space_released(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) override {
    released.emplace_back(lane.value, wire_bytes, to_ps(when));
  }
  using Released = std::tuple<int, std::uint32_t, std::int64_t>;
  std::vector<Released> released;
};

struct Buffer {
  explicit Buffer(const PerPortBuffer::Params& params) : buffer(params, kFirst, 2) {
    buffer.attach(kFirst, first);
    buffer.attach(kSecond, second);
  }
  Ingress first, second;
  PerPortBuffer buffer;
};

TEST(PerPortBuffer, data_lanes_with_credits_are_not_counted) {
  Buffer two({.vl15_bytes = 64});
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(two.buffer.admit(kFirst, kFirstLane, 4122, at(0)));
}

TEST(PerPortBuffer, vl15_has_whole_blocks_of_each_port) {
  Buffer two({.vl15_bytes = 10 * 64 + 63});
  EXPECT_TRUE(two.buffer.admit(kFirst, kManagementLane, 290, at(0)));  // five blocks
  EXPECT_TRUE(two.buffer.admit(kFirst, kManagementLane, 290, at(0)));
  EXPECT_FALSE(two.buffer.admit(kFirst, kManagementLane, 26, at(0)));
  EXPECT_TRUE(two.buffer.admit(kSecond, kManagementLane, 290, at(0))) << "ports share nothing";
}

TEST(PerPortBuffer, space_serves_heads_that_come_after_its_release) {
  Buffer two({.vl15_bytes = 5 * 64});
  EXPECT_TRUE(two.buffer.admit(kFirst, kManagementLane, 290, at(0)));
  two.buffer.release(kFirst, kManagementLane, 290, at(1'000));
  EXPECT_FALSE(two.buffer.admit(kFirst, kManagementLane, 290, at(1'000)));
  EXPECT_TRUE(two.buffer.admit(kFirst, kManagementLane, 290, at(1'001)));
}

TEST(PerPortBuffer, lanes_of_a_lossy_link_are_bounded_one_by_one) {
  Buffer two({});
  two.buffer.bound_lanes(kFirst, 2, 2 * 64, LinkParams{});
  EXPECT_TRUE(two.buffer.admit(kFirst, kFirstLane, 128, at(0)));
  EXPECT_FALSE(two.buffer.admit(kFirst, kFirstLane, 26, at(0)));
  EXPECT_TRUE(two.buffer.admit(kFirst, kSecondLane, 26, at(0)));
  two.buffer.release(kFirst, kFirstLane, 128, at(10));
  EXPECT_TRUE(two.buffer.admit(kFirst, kFirstLane, 26, at(11)));
  EXPECT_TRUE(two.buffer.admit(kFirst, kManagementLane, 1'000'000, at(0))) << "VL15 is not bounded";
}

// 68 blocks and 42 bytes, of which the headroom takes 20 blocks and 30 bytes: 21 blocks.
TEST(PerPortBuffer, headroom_and_reserve_of_a_lane_are_whole_blocks_of_its_buffer) {
  Buffer two({});
  LinkParams link;
  link.flow_control = FlowControlKind::kPause;
  link.lossless_lanes = 1;
  link.headroom_bytes = 20 * 64 + 30;
  two.buffer.bound_lanes(kFirst, 1, 68 * 64 + 42, link);
  EXPECT_TRUE(two.buffer.admit(kFirst, kFirstLane, 47 * 64, at(0)));
  EXPECT_EQ(two.buffer.groups()->headroom_used_cells(0), 0u);
  EXPECT_TRUE(two.buffer.admit(kFirst, kFirstLane, 21 * 64, at(0)));
  EXPECT_EQ(two.buffer.groups()->headroom_used_cells(0), 21u);
  EXPECT_FALSE(two.buffer.admit(kFirst, kFirstLane, 26, at(0)));
}

// One block; the headroom needs 10 bytes of a second one.
TEST(PerPortBuffer, headroom_is_no_more_than_the_blocks_of_a_lane) {
  Buffer two({});
  LinkParams link;
  link.flow_control = FlowControlKind::kPause;
  link.lossless_lanes = 1;
  link.headroom_bytes = 64 + 10;
  two.buffer.bound_lanes(kFirst, 1, 64 + 20, link);
  EXPECT_TRUE(two.buffer.admit(kFirst, kFirstLane, 64, at(0)));
  EXPECT_EQ(two.buffer.groups()->headroom_used_cells(0), 1u);
  EXPECT_FALSE(two.buffer.admit(kFirst, kFirstLane, 26, at(0)));
}

TEST(PerPortBuffer, a_claim_ends_at_its_ingress_port_on_the_lane_it_came_in_by) {
  Buffer two({});
  two.buffer.bytes_of(kSecond).claimed.enter(90);
  two.buffer.end_claim({kSecond, kSecondLane}, 90, at(500));
  EXPECT_TRUE(two.first.released.empty());
  EXPECT_EQ(two.second.released, (std::vector<Ingress::Released>{{1, 90, 500}}));
  two.buffer.end_claim({}, 90, at(500));  // of a packet that is in no buffer
  EXPECT_EQ(two.second.released.size(), 1u);
}

TEST(PerPortBuffer, copies_end_their_claim_when_the_last_has_left) {
  Buffer two({});
  two.buffer.bytes_of(kFirst).claimed.enter(90);
  const BufferClaim claim{kFirst, kFirstLane, two.buffer.share_claim(3)};
  two.buffer.end_claim(claim, 90, at(700));
  two.buffer.end_claim(claim, 90, at(900));
  EXPECT_TRUE(two.first.released.empty());
  two.buffer.end_claim(claim, 90, at(800));
  EXPECT_EQ(two.first.released, (std::vector<Ingress::Released>{{0, 90, 900}}));
  EXPECT_EQ(two.buffer.share_claim(2), claim.shared) << "the number is free again";
}

TEST(PerPortBuffer, the_crossbar_reads_as_many_packets_of_an_input_as_its_speedup) {
  Buffer two({.crossbar_speedup = 2});
  two.buffer.add_read(kFirst, at(300));
  EXPECT_EQ(two.buffer.next_read(kFirst, at(0)), at(0));
  two.buffer.add_read(kFirst, at(200));
  EXPECT_EQ(two.buffer.next_read(kFirst, at(0)), at(200));
  EXPECT_EQ(two.buffer.next_read(kSecond, at(0)), at(0));
  EXPECT_EQ(two.buffer.next_read(kFirst, at(200)), at(200)) << "one has ended";
  Buffer any({});
  for (int i = 0; i < 100; ++i) any.buffer.add_read(kFirst, at(300));
  EXPECT_EQ(any.buffer.next_read(kFirst, at(0)), at(0));
}

}  // namespace
}  // namespace verbatim::fabric
