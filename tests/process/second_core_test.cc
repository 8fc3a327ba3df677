#include "sim/supervisor/scheduling/second_core.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace verbatim::supervisor {
namespace {

// Eight windows of each kind in turns; their times in microseconds are repeated.
bool is_second_quicker(SecondCoreTrial& trial, const std::vector<int>& second, const std::vector<int>& first) {
  trial.begin();
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(trial.add(true, std::chrono::microseconds(second[i % second.size()])));
    EXPECT_EQ(trial.add(false, std::chrono::microseconds(first[i % first.size()])), i < 7);
  }
  return trial.is_second_quicker();
}

TEST(SecondCoreTrial, wants_a_quarter_for_another_processor) {
  SecondCoreTrial trial;
  EXPECT_TRUE(is_second_quicker(trial, {740}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {760}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {2000}, {1000}));
  EXPECT_TRUE(is_second_quicker(trial, {500}, {1000}));
}

TEST(SecondCoreTrial, overlooks_windows_in_which_a_program_computes) {
  SecondCoreTrial trial;
  EXPECT_TRUE(is_second_quicker(trial, {500, 90'000, 500, 500}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {1000}, {90'000, 1000, 1000, 1000}));
}

TEST(SlowAnswers, are_too_many_from_eight_of_two_milliseconds_on) {
  SlowAnswers answers;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(answers.add(std::chrono::microseconds(1999)));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(answers.add(std::chrono::milliseconds(2)));
  EXPECT_TRUE(answers.add(std::chrono::milliseconds(4)));
  answers.begin();
  EXPECT_FALSE(answers.add(std::chrono::milliseconds(4)));
}

}  // namespace
}  // namespace verbatim::supervisor
