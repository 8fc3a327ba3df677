// A responder where packets may overtake each other (per-packet routing in switches), with responder_rig.h.
#include "tests/hca/responder_rig.h"

namespace verbatim::hca {
namespace {

class OvertakingTest : public ResponderTest {
 protected:
  OvertakingTest() {
    address.accepts_any_path = true;
    profile.loss_recovery.gap_time = std::chrono::microseconds(100);
    responder.start(kFirst);
  }

  Need write(std::uint32_t n) {
    return receive({.operation = Operation::kWriteOnly, .n = n, .length = 8, .asks = true, .reth = reth(8)});
  }
  // The gap before `n` has lasted for gap_time. `naks`: value of the delayed step.
  void age(std::uint32_t n, std::uint32_t naks) {
    Actions due;
    responder.on_nak_due(kFirst + n, naks, due);
    tell(due);
  }
  // Requests whose gap the newest actions will report later, with the value of the delayed step.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reports() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
    for (const Action& action : actions) {
      if (action.kind == Kind::kRecoverLater) all.emplace_back(action.number, action.values[0]);
    }
    return all;
  }
  static Answer nak(std::uint32_t n, std::uint32_t msn) {
    return {psn(n), ib::nak_syndrome(NakCode::kPsnSequenceError), msn};
  }
};

using Reports = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

TEST_F(OvertakingTest, packets_that_overtake_the_repetition_of_a_missing_one_are_kept) {
  EXPECT_EQ(write(2), Need::kOthers);
  EXPECT_EQ(reports(), (Reports{{psn(2), 0}}));
  age(2, 0);
  EXPECT_THAT(answers, ElementsAre(nak(0, 0)));
  EXPECT_EQ(write(1), Need::kOthers);
  EXPECT_EQ(write(3), Need::kOthers);
  EXPECT_EQ(reports(), Reports{}) << "a NAK has everything sent again";
  EXPECT_EQ(write(2), Need::kNothing) << "a duplicate";
  EXPECT_THAT(drops, ElementsAre(DropReason::kAfterNak));
  EXPECT_EQ(write(0), Need::kNothing);
  EXPECT_EQ(reports(), Reports{}) << "1, 2 and 3 are kept: no packet is missing";
  for (std::uint32_t n = 1; n < 4; ++n) EXPECT_EQ(write(n), Need::kNothing);
  EXPECT_EQ(responder.expected(), kFirst + 4);
  EXPECT_EQ(answers.size(), 5u);
}

// The first packet behind the second gap has arrived before the NAK for the first gap: without a report of
// its own, only the requester's timer would find the loss of the repetition.
TEST_F(OvertakingTest, a_gap_behind_the_one_that_a_nak_named_gets_an_age_and_a_nak_of_its_own) {
  write(1);
  write(3);
  EXPECT_EQ(reports(), (Reports{{psn(3), 0}}));
  age(1, 0);
  age(3, 0);
  EXPECT_THAT(answers, ElementsAre(nak(0, 0)));
  write(0);
  EXPECT_EQ(reports(), (Reports{{psn(3), 1}}));
  write(1);
  answers.clear();
  age(3, 0);
  EXPECT_THAT(answers, IsEmpty()) << "this age began before the NAK";
  age(3, 1);
  EXPECT_THAT(answers, ElementsAre(nak(2, 2)));
}

TEST_F(OvertakingTest, a_gap_that_has_closed_in_time_is_not_reported) {
  write(1);
  write(0);
  EXPECT_EQ(reports(), Reports{});
  write(1);
  answers.clear();
  age(1, 0);
  EXPECT_THAT(answers, IsEmpty());
}

}  // namespace
}  // namespace verbatim::hca
