// Collectives as messages: their number, their duration where all steps are equal, and that they transfer the
// right data.
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "sim/workload/training.h"
#include "tests/workload/star_fabric.h"

namespace verbatim::workload {
namespace {

using test::StarRun;

Team team_of(std::uint32_t ranks) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) all.push_back(rank);
  return Team(all);
}

struct Built {
  MessageGraph graph;
  Collective collective;
};
Built build(std::uint32_t ranks, const CollectiveParams& params) {
  MessageGraph graph(ranks);
  Team team = team_of(ranks);
  const Collective collective = append_collective(graph, team, params);
  return {std::move(graph), collective};
}

// End of the last of `steps` equal steps, if all members proceed at the same pace: a step starts at the end
// of the previous one and takes as long as a message between idle hosts.
std::int64_t steps_time(std::uint32_t steps, std::uint64_t bytes) {
  std::int64_t at = 0;
  for (std::uint32_t step = 0; step < steps; ++step) at = test::arrival_of(bytes, at);
  return at;
}

std::int64_t last_receive(const StarRun& run) {
  std::int64_t last = 0;
  for (OperationId id = 0; id < run.graph.size(); ++id) {
    if (run.graph[id].kind == Operation::Kind::kReceive) last = std::max(last, run.ended(id));
  }
  return last;
}

const Pattern kPatterns[] = {Pattern::kBarrier,   Pattern::kBroadcast,     Pattern::kAllReduce,
                             Pattern::kAllGather, Pattern::kReduceScatter, Pattern::kAllToAll};

