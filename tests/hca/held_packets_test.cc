// Held packets continue in the order of their arrival, and stop again at one that must wait again.
#include "sim/hca/stages/held_packets.h"

#include <gmock/gmock.h>

#include <memory>
#include <utility>
#include <vector>

namespace verbatim::hca {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Wait = HeldPackets::Wait;

Incoming packet(std::uint32_t psn) {
  Incoming incoming;
  incoming.packet = std::make_unique<ib::Packet>();
  incoming.packet->bth.psn = {psn};
  return incoming;
}

// PSN, and whether it was the first.
std::vector<std::pair<std::uint32_t, bool>> resume(HeldPackets& held, std::uint32_t held_again = 0) {
  std::vector<std::pair<std::uint32_t, bool>> dealt;
  held.resume([&](Incoming&& incoming, bool is_first) {
    const std::uint32_t psn = incoming.packet->bth.psn.value;
    dealt.emplace_back(psn, is_first);
    if (psn == held_again) held.hold(Incoming(std::move(incoming)), Wait::kLookUp, 9);
  });
  return dealt;
}

TEST(HeldPacketsTest, the_first_goes_on_and_then_those_behind_it) {
  HeldPackets held;
  EXPECT_TRUE(held.empty());
  held.hold(packet(1), Wait::kReceive);
  held.hold_behind(packet(2));
  held.hold_behind(packet(3));
  EXPECT_EQ(held.wait(), Wait::kReceive);
  EXPECT_THAT(resume(held), ElementsAre(Pair(1, true), Pair(2, false), Pair(3, false)));
  EXPECT_TRUE(held.empty());
}

TEST(HeldPacketsTest, one_that_must_wait_again_keeps_those_behind_it) {
  HeldPackets held;
  held.hold(packet(1), Wait::kAtomics);
  held.hold_behind(packet(2));
  held.hold_behind(packet(3));
  EXPECT_THAT(resume(held, 2), ElementsAre(Pair(1, true), Pair(2, false)));
  EXPECT_EQ(held.wait(), Wait::kLookUp);
  EXPECT_TRUE(held.awaits(9));
  EXPECT_FALSE(held.awaits(8));
  EXPECT_THAT(resume(held), ElementsAre(Pair(2, true), Pair(3, false)));
}

TEST(HeldPacketsTest, a_lookup_is_awaited_only_by_what_waits_for_it) {
  HeldPackets held;
  EXPECT_FALSE(held.awaits(0));
  held.hold(packet(1), Wait::kReceive);
  EXPECT_FALSE(held.awaits(0));
}

}  // namespace
}  // namespace verbatim::hca
