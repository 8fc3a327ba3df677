// Draws failures within a budget.
#include "sim/faults/drawn_failures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace verbatim::faults {
namespace {

constexpr std::size_t kEach = 4;  // links, adapters, programs

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const char* kind : {"port/", "hca/", "host/"}) {
    for (std::size_t i = 0; i < kEach; ++i) all.push_back(kind + std::to_string(i));
  }
  return all;
}

std::vector<MayFail> all_that_may_fail() {
  const ComponentTable components(names());
  std::vector<MayFail> all;
  for (const DelaySite* site : {&kLinkDown, &kAdapterFailure, &kProgramKilled}) {
    for (std::size_t i = 0; i < kEach; ++i) all.push_back({site, components.id(names()[all.size()]), i});
  }
  return all;
}

TEST(DrawnFailures, at_most_the_budget_and_each_as_likely_as_the_others) {
  const std::vector<MayFail> all = all_that_may_fail();
  std::vector<int> failed(all.size());
  int in_all = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SeededChoices choices(seed, names());
    const std::vector<DrawnFailure> drawn = draw_failures(choices, all, 2);
    ASSERT_LE(drawn.size(), 2u);
    for (const DrawnFailure& one : drawn) {
      EXPECT_GT(one.after, Duration::zero());
      const auto same = [&](const MayFail& other) { return other.site == one.what.site && other.index == one.what.index; };
      ++failed[static_cast<std::size_t>(std::ranges::find_if(all, same) - all.begin())];
      ++in_all;
    }
  }
  const int mean = in_all / static_cast<int>(all.size());
  EXPECT_GT(mean, 200);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(failed[i], mean, mean / 4) << names()[i];
}

TEST(DrawnFailures, nothing_at_the_default) {
  class Default final : public Choices {
    std::uint32_t draw(std::string_view, ComponentId, std::uint32_t) override { return 0; }
  } choices;
  EXPECT_TRUE(draw_failures(choices, all_that_may_fail(), 3).empty());
}

}  // namespace
}  // namespace verbatim::faults
