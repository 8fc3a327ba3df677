// Packets of a queue pair that have overtaken others, and wait for them in the adapter.
#include "sim/hca/datapath/packet_order.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/core/rng.h"
#include "sim/ib/opcode.h"

namespace verbatim::hca {
namespace {

using Place = PacketOrder::Place;

constexpr std::uint32_t kMtu = 1024;
constexpr Duration kGapTime{10'000'000};

ib::PacketPtr write_packet(std::uint32_t psn) {
  auto packet = std::make_unique<ib::Packet>();
  packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kWriteMiddle);
  packet->bth.psn = ib::Psn{psn} + 0;
  return packet;
}

ib::PacketPtr read_request(std::uint32_t psn, std::uint32_t length) {
  ib::PacketPtr packet = write_packet(psn);
  packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kReadRequest);
  packet->reth.length = length;
  return packet;
}

struct Rig final : PacketOrder::Listener {
  explicit Rig(std::uint32_t window = 8, std::uint32_t first = 100)
      : profile{.window = window, .gap_time = kGapTime}, order(engine, ComponentId{1}, profile, *this) {
    order.start(ib::Psn{first}, kMtu);
  }
  void on_old_gap(ib::PacketPtr packet) override { old.push_back(packet->bth.psn.value); }

  // As a driver does: what the responder gets, in order. It expects `expected`, or all is well.
  Place come(ib::PacketPtr packet, std::optional<ib::Psn> expected = std::nullopt) {
    const Place place = order.place(*packet, expected);
    if (place == Place::kAhead) order.hold(std::move(packet));
    if (place == Place::kTurn || place == Place::kBack) {
      got.push_back(packet->bth.psn.value);
      while (const ib::PacketPtr next = order.take_turn()) got.push_back(next->bth.psn.value);
    }
    return place;
  }
  Place come(std::uint32_t psn) { return come(write_packet(psn)); }
  void pass(Duration time) { engine.run_until(engine.now() + time); }

  Engine engine;
  const ReorderProfile profile;
  PacketOrder order;
  std::vector<std::uint32_t> got, old;
};

TEST(PacketOrder, packets_in_order_pass_and_leave_no_event) {
  Rig rig;
  for (std::uint32_t psn = 100; psn < 110; ++psn) EXPECT_EQ(rig.come(psn), Place::kTurn);
  EXPECT_EQ(rig.got.size(), 10u);
  rig.engine.run();
  EXPECT_EQ(rig.engine.events_executed(), 0u);
}

TEST(PacketOrder, those_that_have_overtaken_others_wait_for_them) {
  Rig rig;
  EXPECT_EQ(rig.come(102), Place::kAhead);
  EXPECT_EQ(rig.come(101), Place::kAhead);
  EXPECT_EQ(rig.come(102), Place::kAgain);
  EXPECT_TRUE(rig.got.empty());
  EXPECT_EQ(rig.come(100), Place::kTurn);
  EXPECT_EQ(rig.come(104), Place::kAhead);
  EXPECT_EQ(rig.come(103), Place::kTurn);
  EXPECT_EQ(rig.got, (std::vector<std::uint32_t>{100, 101, 102, 103, 104}));
  rig.engine.run();
  EXPECT_TRUE(rig.old.empty()) << "no gap is left";
}

TEST(PacketOrder, a_gap_is_old_when_it_has_lasted_for_the_time_of_the_profile) {
  Rig rig;
  rig.come(103);
  rig.come(102);
  rig.pass(kGapTime - Duration(1));
  EXPECT_TRUE(rig.old.empty());
  rig.pass(Duration(1));
  EXPECT_EQ(rig.old, (std::vector<std::uint32_t>{102})) << "the first behind it";
  rig.pass(10 * kGapTime);
  EXPECT_EQ(rig.old.size(), 1u) << "a gap is reported once";
  rig.come(100);
  rig.come(101);
  EXPECT_EQ(rig.come(102), Place::kTurn) << "it was given away";
  EXPECT_EQ(rig.got, (std::vector<std::uint32_t>{100, 101, 102, 103}));
}

TEST(PacketOrder, each_gap_has_a_time_of_its_own) {
  Rig rig;
  rig.come(101);
  rig.come(104);
  rig.pass(kGapTime - Duration(1));
  rig.come(100);
  rig.pass(kGapTime - Duration(1));
  EXPECT_TRUE(rig.old.empty());
  rig.pass(Duration(1));
  EXPECT_EQ(rig.old, (std::vector<std::uint32_t>{104}));
}

TEST(PacketOrder, what_is_beyond_the_window_is_the_responders_matter) {
  Rig rig(8);
  EXPECT_EQ(rig.come(107), Place::kAhead);
  EXPECT_EQ(rig.come(108), Place::kTurn);
  EXPECT_EQ(rig.got, (std::vector<std::uint32_t>{108}));
  EXPECT_EQ(rig.come(99), Place::kTurn) << "and so is what has come before";
  EXPECT_EQ(rig.come(100), Place::kTurn);
}

TEST(PacketOrder, a_read_takes_the_psns_of_its_response) {
  Rig rig;
  rig.come(103);
  rig.come(read_request(100, 3 * kMtu - 5));
  EXPECT_EQ(rig.got, (std::vector<std::uint32_t>{100, 103}));
  EXPECT_EQ(rig.come(104), Place::kTurn);
}

// The responder was not ready for 101, and the requester sends all again from there.
TEST(PacketOrder, a_packet_that_the_responder_still_expects_is_where_the_requester_has_gone_back_to) {
  Rig rig;
  for (const std::uint32_t psn : {100, 101, 102}) rig.come(psn);
  rig.come(104);
  EXPECT_EQ(rig.come(write_packet(101)), Place::kTurn) << "a duplicate, as far as is known";
  EXPECT_EQ(rig.come(write_packet(101), ib::Psn{103}), Place::kTurn) << "a duplicate";
  EXPECT_EQ(rig.come(write_packet(101), ib::Psn{101}), Place::kBack);
  EXPECT_NE(rig.order.take_any(), nullptr) << "104";
  EXPECT_EQ(rig.order.take_any(), nullptr);
  for (const std::uint32_t psn : {102, 103, 104}) EXPECT_EQ(rig.come(psn), Place::kTurn);
  rig.engine.run();
  EXPECT_TRUE(rig.old.empty());
}

// Any order within the window, over the end of the range, at windows that are no power of two as well.
TEST(PacketOrder, all_packets_pass_once_and_in_order_whatever_order_they_come_in) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng random(seed, "order");
    const auto window = static_cast<std::uint32_t>(1 + random.below(20));
    const auto first = static_cast<std::uint32_t>(ib::Psn::kMask - random.below(30));
    Rig rig(window, first);
    std::vector<std::uint32_t> expected, waiting;
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < 100; ++i) expected.push_back((ib::Psn{first} + i).value);
    while (rig.got.size() < 100) {
      // The oldest that has not come is always among the candidates.
      while (next < 100 && next - (waiting.empty() ? next : waiting.front()) < window) waiting.push_back(next++);
      const std::size_t at = random.below(waiting.size());
      const Place place = rig.come(expected[waiting[at]]);
      ASSERT_TRUE(place == Place::kTurn || place == Place::kAhead) << seed;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
    }
    EXPECT_EQ(rig.got, expected) << seed;
    EXPECT_EQ(rig.order.take_any(), nullptr);
  }
}

}  // namespace
}  // namespace verbatim::hca
