// Message graphs on light endpoints at one switch: when operations start and end, what matches, what waits
// for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/workload/star_fabric.h"

namespace verbatim::workload {
namespace {

using ib::WcStatus;
using test::StarFabric;
using test::StarRun;
using SendBy = hca::SourceWork::Operation;

constexpr std::uint64_t kBytes = 300'000;

// When a message of kBytes that starts at 0 is acknowledged to its sender.
std::int64_t flow_time(SendBy operation) {
  StarFabric fabric(2);
  Workload workload;
  FlowParams params{.bytes = kBytes, .operation = operation};
  hca::Endpoint &from = *fabric.places[0], &to = *fabric.places[1];
  const Flow& flow = workload.add(fabric.engine(), from, to, fabric.paths(from, to), params);
  fabric.run();
  return to_ps(flow.finish());
}

TEST(GraphRunTest, one_send_takes_the_time_of_one_flow) {
  for (const SendBy operation : {SendBy::kSend, SendBy::kWrite}) {
    MessageGraph graph(2);
    const OperationId send = graph.send(0, 1, kBytes), receive = graph.receive(1, 0, kBytes);
    StarRun run(std::move(graph), {.operation = operation});
    run.go();
    EXPECT_TRUE(run.run->is_complete());
    EXPECT_EQ(run.ended(send), flow_time(operation));
    EXPECT_GT(run.ended(receive), 0);
    EXPECT_LT(run.ended(receive), run.ended(send) + 1'000'000);
    EXPECT_EQ(run.fabric.unfinished, 0u);
  }
}

TEST(GraphRunTest, a_send_that_is_buffered_ends_when_it_starts) {
  MessageGraph graph(2);
  const OperationId send = graph.send(0, 1, 5000), after = graph.compute(0, Duration(1000));
  const OperationId receive = graph.receive(1, 0, 5000);
  graph.require_end(after, send);
  StarRun run(std::move(graph), {.start = instant_from_ps(500), .sends_are_buffered = true});
  run.go();
  EXPECT_EQ(run.ended(send), 500);
  EXPECT_EQ(run.ended(after), 1500);
  EXPECT_GT(run.ended(receive), 500'000);
  EXPECT_EQ(run.run->finish(), run.run->ended(receive));
}

// The request, the clearance and the data, each of them a message between idle hosts.
TEST(GraphRunTest, a_rendezvous_takes_three_messages) {
  MessageGraph graph(2);
  const OperationId send = graph.send(0, 1, kBytes), receive = graph.receive(1, 0, kBytes);
  StarRun run(std::move(graph), {.eager_bytes = kBytes - 1, .sends_are_buffered = true});
  run.go();
  const std::int64_t requested = test::arrival_of(GraphRun::kControlBytes, 0);
  const std::int64_t cleared = test::arrival_of(GraphRun::kControlBytes, requested);
  EXPECT_EQ(run.ended(receive), test::arrival_of(kBytes, cleared));
  EXPECT_GT(run.ended(send), cleared);
}

TEST(GraphRunTest, a_rendezvous_waits_for_its_receive) {
  constexpr std::int64_t kLater = 50'000'000;
  MessageGraph graph(2);
  const OperationId send = graph.send(0, 1, kBytes);
  const OperationId work = graph.compute(1, Duration(kLater)), receive = graph.receive(1, 0, kBytes);
  graph.require_end(receive, work);
  StarRun run(std::move(graph), {.eager_bytes = 0});
  run.go();
  EXPECT_GT(run.ended(send), kLater + flow_time(SendBy::kSend));
  EXPECT_GT(run.ended(receive), kLater);
}

TEST(GraphRunTest, an_eager_message_waits_at_the_receiver) {
  constexpr std::int64_t kLater = 500'000'000;
  MessageGraph graph(2);
  const OperationId send = graph.send(0, 1, kBytes);
  const OperationId work = graph.compute(1, Duration(kLater)), receive = graph.receive(1, 0, kBytes);
  graph.require_end(receive, work);
  StarRun run(std::move(graph));
  run.go();
  EXPECT_EQ(run.ended(send), flow_time(SendBy::kSend));
  EXPECT_EQ(run.ended(receive), kLater);
}

TEST(GraphRunTest, operations_wait_for_ends_and_for_starts) {
  MessageGraph graph(1);
  const OperationId first = graph.compute(0, Duration(1000), 0);
  const OperationId with = graph.compute(0, Duration(300), 1), behind = graph.compute(0, Duration(200), 1);
  graph.require_start(with, first);
  graph.require_end(behind, first);
  StarRun run(std::move(graph));
  run.go();
  EXPECT_EQ(run.ended(with), 300);
  EXPECT_EQ(run.ended(behind), 1200);
}

TEST(GraphRunTest, a_processor_computes_one_thing_after_the_other) {
  MessageGraph graph(1);
  const OperationId a = graph.compute(0, Duration(1000)), b = graph.compute(0, Duration(500));
  const OperationId other = graph.compute(0, Duration(500), 1), none = graph.compute(0, Duration(0));
  StarRun run(std::move(graph));
  run.go();
  EXPECT_EQ(run.ended(a), 1000);
  EXPECT_EQ(to_ps(run.run->started(b)), 1000);
  EXPECT_EQ(run.ended(b), 1500);
  EXPECT_EQ(run.ended(other), 500);
  EXPECT_EQ(run.ended(none), 0);
}

TEST(GraphRunTest, messages_match_by_sender_and_tag_in_their_order) {
  MessageGraph graph(3);
  const OperationId five = graph.send(0, 2, 100, 5), seven = graph.send(0, 2, 100, 7),
                    seven_again = graph.send(0, 2, 100, 7);
  const OperationId other = graph.send(1, 2, 100, 7);
  const OperationId from_1 = graph.receive(2, 1, 100, 7);
  const OperationId first_7 = graph.receive(2, 0, 100, 7), second_7 = graph.receive(2, 0, 100, 7),
                    for_5 = graph.receive(2, 0, 100, 5);
  StarRun run(std::move(graph));
  run.go();
  EXPECT_TRUE(run.run->is_complete());
  EXPECT_EQ(run.run->partner(five), for_5);
  EXPECT_EQ(run.run->partner(seven), first_7);
  EXPECT_EQ(run.run->partner(seven_again), second_7);
  EXPECT_EQ(run.run->partner(other), from_1);
}

TEST(GraphRunTest, receives_of_any_take_what_comes_first_and_fits) {
  MessageGraph graph(3);
  const OperationId wait = graph.compute(1, Duration(10'000'000));
  const OperationId early = graph.send(0, 2, 100, 5), late = graph.send(1, 2, 100, 6), last = graph.send(0, 2, 100, 9);
  graph.require_end(late, wait);
  const OperationId any_from_1 = graph.receive(2, 1, 100, kAnyTag), any = graph.receive(2, kAnyRank, 100, kAnyTag);
  const OperationId nine = graph.receive(2, kAnyRank, 100, 9);
  StarRun run(std::move(graph));
  run.go();
  EXPECT_TRUE(run.run->is_complete());
  EXPECT_EQ(run.run->partner(any_from_1), late);
  EXPECT_EQ(run.run->partner(any), early);
  EXPECT_EQ(run.run->partner(nine), last);
}

TEST(GraphRunTest, a_receive_of_any_takes_the_earliest_message_that_has_arrived) {
  MessageGraph graph(3);
  const OperationId wait = graph.compute(2, Duration(100'000'000)), pause = graph.compute(0, Duration(10'000'000));
  const OperationId second = graph.send(0, 2, 100, 1), first = graph.send(1, 2, 100, 1);
  graph.require_end(second, pause);
  const OperationId a = graph.receive(2, kAnyRank, 100, 1), b = graph.receive(2, kAnyRank, 100, 1);
  graph.require_end(a, wait);
  graph.require_end(b, wait);
  StarRun run(std::move(graph));
  run.go();
  EXPECT_EQ(run.run->partner(a), first);
  EXPECT_EQ(run.run->partner(b), second);
}

TEST(GraphRunTest, ranks_of_one_adapter_reach_each_other_at_once) {
  for (const std::uint64_t eager : {std::uint64_t{0}, kBytes}) {
    MessageGraph graph(2);
    const OperationId send = graph.send(0, 1, kBytes), receive = graph.receive(1, 0, kBytes);
    const OperationId to_itself = graph.send(0, 0, 1), from_itself = graph.receive(0, 0, 1);
    graph.seal();
    StarFabric fabric(2);
    GraphRun run(fabric.engine(), graph, {fabric.places[0], fabric.places[0]}, fabric.paths_of_ranks(),
                 {.eager_bytes = eager}, fabric.unfinished);
    fabric.run();
    EXPECT_TRUE(run.is_complete());
    for (const OperationId id : {send, receive, to_itself, from_itself}) EXPECT_EQ(run.ended(id), Instant{});
  }
}

TEST(GraphRunTest, long_and_empty_messages_arrive_whole) {
  for (const SendBy operation : {SendBy::kSend, SendBy::kWrite}) {
    MessageGraph graph(2);
    const OperationId empty = graph.send(0, 1, 0);
    const OperationId none = graph.receive(1, 0, 0);
    const std::uint64_t large = (std::uint64_t{1} << 30) + 5;  // more than an adapter sends in a message
    const OperationId send = graph.send(0, 1, large), receive = graph.receive(1, 0, large);
    graph.require_end(send, empty);
    StarRun run(std::move(graph), {.operation = operation});
    run.go();
    EXPECT_TRUE(run.run->is_complete());
    EXPECT_LT(run.ended(none), run.ended(receive));
    EXPECT_GT(run.ended(receive), std::int64_t(large) * 80);
    EXPECT_EQ(run.run->bytes_matched(), large);
  }
}

// The notice behind written data has no payload to gather, and does not overtake them.
TEST(GraphRunTest, a_short_written_message_arrives_at_once) {
  MessageGraph graph(2);
  const OperationId send = graph.send(0, 1, 5000);
  const OperationId receive = graph.receive(1, 0, 5000);
  StarRun run(std::move(graph), {.operation = SendBy::kWrite});
  run.go();
  EXPECT_LT(run.ended(receive), 3'000'000) << "without a packet sent again";
  EXPECT_LT(run.ended(send), 3'000'000);
}

TEST(GraphRunTest, many_messages_wait_for_room_in_the_queue) {
  MessageGraph graph(2);
  for (int i = 0; i < 1000; ++i) graph.send(0, 1, 100);
  for (int i = 0; i < 1000; ++i) graph.receive(1, 0, 100);
  StarRun run(std::move(graph));
  run.go();
  EXPECT_TRUE(run.run->is_complete());
  EXPECT_EQ(run.run->messages_matched(), 1000u);
  for (OperationId id = 1; id < 1000; ++id) EXPECT_EQ(run.run->partner(id), id + 1000);
}

TEST(GraphRunTest, what_waits_for_ever_is_reported) {
  MessageGraph graph(3);
  graph.receive(0, 1, 10, 4);  // nothing is sent
  const OperationId blocked = graph.send(1, 0, 20);
  graph.require_end(blocked, graph.receive(1, 2, 30));
  graph.send(2, 1, 5000, 8);  // by rendezvous, with another tag
  StarRun run(std::move(graph), {.eager_bytes = 1000});
  run.go();
  EXPECT_TRUE(run.run->is_done());
  EXPECT_FALSE(run.run->is_complete());
  EXPECT_FALSE(run.run->failure());
  EXPECT_EQ(run.fabric.unfinished, 0u);
  const std::vector<std::string> expected = {
      "rank 0: receive of 10 bytes from rank 1, tag 4, waits for a message",
      "rank 1: receive of 30 bytes from rank 2, tag 0, waits for a message",
      "rank 2: send of 5000 bytes to rank 1, tag 8, waits for a receive",
  };
  EXPECT_EQ(run.run->waiting(10), expected);
  EXPECT_EQ(run.run->waiting(1), (std::vector<std::string>{expected[0], "and 2 more"}));
  EXPECT_EQ(run.run->unexpected_left(), 1u);
}

TEST(GraphRunTest, messages_that_no_receive_takes_are_reported) {
  MessageGraph graph(2);
  graph.send(0, 1, 10, 3);
  graph.receive(1, 0, 10, 4);
  StarRun run(std::move(graph));
  run.go();
  EXPECT_EQ(run.run->waiting(10),
            (std::vector<std::string>{"rank 1: receive of 10 bytes from rank 0, tag 4, waits for a message",
                                      "rank 0: send of 10 bytes to rank 1, tag 3, has arrived, and no receive takes it"}));
}

TEST(GraphRunTest, an_adapter_that_fails_ends_the_run) {
  for (const std::uint32_t which : {0u, 1u}) {
    for (const std::int64_t when : {0ll, 10'000'000ll}) {
      MessageGraph graph(3);
      graph.send(0, 1, 10'000'000);
      graph.receive(1, 0, 10'000'000);
      graph.send(2, 1, 100);
      graph.receive(1, 2, 100);
      StarRun run(std::move(graph));
      run.fabric.engine().run_until(instant_from_ps(when));
      run.fabric.places[which]->fail();
      run.go();
      EXPECT_TRUE(run.run->is_done());
      EXPECT_FALSE(run.run->is_complete());
      ASSERT_TRUE(run.run->failure());
      EXPECT_EQ(run.run->failure()->status, WcStatus::kFatalError);
      EXPECT_EQ(run.fabric.unfinished, 0u);
    }
  }
}

// Operations of different ranks one among the other, in any order.
TEST(GraphRunTest, the_order_of_ranks_changes_nothing) {
  std::vector<std::string> digests;
  for (const bool is_reversed : {false, true}) {
    constexpr std::uint32_t kRanks = 6;
    MessageGraph graph(kRanks);
    std::vector<std::uint32_t> order(kRanks);
    std::iota(order.begin(), order.end(), 0u);
    if (is_reversed) std::ranges::reverse(order);
    for (const std::uint32_t rank : order) {
      OperationId before = graph.compute(rank, Duration(1000));
      for (std::uint32_t step = 1; step < kRanks; ++step) {
        const OperationId send = graph.send(rank, (rank + step) % kRanks, 20'000 * step, step);
        graph.require_end(send, before);
        before = graph.receive(rank, (rank + kRanks - step) % kRanks, 20'000 * step, step);
      }
    }
    StarRun run(std::move(graph), {.eager_bytes = 50'000});
    run.go();
    EXPECT_TRUE(run.run->is_complete());
    digests.push_back(run.fabric.digest());
  }
  EXPECT_EQ(digests[0], digests[1]);
}

// Dependencies that force an order: that of the list changes nothing.
TEST(GraphRunTest, the_order_of_dependent_operations_changes_nothing) {
  std::vector<std::string> digests;
  for (const bool is_reversed : {false, true}) {
    constexpr int kMessages = 20;
    MessageGraph graph(2);
    std::vector<OperationId> sends(kMessages), receives(kMessages);
    for (int i = 0; i < kMessages; ++i) {
      const int at = is_reversed ? kMessages - 1 - i : i;
      sends[at] = graph.send(0, 1, 1000 + at, 3);
      receives[at] = graph.receive(1, 0, 1000 + at, 3);
    }
    for (int i = 1; i < kMessages; ++i) {
      graph.require_end(sends[i], sends[i - 1]);
      graph.require_start(receives[i], receives[i - 1]);
    }
    StarRun run(std::move(graph));
    run.go();
    for (int i = 0; i < kMessages; ++i) EXPECT_EQ(run.run->partner(sends[i]), receives[i]);
    digests.push_back(run.fabric.digest());
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST(MessageGraphTest, circles_are_found) {
  MessageGraph graph(1);
  for (int i = 0; i < 6; ++i) graph.compute(0, Duration(1));
  graph.require_end(1, 0);
  graph.require_end(3, 2);
  graph.require_start(4, 3);
  graph.require_end(2, 4);
  graph.require_end(5, 4);  // waits for the circle, and is none of it
  graph.seal();
  EXPECT_EQ(graph.find_cycle(), std::optional<OperationId>(2));

  MessageGraph straight(1);
  straight.compute(0, Duration(1));
  straight.compute(0, Duration(1));
  straight.require_end(0, 1);
  straight.seal();
  EXPECT_EQ(straight.find_cycle(), std::nullopt);
}

}  // namespace
}  // namespace verbatim::workload