// In every collective each send is matched, and every operation ends.
TEST(CollectivesTest, all_messages_arrive_whatever_the_number_of_members) {
  for (const Pattern pattern : kPatterns) {
    for (const Algorithm algorithm : algorithms_of(pattern)) {
      for (const std::uint32_t ranks : {2u, 3u, 5u, 8u}) {
        SCOPED_TRACE(std::string(name_of(pattern)) + " by " + std::string(name_of(algorithm)) + " of " +
                     std::to_string(ranks));
        CollectiveParams params{pattern, algorithm, 100'001};
        params.root = ranks - 1;
        params.channels = 2;
        params.chunk_bytes = 7000;
        Built built = build(ranks, params);
        StarRun run(std::move(built.graph));
        run.go();
        EXPECT_TRUE(run.run->is_complete());
        EXPECT_EQ(run.run->unexpected_left(), 0u);
        std::uint64_t sends = 0, bytes = 0;
        for (OperationId id = 0; id < run.graph.size(); ++id) {
          const Operation& one = run.graph[id];
          if (one.kind != Operation::Kind::kSend) continue;
          ++sends;
          bytes += one.amount;
          ASSERT_NE(run.run->partner(id), kNoOperation);
          EXPECT_EQ(run.graph[run.run->partner(id)].amount, one.amount) << "the receiver expects as much";
        }
        EXPECT_EQ(run.run->messages_matched(), sends);
        EXPECT_EQ(run.run->bytes_matched(), bytes);
      }
    }
  }
}

TEST(CollectivesTest, one_member_has_nothing_to_do) {
  for (const Pattern pattern : kPatterns) {
    for (const Algorithm algorithm : algorithms_of(pattern))
      EXPECT_EQ(build(1, {pattern, algorithm, 1000}).graph.size(), 0u);
  }
}

// A part is one packet: its acknowledgement is no longer on the cable when the next part is sent.
TEST(CollectivesTest, a_ring_all_reduce_takes_2_n_minus_1_equal_steps) {
  for (const std::uint32_t ranks : {2u, 4u, 7u}) {
    constexpr std::uint64_t kPart = 4096;
    Built built = build(ranks, {Pattern::kAllReduce, Algorithm::kRing, kPart * ranks});
    EXPECT_EQ(built.collective.bytes, kPart * ranks);
    StarRun run(std::move(built.graph));
    run.go();
    const std::uint32_t steps = steps_of(Pattern::kAllReduce, Algorithm::kRing, ranks);
    EXPECT_EQ(steps, 2 * (ranks - 1));
    EXPECT_EQ(last_receive(run), steps_time(steps, kPart)) << ranks;
    EXPECT_EQ(run.run->messages_matched(), std::uint64_t{ranks} * steps);
  }
}

// Acknowledgements within a message of many packets share the cable with the data of the other direction.
TEST(CollectivesTest, steps_of_many_packets_wait_for_acknowledgements) {
  constexpr std::uint64_t kPart = 64 << 10;
  Built built = build(4, {Pattern::kAllReduce, Algorithm::kRing, kPart * 4});
  StarRun run(std::move(built.graph));
  const std::int64_t idle = steps_time(6, kPart), took = last_receive(run.go());
  EXPECT_GE(took, idle);
  EXPECT_LT(took, idle + idle / 500);
}

TEST(CollectivesTest, rings_of_gather_and_scatter_take_n_minus_1_equal_steps) {
  for (const Pattern pattern : {Pattern::kAllGather, Pattern::kReduceScatter}) {
    constexpr std::uint64_t kPart = 3000;
    Built built = build(6, {pattern, Algorithm::kRing, kPart * 6});
    StarRun run(std::move(built.graph));
    EXPECT_EQ(last_receive(run.go()), steps_time(5, kPart));
  }
}

TEST(CollectivesTest, a_barrier_takes_a_step_for_each_doubling) {
  for (const std::uint32_t ranks : {2u, 4u, 8u}) {
    Built built = build(ranks, {Pattern::kBarrier, Algorithm::kDissemination, 8});
    StarRun run(std::move(built.graph));
    run.go();
    const std::uint32_t steps = steps_of(Pattern::kBarrier, Algorithm::kDissemination, ranks);
    EXPECT_EQ(steps, static_cast<std::uint32_t>(std::bit_width(ranks - 1)));
    EXPECT_EQ(last_receive(run), steps_time(steps, 8)) << ranks;
  }
}

std::uint32_t depth_of(const Tree& tree, std::uint32_t member) {
  std::uint32_t depth = 0;
  for (; member != tree.root; member = tree.parents[member]) ++depth;
  return depth;
}

TEST(CollectivesTest, trees_reach_every_member) {
  for (std::uint32_t members = 1; members <= 70; ++members) {
    for (const std::uint32_t root : {0u, members / 2, members - 1}) {
      std::uint32_t deepest = 0;
      const Tree tree = binomial_tree(members, root);
      for (std::uint32_t member = 0; member < members; ++member) deepest = std::max(deepest, depth_of(tree, member));
      EXPECT_LE(deepest, std::bit_width(members - 1));
      EXPECT_EQ(depth_of(chain_tree(members, root), (root + members - 1) % members), members - 1);
    }
    const Tree first = double_binary_tree(members, false), second = double_binary_tree(members, true);
    for (std::uint32_t member = 0; member < members; ++member) {
      for (const Tree* tree : {&first, &second}) {
        EXPECT_LE(depth_of(*tree, member), std::bit_width(members)) << members;
        EXPECT_LE(tree->children[member].size(), 2u);
      }
      EXPECT_LE(first.children[member].size() + second.children[member].size(), 3u)
          << "of " << members << ", member " << member;
    }
  }
}

// A host that sends several messages at once has one cable: the last one waits for the others' bytes.
TEST(CollectivesTest, a_broadcast_by_a_tree_is_as_deep_as_the_tree) {
  constexpr std::uint32_t kRanks = 16;
  constexpr std::uint64_t kSmall = 8;
  Built built =
      build(kRanks, {.pattern = Pattern::kBroadcast, .algorithm = Algorithm::kTree, .bytes = kSmall, .chunk_bytes = 0});
  StarRun run(std::move(built.graph));
  run.go();
  const std::int64_t steps = steps_time(steps_of(Pattern::kBroadcast, Algorithm::kTree, kRanks), kSmall);
  EXPECT_GE(last_receive(run), steps);
  EXPECT_LT(last_receive(run), steps + steps_time(1, kSmall) / 2);
}

TEST(CollectivesTest, a_chain_in_one_piece_takes_a_step_for_each_member) {
  Built built =
      build(5, {.pattern = Pattern::kBroadcast, .algorithm = Algorithm::kChain, .bytes = 50'000, .chunk_bytes = 0});
  StarRun run(std::move(built.graph));
  EXPECT_EQ(last_receive(run.go()), steps_time(4, 50'000));
}

TEST(CollectivesTest, chunks_follow_each_other_along_a_chain) {
  const auto time_of = [](std::uint64_t chunk) {
    Built built =
        build(8, {.pattern = Pattern::kBroadcast, .algorithm = Algorithm::kChain, .bytes = 1 << 20, .chunk_bytes = chunk});
    StarRun run(std::move(built.graph));
    return last_receive(run.go());
  };
  EXPECT_LT(time_of(64 << 10) * 3, time_of(0));
}

// Bytes on a member's cable, by the well-known formulas.
TEST(CollectivesTest, members_send_what_the_algorithm_says) {
  constexpr std::uint32_t kRanks = 8;
  constexpr std::uint64_t kBytes = 8 << 20;
  const auto sent = [&](Pattern pattern, Algorithm algorithm) {
    CollectiveParams params{pattern, algorithm, kBytes};
    params.channels = 2;
    const Built built = build(kRanks, params);
    std::set<std::uint64_t> amounts;
    for (const auto& one : built.graph.traffic(built.collective.first, built.collective.past)) amounts.insert(one.sent);
    return amounts;
  };
  const std::uint64_t seven_parts = kBytes / kRanks * 7;
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kHalvingDoubling, Algorithm::kNcclRing}) {
    EXPECT_EQ(sent(Pattern::kAllReduce, algorithm), std::set{2 * seven_parts}) << name_of(algorithm);
  }
  EXPECT_EQ(sent(Pattern::kAllGather, Algorithm::kRing), std::set{seven_parts});
  EXPECT_EQ(sent(Pattern::kReduceScatter, Algorithm::kDirect), std::set{seven_parts});
  EXPECT_EQ(sent(Pattern::kAllToAll, Algorithm::kPairwise), std::set{seven_parts});
  // No member sends more than its share of both trees: up once, down twice in one of them.
  for (const std::uint64_t amount : sent(Pattern::kAllReduce, Algorithm::kNcclTree)) EXPECT_LE(amount, kBytes * 5 / 2);
}

TEST(CollectivesTest, an_all_to_all_has_the_sizes_of_its_matrix) {
  MessageGraph graph(3);
  Team team = team_of(3);
  const std::uint64_t sizes[3][3] = {{9, 10, 0}, {0, 9, 2000}, {0, 5, 9}};
  const Collective all =
      append_all_to_all(graph, team, Algorithm::kDirect, [&](auto from, auto to) { return sizes[from][to]; });
  EXPECT_EQ(all.bytes, 2009u);
  const auto traffic = graph.traffic(all.first, all.past);
  EXPECT_EQ(traffic[0].sent, 10u);
  EXPECT_EQ(traffic[0].received, 0u);
  EXPECT_EQ(traffic[1].received, 15u);
  EXPECT_EQ(traffic[2].received, 2000u);
  EXPECT_EQ(traffic[0].messages + traffic[1].messages + traffic[2].messages, 3u);
  EXPECT_TRUE(StarRun(std::move(graph)).go().run->is_complete());
}

TEST(CollectivesTest, collectives_follow_each_other) {
  MessageGraph graph(4);
  Team team = team_of(4);
  std::vector<ComputeDraw> draws;
  for (std::uint32_t i = 0; i < 4; ++i) draws.emplace_back(ComputeTime{Duration(1'000'000)}, 1, "w", i);
  append_compute(graph, team, draws);
  const Collective first = append_collective(graph, team, {Pattern::kAllReduce, Algorithm::kRing, 40'000});
  append_compute(graph, team, draws);
  const Collective second = append_collective(graph, team, {Pattern::kAllReduce, Algorithm::kRing, 40'000});
  StarRun run(std::move(graph));
  run.go();
  ASSERT_TRUE(run.run->is_complete());
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    Instant last{}, start = kNever;
    for (OperationId id = first.first; id < first.past; ++id) {
      if (run.graph[id].rank == rank) last = std::max(last, run.run->ended(id));
    }
    for (OperationId id = second.first; id < second.past; ++id) {
      if (run.graph[id].rank == rank) start = std::min(start, run.run->started(id));
    }
    EXPECT_EQ(to_ps(start), to_ps(last) + 1'000'000);
  }
}

TEST(CollectivesTest, bandwidth_is_that_of_nccl_tests) {
  const auto of = [](Pattern pattern, std::uint32_t members) {
    return bandwidth_of({.pattern = pattern, .members = members, .bytes = 1'000'000'000}, Duration(100'000'000'000));
  };
  EXPECT_EQ(of(Pattern::kAllReduce, 4)->algorithm, 10'000'000'000u);
  EXPECT_EQ(of(Pattern::kAllReduce, 4)->bus, 15'000'000'000u);
  EXPECT_EQ(of(Pattern::kAllGather, 4)->bus, 7'500'000'000u);
  EXPECT_EQ(of(Pattern::kReduceScatter, 8)->bus, 8'750'000'000u);
  EXPECT_EQ(of(Pattern::kAllToAll, 2)->bus, 5'000'000'000u);
  EXPECT_EQ(of(Pattern::kBroadcast, 8)->bus, 10'000'000'000u);
  EXPECT_FALSE(of(Pattern::kBarrier, 8));
}

TEST(TrainingTest, times_are_drawn_from_the_seed) {
  ComputeDraw same({Duration(1000)}, 1, "w", 0);
  EXPECT_EQ(same.next(), Duration(1000));
  ComputeTime varied{Duration(1'000'000), 100'000, 250'000, 300};
  ComputeDraw a(varied, 1, "w", 0), again(varied, 1, "w", 0), other(varied, 2, "w", 0);
  std::int64_t sum = 0, late = 0, differ = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t ps = a.next().count();
    EXPECT_EQ(again.next().count(), ps);
    differ += other.next().count() != ps ? 1 : 0;
    const bool is_late = ps > 2'000'000;
    late += is_late ? 1 : 0;
    EXPECT_GE(ps, is_late ? 2'700'000 : 900'000);
    EXPECT_LE(ps, is_late ? 3'300'000 : 1'100'000);
    sum += is_late ? 0 : ps;
  }
  EXPECT_NEAR(double(late), 2500, 200);
  EXPECT_NEAR(double(sum) / double(10'000 - late), 1e6, 3000);
  EXPECT_GT(differ, 9000);
}

// Without the times of messages: (stages - 1 + micro-batches) times forward and backward, for both schedules.
TEST(TrainingTest, a_pipeline_fills_and_drains) {
  for (const Algorithm schedule : algorithms_of(Pattern::kPipeline)) {
    constexpr std::int64_t kForward = 1'000'000'000;  // 1 ms, while messages take microseconds
    MessageGraph graph(4);
    Team team = team_of(4);
    PipelineParams params{
        .schedule = schedule, .micro_batches = 6, .activation_bytes = 1000, .forward = {Duration(kForward)}};
    append_pipeline(graph, team, params);
    StarRun run(std::move(graph));
    run.go();
    ASSERT_TRUE(run.run->is_complete());
    const std::int64_t ideal = (4 - 1 + 6) * (kForward + 2 * kForward);
    EXPECT_GE(to_ps(run.run->finish()), ideal);
    EXPECT_LT(to_ps(run.run->finish()), ideal + kForward / 10) << name_of(schedule);
    EXPECT_EQ(run.run->messages_matched(), 2u * 3 * 6);
  }
}

TEST(TrainingTest, tokens_are_routed_and_come_back) {
  ExpertParams params{
      .tokens = 1000, .experts = 16, .experts_per_token = 4, .token_bytes = 100, .per_token = {Duration(1000)}};
  const auto routing = draw_routing(8, params);
  EXPECT_EQ(routing, draw_routing(8, params));
  for (const auto& row : routing) {
    std::uint64_t sum = 0;
    for (const std::uint32_t count : row) {
      EXPECT_NEAR(count, 500, 100);
      sum += count;
    }
    EXPECT_EQ(sum, 4000u);
  }
  MessageGraph graph(8);
  Team team = team_of(8);
  const Collective all = append_expert_parallel(graph, team, params);
  const auto traffic = graph.traffic(all.first, all.past);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(traffic[i].sent, traffic[i].received) << "everything comes back";
  StarRun run(std::move(graph));
  EXPECT_TRUE(run.go().run->is_complete());
}

}  // namespace
}  // namespace verbatim::workload
