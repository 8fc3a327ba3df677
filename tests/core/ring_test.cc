#include "sim/core/ring.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>

namespace verbatim {
namespace {

TEST(Ring, begins_in_lent_memory_and_leaves_it_when_that_is_full) {
  std::array<int, 2> lent{};
  Ring<int> ring(lent);
  ring.push_back(1);
  ring.push_back(2);
  EXPECT_EQ(&ring.front(), &lent[0]);
  ring.push_back(3);
  EXPECT_NE(&ring.front(), &lent[0]);
  for (int expected = 1; expected <= 3; ++expected) EXPECT_EQ(ring.pop_front(), expected);
  EXPECT_TRUE(ring.empty());
}

TEST(Ring, that_is_empty_begins_at_its_first_place_again) {
  Ring<int> ring;
  ring.push_back(1);
  const int* const first = &ring.front();
  ring.drop_front();
  ring.push_back(2);
  EXPECT_EQ(&ring.front(), first);
}

TEST(Ring, keeps_its_elements_when_it_is_moved) {
  Ring<std::unique_ptr<int>> ring;
  for (int i = 0; i < 20; ++i) ring.push_back(std::make_unique<int>(i));
  Ring<std::unique_ptr<int>> moved(std::move(ring));
  ASSERT_EQ(moved.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(*moved.pop_front(), i);
}

TEST(RingDeathTest, with_lent_memory_does_not_move) {
  std::array<int, 2> lent{};
  Ring<int> ring(lent);
  EXPECT_DEATH(Ring<int>(std::move(ring)), "is_lent");
}

}  // namespace
}  // namespace verbatim
