// Tables indexed by number use memory only for the numbers in use.
#include "sim/hca/number_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace verbatim::hca {
namespace {

TEST(NumberTable, finds_what_is_in_it_and_visits_it_in_order) {
  NumberTable<int> table;
  for (const int number : {1'000'000, 3, 256, 255}) table.add(static_cast<std::uint32_t>(number), number);
  EXPECT_EQ(table.find(255), 255);
  EXPECT_EQ(table.find(254), 0);
  EXPECT_EQ(table.find(0xff'ffff), 0);
  table.remove(255);
  EXPECT_EQ(table.find(255), 0);
  std::vector<int> visited;
  table.each([&](int entry) {
    if (entry != 0) visited.push_back(entry);
  });
  EXPECT_EQ(visited, (std::vector<int>{3, 256, 1'000'000}));
}

TEST(NumberTable, numbers_that_have_been_given_back_take_no_memory) {
  NumberTable<int> table;
  table.add(5, 1);
  const std::size_t of_one = table.bytes();
  for (std::uint32_t number = 1'000; number < 50'000; ++number) {
    table.add(number, 2);
    ASSERT_LE(table.bytes(), 2 * of_one);
    table.remove(number);
  }
  EXPECT_EQ(table.bytes(), of_one);
  EXPECT_EQ(table.find(5), 1);
}

}  // namespace
}  // namespace verbatim::hca
