// Random flows: sizes have the means of the published distributions, numbers and times are those of a Poisson
// process.
#include "sim/workload/poisson_flows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace verbatim::workload {
namespace {

TEST(SizeDistributionTest, means_are_those_of_the_published_distributions) {
  const std::pair<const char*, std::uint64_t> kMeans[] = {
      {"websearch", 1'711'250}, {"fb-hadoop", 120'421}, {"ali-storage", 40'870}, {"solar", 39'424}, {"google-rpc", 2'892}};
  EXPECT_EQ(size_distribution_names().size(), std::size(kMeans));
  for (const auto& [name, mean] : kMeans) {
    ASSERT_NE(find_size_distribution(name), nullptr) << name;
    EXPECT_EQ(find_size_distribution(name)->mean(), mean) << name;
  }
  EXPECT_EQ(find_size_distribution("uniform"), nullptr);
}

TEST(SizeDistributionTest, draws_have_the_distribution_and_its_mean) {
  constexpr int kDraws = 200'000;
  for (const std::string_view name : size_distribution_names()) {
    SCOPED_TRACE(name);
    const SizeDistribution& distribution = *find_size_distribution(name);
    Rng random(7, "test");
    std::vector<std::uint64_t> draws(kDraws);
    for (std::uint64_t& draw : draws) draw = distribution.draw(random);
    for (const SizeDistribution::Point& point : distribution.points()) {
      const auto below =
          std::ranges::count_if(draws, [&](std::uint64_t draw) { return draw <= point.bytes; });
      EXPECT_NEAR(static_cast<double>(below) / kDraws,
                  static_cast<double>(point.cumulative) / SizeDistribution::kOne, 0.005)
          << point.bytes;
    }
    const double mean =
        static_cast<double>(std::accumulate(draws.begin(), draws.end(), std::uint64_t{0})) / kDraws;
    // The standard error of google-rpc is 5 %: few calls have thousands of times the size of most.
    EXPECT_NEAR(mean / static_cast<double>(distribution.mean()), 1, name == "google-rpc" ? 0.2 : 0.02);
  }
}

TEST(SizeDistributionTest, a_draw_has_one_byte_at_least_and_the_largest_size_at_most) {
  const SizeDistribution tiny({{0, 0}, {2, SizeDistribution::kOne}});
  Rng random(1, "test");
  bool has_one = false;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t draw = tiny.draw(random);
    EXPECT_GE(draw, 1u);
    EXPECT_LE(draw, 2u);
    has_one |= draw == 1;
  }
  EXPECT_TRUE(has_one);
}

TEST(ExponentialTest, has_mean_one_variance_one_and_the_tail_of_an_exponential) {
  constexpr int kDraws = 400'000;
  Rng random(3, "test");
  double sum = 0, squares = 0;
  int above_one = 0, above_three = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double draw = static_cast<double>(draw_exponential(random)) / 4294967296.0;
    sum += draw;
    squares += draw * draw;
    above_one += draw > 1;
    above_three += draw > 3;
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.01);
  EXPECT_NEAR(squares / kDraws, 2, 0.03);
  EXPECT_NEAR(static_cast<double>(above_one) / kDraws, std::exp(-1.0), 0.003);
  EXPECT_NEAR(static_cast<double>(above_three) / kDraws, std::exp(-3.0), 0.001);
}

PoissonParams params() {
  return {.destinations = {.members = 320},
          .bits_per_second = std::vector<std::uint64_t>(320, 100'000'000'000),
          .load = 300'000,
          .time = Duration(10'000'000'000),
          .seed = 1};
}

TEST(PoissonFlowsTest, offer_the_load_that_is_asked_for) {
  const SizeDistribution& sizes = *find_size_distribution("fb-hadoop");
  const std::vector<PoissonFlow> flows = poisson_flows(params(), sizes);
  // 320 hosts at 30 Gb/s for 10 ms, in flows of 120,421 bytes.
  EXPECT_NEAR(static_cast<double>(flows.size()), 320 * 30e9 / 8 * 0.01 / 120'421, 1500);
  double bytes = 0;
  std::vector<int> sent(320), received(320);
  for (const PoissonFlow& flow : flows) {
    EXPECT_NE(flow.from, flow.to);
    EXPECT_LT(flow.start, params().time);
    bytes += static_cast<double>(flow.bytes);
    ++sent.at(flow.from);
    ++received.at(flow.to);
  }
  EXPECT_NEAR(bytes / (320 * 30e9 / 8 * 0.01), 1, 0.03);
  EXPECT_TRUE(std::ranges::is_sorted(flows, {}, &PoissonFlow::start));
  const double each = static_cast<double>(flows.size()) / 320, five_sigma = 5 * std::sqrt(each);
  for (int i = 0; i < 320; ++i) {
    EXPECT_NEAR(sent[i], each, five_sigma) << i;
    EXPECT_NEAR(received[i], each, five_sigma) << i;
  }
}

TEST(PoissonFlowsTest, a_seed_gives_the_same_flows_and_another_seed_others) {
  const SizeDistribution& sizes = *find_size_distribution("websearch");
  const std::vector<PoissonFlow> flows = poisson_flows(params(), sizes);
  EXPECT_EQ(flows, poisson_flows(params(), sizes));
  PoissonParams other = params();
  other.seed = 2;
  EXPECT_NE(flows, poisson_flows(other, sizes));
}

TEST(PoissonFlowsTest, more_time_adds_flows_and_changes_none) {
  const SizeDistribution& sizes = *find_size_distribution("ali-storage");
  PoissonParams less = params();
  less.time = Duration(1'000'000'000);
  const std::vector<PoissonFlow> few = poisson_flows(less, sizes), many = poisson_flows(params(), sizes);
  ASSERT_LT(few.size(), many.size());
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

// The first flows of a seed are the same on every machine.
TEST(PoissonFlowsTest, the_first_flows_of_a_seed_are_known) {
  PoissonParams few = params();
  few.destinations.members = 4;
  few.bits_per_second.resize(4);
  const std::vector<PoissonFlow> flows = poisson_flows(few, *find_size_distribution("fb-hadoop"));
  ASSERT_GE(flows.size(), 3u);
  EXPECT_EQ(flows[0], (PoissonFlow{0, 2, 596, Duration(8'998'345)}));
  EXPECT_EQ(flows[1], (PoissonFlow{2, 0, 635, Duration(25'676'795)}));
  EXPECT_EQ(flows[2], (PoissonFlow{3, 2, 2'369, Duration(39'780'730)}));
}

}  // namespace
}  // namespace verbatim::workload
