// The choice among several equally good outputs, where the hash of its flow alone does not decide.
#include "sim/fabric/load_balancing.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace verbatim::fabric {
namespace {

const std::vector<PortNumber> kPorts{PortNumber{2}, PortNumber{3}, PortNumber{4}, PortNumber{5}};
constexpr Duration kGap{50'000'000};

ib::Packet packet_of(std::uint64_t flow, bool may_take_any_path = true) {
  ib::Packet packet;
  packet.ethernet.emplace();
  packet.may_take_any_path = may_take_any_path;
  packet.flow_hash = flow;
  return packet;
}

struct Balanced {
  explicit Balanced(const LoadBalancing& params, std::uint64_t seed = 1) : balancer(params, Rng(seed, "test")) {}

  PortNumber choose(std::uint64_t flow, Instant now = {}, const std::vector<PortNumber>& ports = kPorts) {
    return balancer.choose(ports, packet_of(flow), now, [this](PortNumber port) { return queued[port.value]; });
  }

  LoadBalancer balancer;
  std::map<std::uint32_t, std::uint64_t> queued;  // bytes, by port
};

LoadBalancing by_packet(std::int64_t grade = 1000) { return {.by = "packet", .gap = kGap, .grade_bytes = grade}; }
LoadBalancing by_flowlet(std::int64_t grade = 1000) { return {.by = "flowlet", .gap = kGap, .grade_bytes = grade}; }

TEST(LoadBalancing, packets_take_an_output_of_the_lowest_grade) {
  Balanced balanced(by_packet());
  balanced.queued = {{2, 1000}, {3, 1999}, {4, 999}, {5, 5000}};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(balanced.choose(7).value, 4);
}

TEST(LoadBalancing, chance_decides_within_a_grade_and_above_the_seventh_step) {
  using Queued = std::map<std::uint32_t, std::uint64_t>;
  for (const Queued& queued : {Queued{{2, 0}, {3, 999}, {4, 500}, {5, 1}}, {{2, 7000}, {3, 7999}, {4, 8000}, {5, 900'000}}}) {
    Balanced balanced(by_packet());
    balanced.queued = queued;
    std::map<std::uint32_t, int> taken;
    for (int i = 0; i < 4000; ++i) ++taken[balanced.choose(7).value];
    ASSERT_EQ(taken.size(), 4u);
    // Four standard deviations of a binomial distribution: 4 * sqrt(4000 * 1/4 * 3/4) = 110.
    for (const auto& [port, count] : taken) EXPECT_NEAR(count, 1000, 110) << port;
  }
}

TEST(LoadBalancing, without_grades_all_outputs_are_as_good) {
  Balanced balanced(by_packet(0));
  balanced.queued = {{2, 1'000'000}};
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 100; ++i) taken.insert(balanced.choose(7).value);
  EXPECT_EQ(taken.size(), 4u);
}

TEST(LoadBalancing, the_same_seed_gives_the_same_choices_and_another_seed_others) {
  const auto choices = [](std::uint64_t seed) {
    Balanced balanced(by_packet(), seed);
    std::vector<std::uint32_t> all;
    for (int i = 0; i < 50; ++i) all.push_back(balanced.choose(7).value);
    return all;
  };
  EXPECT_EQ(choices(1), choices(1));
  EXPECT_NE(choices(1), choices(2));
}

TEST(LoadBalancing, only_packets_that_may_go_any_way_leave_the_way_of_their_flow) {
  EXPECT_TRUE(LoadBalancer(by_packet(), Rng(1, "")).chooses_for(packet_of(1, true)));
  EXPECT_FALSE(LoadBalancer(by_packet(), Rng(1, "")).chooses_for(packet_of(1, false)));
  EXPECT_TRUE(LoadBalancer(by_flowlet(), Rng(1, "")).chooses_for(packet_of(1, false)));
}

TEST(LoadBalancing, a_flow_stays_on_its_output_until_it_has_paused_for_the_gap) {
  Balanced balanced(by_flowlet());
  balanced.queued = {{2, 5000}, {3, 0}, {4, 5000}, {5, 5000}};
  Instant now{};
  EXPECT_EQ(balanced.choose(7, now).value, 3);
  balanced.queued = {{2, 0}, {3, 5000}, {4, 5000}, {5, 5000}};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(balanced.choose(7, now += kGap - Duration(1)).value, 3) << "a picosecond less each time";
  EXPECT_EQ(balanced.choose(8, now).value, 2) << "another flow";
  EXPECT_EQ(balanced.choose(7, now += kGap).value, 2);
}

TEST(LoadBalancing, a_flow_leaves_an_output_that_does_not_lead_on_any_more) {
  Balanced balanced(by_flowlet());
  balanced.queued = {{2, 0}, {3, 5000}, {4, 5000}, {5, 5000}};
  EXPECT_EQ(balanced.choose(7).value, 2);
  EXPECT_NE(balanced.choose(7, {}, {PortNumber{3}, PortNumber{4}}).value, 2);
}

TEST(LoadBalancing, flows_that_have_paused_are_forgotten_and_others_are_not) {
  Balanced balanced(by_flowlet(0));
  std::vector<std::uint32_t> first;
  for (std::uint64_t flow = 1; flow <= 60'000; ++flow) balanced.choose(flow);
  const Instant later = Instant{} + kGap - Duration(1);
  for (std::uint64_t flow = 1; flow <= 100; ++flow) first.push_back(balanced.choose(flow, later).value);
  // More flows than are kept, when most of the first have paused.
  for (std::uint64_t flow = 100'000; flow < 110'000; ++flow) balanced.choose(flow, later + Duration(1));
  for (std::uint64_t flow = 1; flow <= 100; ++flow)
    EXPECT_EQ(balanced.choose(flow, later + Duration(1)).value, first[flow - 1]) << flow;
}

}  // namespace
}  // namespace verbatim::fabric
