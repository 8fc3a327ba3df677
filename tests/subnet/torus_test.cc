// torus-2QoS: tori and meshes, missing cables, failed switches, multicast trees.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/subnet/planned.h"

namespace verbatim::subnet {
namespace {

std::vector<std::uint32_t> random_sizes() {
  std::vector<std::uint32_t> sizes;
  for (int d = *rc::gen::inRange(1, 4); d > 0; --d) sizes.push_back(*rc::gen::inRange<std::uint32_t>(1, 6));
  return sizes;
}

RC_GTEST_PROP(TorusProperty, has_no_loop_in_tori_and_meshes, ()) {
  const TorusGraph of = torus_of(random_sizes(), *rc::gen::arbitrary<bool>());
  const Plan plan = plan_by(of.graph, torus_2qos(of));
  RC_ASSERT(plan.is_routed);
  RC_ASSERT(gaps(of.graph, plan) == 0u);
  RC_ASSERT(loop_of(of.graph, plan) == "");
}

RC_GTEST_PROP(TorusProperty, has_none_when_a_cable_is_missing_and_keeps_the_levels, ()) {
  TorusGraph of = torus_of({*rc::gen::inRange<std::uint32_t>(3, 6), *rc::gen::inRange<std::uint32_t>(3, 6)});
  const Plan whole = plan_by(of.graph, torus_2qos(of));
  std::vector<std::size_t> between;
  for (std::size_t i = 0; i < of.graph.cables.size(); ++i) {
    if (of.graph.nodes[of.graph.cables[i].a.node].kind == NodeKind::kSwitch &&
        of.graph.nodes[of.graph.cables[i].b.node].kind == NodeKind::kSwitch)
      between.push_back(i);
  }
  of.graph.cables.erase(of.graph.cables.begin() + static_cast<std::ptrdiff_t>(*rc::gen::elementOf(between)));
  const Plan broken = plan_by(of.graph, torus_2qos(of));
  RC_ASSERT(broken.is_routed);
  RC_ASSERT(gaps(of.graph, broken) == 0u);
  RC_ASSERT(loop_of(of.graph, broken) == "");
  for (std::size_t i = 0; i < of.graph.nodes.size(); ++i) {
    for (std::size_t j = 0; j < of.graph.nodes.size(); ++j) {
      const ib::Lid a = whole.nodes[i].ports[0].lid, b = whole.nodes[j].ports[0].lid;
      RC_ASSERT(whole.levels->of(a, b) == broken.levels->of(a, b));
    }
  }
}

// With a single lane the same routes would have a loop.
TEST(Torus, needs_its_lanes) {
  const TorusGraph of = torus_of({5, 5});
  const Plan plan = plan_by(of.graph, torus_2qos(of));
  EXPECT_NE(credit_loop_text(of.graph.nodes, find_credit_loop(of.graph.nodes, of.graph.cables, plan)), "");
  Routing one_lane = torus_2qos(of);
  one_lane.lanes = 1;
  EXPECT_EQ(plan_by(of.graph, one_lane).refusals.at(0).text, "cables between switches have one data lane, and a torus needs two");
}

TEST(Torus, refuses_what_is_none) {
  TorusGraph of = torus_of({4, 4});
  std::swap(of.torus.switches[0], of.torus.switches[5]);
  EXPECT_EQ(plan_by(of.graph, torus_2qos(of)).refusals.at(0).text, "switches s1000 and s1012 have a cable, and are no neighbours in the torus");
  of.torus.switches.pop_back();
  EXPECT_EQ(plan_by(of.graph, torus_2qos(of)).refusals.at(0).text,
            "the torus has 16 places, 15 switches are named for them, and the fabric has 16");
}

// All routes between the remaining adapters; levels are as before the failure, so that connections can
// continue.
TEST(Torus, leads_around_any_switch_without_a_loop) {
  const std::vector<std::vector<std::uint32_t>> shapes = {{3, 3},    {4, 4},    {5, 3},    {3, 5},   {6, 6},
                                                          {3, 3, 3}, {4, 3, 5}, {5, 4, 3}, {4, 4, 4}};
  for (const std::vector<std::uint32_t>& sizes : shapes) {
    const TorusGraph whole = torus_of(sizes);
    const Plan first = plan_by(whole.graph, torus_2qos(whole));
    for (std::size_t place = 0; place < whole.torus.switches.size(); ++place) {
      const TorusGraph of = without(whole, {place});
      const Plan plan = plan_by(of.graph, torus_2qos(of));
      ASSERT_TRUE(plan.is_routed) << place << ": " << plan.refusals.at(0).text;
      EXPECT_EQ(gaps(of.graph, plan), 0u) << place;
      EXPECT_EQ(loop_of(of.graph, plan), "") << place;
      for (const NodePlan& from : first.nodes) {
        for (const NodePlan& to : first.nodes)
          ASSERT_EQ(first.levels->of(from.ports[0].lid, to.ports[0].lid), plan.levels->of(from.ports[0].lid, to.ports[0].lid));
      }
    }
  }
}

TEST(Torus, leads_around_neighbours_along_the_last_dimension) {
  const TorusGraph whole = torus_of({6, 6});
  for (std::size_t place = 0; place < 6; ++place) {
    const TorusGraph of = without(whole, {18 + place, 18 + (place + 1) % 6});
    const Plan plan = plan_by(of.graph, torus_2qos(of));
    ASSERT_TRUE(plan.is_routed) << plan.refusals.at(0).text;
    EXPECT_EQ(gaps(of.graph, plan), 0u);
    EXPECT_EQ(loop_of(of.graph, plan), "");
  }
}

// With the lanes of other paths, the hop after the turn would close cycles around the failed switch.
TEST(Torus, needs_lanes_by_input_around_a_switch) {
  const TorusGraph of = without(torus_of({6, 6}), {21});
  Plan plan = plan_by(of.graph, torus_2qos(of));
  ASSERT_EQ(loop_of(of.graph, plan), "");
  for (NodePlan& node : plan.nodes) node.turn_lanes.clear();
  EXPECT_NE(loop_of(of.graph, plan), "");
}

TEST(Torus, refuses_failures_that_it_cannot_lead_around) {
  const TorusGraph whole = torus_of({6, 6});
  const auto refusal = [&](const std::set<std::size_t>& places, std::uint32_t lanes = kLanes) {
    const TorusGraph of = without(whole, places);
    Routing routing = torus_2qos(of);
    routing.lanes = lanes;
    const Plan plan = plan_by(of.graph, routing);
    return plan.is_routed ? "" : plan.refusals.at(0).text;
  };
  EXPECT_EQ(refusal({7, 13}), "switches s1007 and s1013 have no cable to another one, and are not on one ring along y");
  EXPECT_EQ(refusal({7, 9}), "the switches without a cable to another one on the ring along y of s1007 are not neighbours");
  EXPECT_EQ(refusal({7}, 2), "routes around a switch without cables need four data lanes, and cables between switches have 2");
  EXPECT_EQ(refusal({7}, 4), "");
}

TEST(Torus, has_a_tree_for_groups_around_failures_too) {
  for (const std::vector<std::uint32_t>& sizes : std::vector<std::vector<std::uint32_t>>{{6, 5}, {4, 4}, {3, 3, 3}, {4, 3, 5}}) {
    const TorusGraph whole = torus_of(sizes);
    expect_legal_tree(whole.graph, plan_by(whole.graph, torus_2qos(whole)));
    for (std::size_t place = 0; place < whole.torus.switches.size(); ++place) {
      const TorusGraph of = without(whole, {place});
      expect_legal_tree(of.graph, plan_by(of.graph, torus_2qos(of)));
    }
    for (std::size_t cable = 0; cable < whole.graph.cables.size(); ++cable) {
      TorusGraph of = whole;
      const auto is_switch = [&](const Attachment& at) { return whole.graph.nodes[at.node].kind == NodeKind::kSwitch; };
      if (!is_switch(of.graph.cables[cable].a) || !is_switch(of.graph.cables[cable].b)) continue;
      of.graph.cables.erase(of.graph.cables.begin() + static_cast<std::ptrdiff_t>(cable));
      expect_legal_tree(of.graph, plan_by(of.graph, torus_2qos(of)));
    }
  }
}

}  // namespace
}  // namespace verbatim::subnet
