// Latency trails: steps without gaps; a copy shares the earlier steps.
#include "sim/core/trail.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/core/trace.h"
#include "tests/core/at.h"

namespace verbatim {
namespace {

TrailPart part(const char* name, TrailKind kind = TrailKind::kWait) {
  return {ComponentId{1}, name, kind, 0};
}

constexpr char kSent[] = "sent";

std::string text(const Trail& trail) {
  std::string all;
  for (const TrailStep& step : trail.steps()) {
    all += std::string(step.part.name) + ":" + std::to_string(to_ps(step.end)) + " ";
  }
  return all;
}

TEST(Trail, is_empty_unless_someone_asks) {
  Engine engine;
  Tracer tracer(engine);
  Trail trail = tracer.trail(at(5));
  EXPECT_FALSE(trail);
  trail.add(at(7), part("a"));
  trail.set_message({});
  EXPECT_FALSE(Trail(trail));
  EXPECT_TRUE(trail.steps().empty());
  EXPECT_EQ(trail.message(), nullptr);
  EXPECT_FALSE(trail.last("a"));

  struct Nobody final : MessageObserver {
    void on_message(const MessageReport&) override {}
  } nobody;
  tracer.add(nobody);
  trail = tracer.trail(at(5));
  EXPECT_TRUE(trail);
  EXPECT_EQ(trail.begin(), at(5));
}

TEST(Trail, keeps_steps_that_take_time_and_marks) {
  Trail trail(at(10));
  trail.add(at(10), part("nothing"));
  trail.add(at(12), part("a"));
  trail.add(at(12), part("mark", TrailKind::kMark));
  trail.add(at(20), part("b"));
  EXPECT_EQ(text(trail), "a:12 mark:12 b:20 ");
  EXPECT_EQ(trail.end(), at(20));
}

TEST(Trail, a_copy_shares_what_lies_behind_and_goes_its_own_way) {
  Trail first(at(0));
  first.set_message({});
  first.add(at(1), part("a"));
  Trail second = first;
  first.add(at(3), part("b"));
  second.add(at(2), part("c"));
  Trail third = second;
  second = Trail();
  third.add(at(9), part("d"));
  EXPECT_EQ(text(first), "a:1 b:3 ");
  EXPECT_EQ(text(third), "a:1 c:2 d:9 ");
  EXPECT_EQ(third.begin(), at(0));
  EXPECT_TRUE(third.has_message_of(first));
  Trail other(at(0));
  other.set_message({});
  EXPECT_FALSE(other.has_message_of(first));
}

TEST(Trail, a_second_handle_adds_to_the_same) {
  Trail first(at(0));
  Trail second = first.shared();
  second.add(at(4), part("a"));
  EXPECT_EQ(text(first), "a:4 ");
}

TEST(Trail, is_cut_off_or_lasts_until_a_time_and_follows_another) {
  Trail first(at(0));
  first.add(at(4), part("a"));
  first.add(at(8), part("b"));
  EXPECT_EQ(text(first.until(at(6), part("w"))), "a:4 b:6 ");
  EXPECT_EQ(text(first.until(at(9), part("w"))), "a:4 b:8 w:9 ");

  Trail other(at(3));
  other.add(at(9), part(kSent, TrailKind::kMark));
  other.add(at(15), part("c"));
  EXPECT_EQ(other.last(kSent), at(9));
  Trail joined = first.until(*other.last(kSent), part("w"));
  joined.follow(other);
  EXPECT_EQ(text(joined), "a:4 b:8 w:9 c:15 ");
  EXPECT_EQ(joined.begin(), at(0));
}

TEST(TrailDeathTest, time_does_not_run_backwards) {
  Trail trail(at(10));
  EXPECT_DEATH(trail.add(at(9), part("a")), "end >= before");
}

TEST(Trail, a_long_row_of_copies_ends_without_a_deep_call) {
  Trail trail(at(0));
  for (int i = 1; i <= 1'000'000; ++i) {
    trail = Trail(trail);
    trail.add(at(i), part("a"));
  }
  EXPECT_EQ(trail.steps().size(), 1'000'000u);
}

}  // namespace
}  // namespace verbatim
