// Recorded decisions can be repeated.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/explore/recorded_choices.h"
#include "sim/explore/replayed_choices.h"
#include "sim/explore/schedule.h"

namespace verbatim::explore {
namespace {

const std::vector<std::string> kNames = {"hca/a", "hca/b"};
constexpr ComponentId kA{0}, kB{1}, kThread{2};

// The questions of a run, in order.
std::vector<std::uint32_t> ask(Choices& choices) {
  std::vector<std::uint32_t> answers;
  for (int i = 0; i < 50; ++i) {
    answers.push_back(choices.choose("delay", kA, 145));
    answers.push_back(choices.choose("delay", kB, 145));
    answers.push_back(choices.choose("order", kA, 2));
    answers.push_back(choices.choose("late", kThread, 17));
    answers.push_back(choices.choose("only-one", kA, 1));
  }
  return answers;
}

// Records the decisions of some seeds for the questions of `asked`, and checks that repeating them gives the
// same answers. Returns all decisions.
std::vector<Decision> expect_taken_again(std::vector<std::uint32_t> (*asked)(Choices&)) {
  std::vector<Decision> all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SeededChoices seeded(seed, kNames);
    RecordedChoices recorded(seeded, kNames);
    const auto answers = asked(recorded);
    const std::vector<Decision> decisions = recorded.decisions();
    ReplayedChoices replayed(decisions, kNames);
    EXPECT_EQ(asked(replayed), answers) << seed;
    EXPECT_TRUE(replayed.unused().empty());
    EXPECT_EQ(replayed.clamped(), 0u);
    all.insert(all.end(), decisions.begin(), decisions.end());
  }
  return all;
}

TEST(Choices, recorded_decisions_give_the_same_answers) { EXPECT_FALSE(expect_taken_again(ask).empty()); }

TEST(Choices, a_decision_is_known_by_site_actor_and_occurrence) {
  const std::vector<Decision> decisions = {{"delay", "hca/b", 2, 7, 145, 0}, {"late", "thread/0", 0, 3, 17, 0}};
  ReplayedChoices choices(decisions, kNames);
  EXPECT_EQ(choices.choose("delay", kB, 145), 0u);
  EXPECT_EQ(choices.choose("delay", kA, 145), 0u);
  EXPECT_EQ(choices.choose("delay", kB, 145), 0u);
  EXPECT_EQ(choices.choose("other", kB, 145), 0u);
  EXPECT_EQ(choices.choose("late", kThread, 17), 3u);
  EXPECT_EQ(choices.unused().size(), 1u);
  EXPECT_EQ(choices.choose("delay", kB, 145), 7u);
  EXPECT_EQ(choices.choose("delay", kB, 145), 0u);
  EXPECT_TRUE(choices.unused().empty());
}

TEST(Choices, an_answer_with_too_few_alternatives_is_the_last_one) {
  ReplayedChoices choices({{"delay", "hca/a", 0, 7, 145, 0}}, kNames);
  EXPECT_EQ(choices.choose("delay", kA, 3), 2u);
  EXPECT_EQ(choices.clamped(), 1u);
}

TEST(Choices, questions_are_counted_by_stream_and_points_have_alternatives) {
  DefaultChoices none;
  RecordedChoices nothing(none, kNames);
  EXPECT_FALSE(nothing.is_free());
  ReplayedChoices empty({}, kNames);
  RecordedChoices recorded(empty, kNames);
  ask(recorded);
  const Questions& questions = recorded.questions();
  ASSERT_EQ(questions.streams.size(), 5u);
  EXPECT_EQ(questions.streams[3].actor, "thread/0");
  EXPECT_EQ(questions.asked(), 250u);
  EXPECT_EQ(questions.points.size(), 200u);  // with one alternative there is nothing to decide
  EXPECT_TRUE(recorded.decisions().empty());
}

TEST(Choices, a_point_is_known_by_its_occurrence_among_all_of_its_actor_and_site) {
  ReplayedChoices empty({}, kNames);
  RecordedChoices recorded(empty, kNames);
  for (const std::uint32_t n : {1u, 3u, 1u, 2u}) recorded.choose("turn", kA, n);
  EXPECT_EQ(recorded.questions().points, (std::vector<ChoicePoint>{{0, 3, 1}, {0, 2, 3}}));
  EXPECT_EQ(recorded.questions().asked(), 4u);
}

TEST(Choices, a_change_of_speed_at_a_question_with_one_answer_has_that_answer) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::kPriorities;
  schedule.decisions = {{"turn", "hca/a", 0, 0, 2, 0}};
  EXPECT_EQ(make_choices(schedule, kNames)->choose("turn", kA, 1), 0u);
}

