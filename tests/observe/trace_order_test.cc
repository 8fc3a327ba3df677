#include "sim/observe/trace_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace verbatim::observe {
namespace {

struct Order {
  std::vector<std::string> written;
  TraceOrder<std::string> order{[this](std::string& item) { written.push_back(item); }};

  void add(std::int64_t time_ps, std::uint32_t component, std::uint64_t number) {
    TraceRecord record{time_ps, component, TraceEvent::kDoorbell, {}};
    record.number = number;
    order.add(record, std::to_string(time_ps) + "/" + std::to_string(component) + "/" + std::to_string(number));
  }
};

using Lines = std::vector<std::string>;

TEST(TraceOrder, writes_an_instant_by_component_and_number_when_a_later_one_comes) {
  Order order;
  order.add(5, 2, 0);
  order.add(5, 1, 7);
  order.add(5, 2, 1);
  order.add(5, 1, 8);
  EXPECT_EQ(order.written, Lines{});
  order.add(6, 0, 0);
  EXPECT_EQ(order.written, (Lines{"5/1/7", "5/1/8", "5/2/0", "5/2/1"}));
  order.order.flush();
  EXPECT_EQ(order.written.back(), "6/0/0");
}

TEST(TraceOrder, does_not_depend_on_how_components_interleave) {
  std::vector<int> turns = {0, 0, 1, 1, 2, 2};
  Lines first;
  do {
    Order order;
    std::uint64_t numbers[3] = {};
    for (const int component : turns) order.add(9, static_cast<std::uint32_t>(component), numbers[component]++);
    order.order.flush();
    if (first.empty()) first = order.written;
    EXPECT_EQ(order.written, first);
  } while (std::ranges::next_permutation(turns).found);
  EXPECT_EQ(first.size(), 6u);
}

TEST(TraceOrder, what_is_no_record_comes_behind_those_of_its_component_up_to_then) {
  Order order;
  order.add(5, 2, 0);
  order.add(5, 1, 3);
  order.order.add_behind(5, 1, "words");
  order.add(5, 1, 4);
  order.order.flush();
  EXPECT_EQ(order.written, (Lines{"5/1/3", "words", "5/1/4", "5/2/0"}));
}

TEST(TraceOrder, words_of_a_later_time_wait_for_it_and_late_ones_do_not) {
  Order order;
  order.add(5, 1, 0);
  order.order.add_behind(7, 1, "of 7");
  order.add(6, 1, 1);
  order.order.add_behind(5, 0, "late");
  order.add(7, 0, 0);
  order.add(8, 0, 1);
  EXPECT_EQ(order.written, (Lines{"5/1/0", "late", "6/1/1", "7/0/0", "of 7"}));
}

}  // namespace
}  // namespace verbatim::observe
