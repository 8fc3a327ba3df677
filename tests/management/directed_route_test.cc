// IBA 14.2.2: the outgoing and returning path of a datagram with a directed route.
#include "sim/management/directed_route.h"

#include <gtest/gtest.h>

#include "sim/ib/lid_ranges.h"
#include "sim/mad/smp.h"

namespace verbatim::management {
namespace {

using mad::smp::DirectedRoute;
using Action = Hop::Action;

ib::Mad datagram(std::vector<std::uint8_t> path) {
  ib::Mad mad{};
  mad::Header header;
  header.management_class = mad::kSubnetManagementDirected;
  header.class_version = 1;
  header.method = mad::kGet;
  mad::put_header(mad, header);
  DirectedRoute route;
  route.hop_count = static_cast<std::uint8_t>(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) route.initial_path[i + 1] = path[i];
  route.put(mad);
  return mad;
}

ib::Mad answered(const ib::Mad& mad) {
  ib::Mad answer = mad;
  DirectedRoute route = DirectedRoute::of(mad);
  route.is_return = true;
  route.put(answer);
  return answer;
}

void expect_by_port(const Hop& hop, std::uint8_t port) {
  EXPECT_EQ(hop.action, Action::kByPort);
  EXPECT_EQ(hop.port, port);
}

TEST(DirectedRoute, no_hops_lead_to_the_sender_itself) {
  ib::Mad mad = datagram({});
  EXPECT_EQ(depart(mad, {}).action, Action::kHere);
  EXPECT_EQ(DirectedRoute::of(mad).hop_pointer, 1);
  ib::Mad back = answered(mad);
  EXPECT_EQ(depart(back, {}).action, Action::kHere);
}

TEST(DirectedRoute, goes_through_switches_and_comes_back) {
  ib::Mad mad = datagram({1, 7, 4});
  expect_by_port(depart(mad, {}), 1);
  expect_by_port(arrive(mad, 2, 8), 7);
  expect_by_port(arrive(mad, 3, 8), 4);
  EXPECT_EQ(arrive(mad, 1, 0).action, Action::kHere);
  const DirectedRoute there = DirectedRoute::of(mad);
  EXPECT_EQ(there.return_path[1], 2);
  EXPECT_EQ(there.return_path[2], 3);
  EXPECT_EQ(there.return_path[3], 1);
  ib::Mad back = answered(mad);
  expect_by_port(depart(back, {}), 1);
  expect_by_port(arrive(back, 4, 8), 3);
  expect_by_port(arrive(back, 7, 8), 2);
  EXPECT_EQ(arrive(back, 1, 0).action, Action::kHere);
}

TEST(DirectedRoute, an_adapter_forwards_nothing) {
  ib::Mad mad = datagram({1, 2});
  depart(mad, {});
  EXPECT_EQ(arrive(mad, 1, 0).action, Action::kDrop);
}

TEST(DirectedRoute, a_port_that_is_not_there_drops_it) {
  for (const std::uint8_t port : {0, 9, 255}) {
    ib::Mad mad = datagram({1, port});
    depart(mad, {});
    EXPECT_EQ(arrive(mad, 1, 8).action, Action::kDrop);
  }
}

TEST(DirectedRoute, counts_beyond_the_paths_are_dropped) {
  ib::Mad mad = datagram({});
  for (int count = 0; count < 256; ++count) {
    for (int pointer = 0; pointer < 256; ++pointer) {
      DirectedRoute route = DirectedRoute::of(mad);
      route.hop_count = static_cast<std::uint8_t>(count);
      route.hop_pointer = static_cast<std::uint8_t>(pointer);
      for (const bool back : {false, true}) {
        route.is_return = back;
        ib::Mad one = mad;
        route.put(one);
        const Hop hop = arrive(one, 1, 8);
        if (count >= 64 || pointer > count + 1) {
          EXPECT_EQ(hop.action, Action::kDrop) << count << " " << pointer;
        }
      }
    }
  }
}

// A first part by LID to a switch, from where the written part begins.
TEST(DirectedRoute, begins_at_a_switch_that_is_reached_by_lid) {
  ib::Mad mad = datagram({5});
  DirectedRoute route = DirectedRoute::of(mad);
  route.drslid = 1;
  route.put(mad);
  const Hop first = depart(mad, ib::Lid{9});
  EXPECT_EQ(first.action, Action::kByLid);
  EXPECT_EQ(first.lid, ib::Lid{9});
  expect_by_port(arrive(mad, 2, 8), 5);
  EXPECT_EQ(arrive(mad, 1, 0).action, Action::kHere);
  ib::Mad back = answered(mad);
  expect_by_port(depart(back, {}), 1);
  const Hop last = arrive(back, 5, 8);
  EXPECT_EQ(last.action, Action::kByLid);
  EXPECT_EQ(last.lid, ib::Lid{1});
  EXPECT_EQ(arrive(back, 1, 0).action, Action::kHere);
}

}  // namespace
}  // namespace verbatim::management