TEST(Choices, each_kind_of_schedule_gives_the_same_answers_again) {
  Schedule schedule;
  schedule.decisions = {{"delay", "hca/a", 3, 60, 145, 0}, {"order", "hca/a", 5, 1, 2, 0}};
  schedule.site = "delay";
  schedule.seed = 9;
  for (const auto kind : {Schedule::Kind::kDecisions, Schedule::Kind::kSwarm, Schedule::Kind::kPriorities,
                          Schedule::Kind::kAlways, Schedule::Kind::kNear}) {
    schedule.kind = kind;
    const auto first = make_choices(schedule, kNames), second = make_choices(schedule, kNames);
    const auto answers = ask(*first);
    EXPECT_EQ(ask(*second), answers);
    if (kind == Schedule::Kind::kAlways) {
      EXPECT_EQ(answers[0], 144u);
      EXPECT_EQ(answers[2], 0u);
    }
    for (std::size_t i = 4; i < answers.size(); i += 5) EXPECT_EQ(answers[i], 0u);
  }
}

TEST(Choices, a_site_that_is_always_used_is_beside_the_decisions) {
  Schedule schedule;
  schedule.decisions = {{"delay", "hca/a", 1, 60, 145, 0}};
  schedule.always = {"order"};
  const auto choices = make_choices(schedule, kNames);
  EXPECT_EQ(choices->choose("delay", kA, 145), 0u);
  EXPECT_EQ(choices->choose("order", kA, 2), 1u);
  EXPECT_EQ(choices->choose("delay", kA, 145), 60u);
  EXPECT_EQ(choices->choose("order", kA, 1), 0u);
}

// "turn" is asked whenever "delay" is not the default, and again if the answer is even.
std::vector<std::uint32_t> ask_with_details(Choices& choices) {
  std::vector<std::uint32_t> answers;
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t delay = answers.emplace_back(choices.choose("delay", kA, 145));
    if (delay == 0) continue;
    answers.push_back(choices.choose("delay/turn", kA, 4));
    if (delay % 2 == 0) answers.push_back(choices.choose("delay/turn", kA, 4));
  }
  return answers;
}

TEST(Choices, a_detail_is_known_by_its_choice) {
  const std::vector<Decision> decisions = {{"delay", "hca/a", 1, 6, 145, 0},
                                           {"delay/turn", "hca/a", 1 * kDetailStep + 1, 2, 4, 0},
                                           {"delay", "hca/a", 3, 7, 145, 0},
                                           {"delay/turn", "hca/a", 3 * kDetailStep, 3, 4, 0}};
  ReplayedChoices all(decisions, kNames);
  RecordedChoices recorded(all, kNames);
  const std::vector<std::uint32_t> expected = {0, 6, 0, 2, 0, 7, 3, 0};
  std::vector<std::uint32_t> answers = ask_with_details(recorded);
  answers.resize(expected.size());
  EXPECT_EQ(answers, expected);
  EXPECT_EQ(recorded.decisions(), decisions);
  EXPECT_EQ(number_of(decisions[1]), "2, part 2");
  EXPECT_EQ(number_of(decisions[2]), "4");
  EXPECT_EQ(number_of(decisions[3]), "4");

  // Without the first choice the detail of the second is the same question.
  ReplayedChoices later({decisions[2], decisions[3]}, kNames);
  answers = ask_with_details(later);
  answers.resize(6);
  EXPECT_EQ(answers, (std::vector<std::uint32_t>{0, 0, 0, 7, 3, 0}));
}

TEST(Choices, details_are_taken_again_from_any_seed) {
  const std::vector<Decision> decisions = expect_taken_again(ask_with_details);
  EXPECT_TRUE(std::ranges::any_of(decisions, [](const Decision& decision) { return is_detail(decision.site); }));
}

TEST(Choices, a_detail_whose_choice_is_never_asked_is_counted_alone) {
  ReplayedChoices choices({{"other/which", "hca/a", 1 * kDetailStep, 2, 3, 0}}, kNames);
  EXPECT_EQ(choices.choose("other/which", kA, 3), 0u);
  EXPECT_EQ(choices.choose("other/which", kA, 3), 2u);
}

TEST(Choices, representatives_stand_for_all) {
  EXPECT_EQ(representatives(1), std::vector<std::uint32_t>{});
  EXPECT_EQ(representatives(3), (std::vector<std::uint32_t>{1, 2}));
  const auto of_delay = representatives(145);
  EXPECT_EQ(of_delay.front(), 1u);
  EXPECT_EQ(of_delay.size(), 5u);
  for (const std::uint32_t answer : of_delay) EXPECT_LT(answer, 145u);
}

}  // namespace
}  // namespace verbatim::explore
