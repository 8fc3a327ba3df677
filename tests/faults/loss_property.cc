#include "tests/faults/loss_property.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

#include "tests/faults/conversation.h"

namespace verbatim::faults {

namespace {

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::kind,
                   rc::gen::map(rc::gen::inRange(0, 8), [](int n) { return static_cast<Kind>(n); })),
      // Up to six packets, and often exactly whole ones.
      rc::gen::set(&Step::length, rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 1400),
                                                 rc::gen::element<std::uint32_t>(0, 256, 512, 1024))),
      rc::gen::set(&Step::is_fenced, rc::gen::map(rc::gen::inRange(0, 6), [](int n) { return n == 5; })));
}

rc::Gen<std::vector<Step>> any_steps() {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 31), [](std::size_t n) {
    return rc::gen::container<std::vector<Step>>(
        n, rc::gen::map(any_step(), [](Step step) {
          if (step.kind == Kind::kFetchAdd || step.kind == Kind::kCompareSwap) step.length = 8;
          return step;
        }));
  });
}

rc::Gen<Loss> any_loss() {
  return rc::gen::build<Loss>(
      rc::gen::set(&Loss::from_a),
      rc::gen::set(&Loss::action,
                   rc::gen::map(rc::gen::inRange(0, 4), [](int n) { return static_cast<Action>(n); })),
      rc::gen::set(&Loss::nth, rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(1, 20),
                                              rc::gen::inRange<std::uint32_t>(1, 200))),
      rc::gen::set(&Loss::delay_us, rc::gen::element<std::uint32_t>(0, 1, 5, 50, 500, 1'000, 3'000)));
}

// A retry needs a packet that was lost or late; a duplicate is harmless.
std::vector<Loss> at_most_seven_harmful(std::vector<Loss> losses) {
  int harmful = 0;
  std::erase_if(losses, [&](const Loss& loss) { return loss.action != Action::kDuplicate && ++harmful > 7; });
  return losses;
}

hca::LossRecoveryProfile any_recovery(Recovery recovery) {
  hca::LossRecoveryProfile profile;
  if (recovery == Recovery::kAtOnce) return profile;
  for (Duration* const time : {&profile.nak_generation, &profile.nak_reaction, &profile.read_nak_generation,
                               &profile.read_nak_reaction}) {
    *time = Duration(*rc::gen::element<std::int64_t>(0, 2'500, 1'500'000, 200'000'000));
  }
  profile.selective_repeat = recovery == Recovery::kSelective;
  profile.log_tx_psn_window = *rc::gen::element<std::uint32_t>(3, 5, 9);
  return profile;
}

Plan any_plan(bool may_fail, Recovery recovery) {
  Plan plan;
  plan.from_a = *any_steps();
  plan.from_b = *any_steps();
  plan.losses = *rc::gen::container<std::vector<Loss>>(any_loss());
  plan.may_fail = may_fail;
  if (may_fail) {
    plan.retry_cnt = *rc::gen::element<std::uint8_t>(0, 0, 1, 2);
  } else {
    plan.losses = at_most_seven_harmful(std::move(plan.losses));
  }
  plan.max_rd_atomic = *rc::gen::element<std::uint8_t>(1, 2, 4, 16);
  plan.first_psn = *rc::gen::element<std::uint32_t>(1000, 0xffffff, 0xfffff0, 0x7fffff);
  plan.ready_receives = *rc::gen::element<std::uint32_t>(64, 64, 0, 3);
  plan.end_to_end_credits = *rc::gen::arbitrary<bool>();
  plan.freedom_seed = *rc::gen::element<std::uint64_t>(0, 0, *rc::gen::inRange<std::uint64_t>(1, 1'000'000));
  plan.recovery = any_recovery(recovery);
  return plan;
}

// Checks so many plans; `counts` are those in which something worth the test happened.
void check_plans(std::uint64_t seed, int plans, bool may_fail, Recovery recovery, bool (*counts)(const Conversation&)) {
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = plans;
  int counted = 0;
  const auto result = rc::detail::checkTestable(
      [&] {
        const Plan plan = any_plan(may_fail, recovery);
        Conversation conversation(plan);
        const std::string wrong = conversation.run();
        if (counts(conversation)) ++counted;
        if (wrong.empty()) return;
        std::ostringstream text;
        text << wrong << '\n' << plan;
        RC_FAIL(text.str());
      },
      rc::detail::TestMetadata(), params);
  if (!result.template is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    ADD_FAILURE() << text.str();
  }
  EXPECT_GT(counted, plans / 3) << "most plans should lose something";
}

}  // namespace

void expect_right_data_whatever_is_lost(std::uint64_t seed, int plans, Recovery recovery) {
  check_plans(seed, plans, false, recovery,
              [](const Conversation& conversation) { return conversation.retransmissions() > 0; });
}

void expect_right_errors_when_retries_run_out(std::uint64_t seed, int plans, Recovery recovery) {
  check_plans(seed, plans, true, recovery, [](const Conversation& conversation) { return conversation.has_failed(); });
}

}  // namespace verbatim::faults
