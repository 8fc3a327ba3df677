// Completion queues: arming, solicited events, overrun, resize.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

// Returns an alternative that is not the default at every choice.
struct OtherChoices final : Choices {
  std::uint32_t draw(std::string_view, ComponentId, std::uint32_t n) override { return n - 1; }
};

struct CompletionTest : ::testing::Test {
  CompletionTest() : pair(options()) {}
  static PairOptions options() {
    PairOptions options;
    options.with_channel = true;
    options.cqe = 4;
    return options;
  }
  void send(int count, std::uint8_t flags = protocol::kWqeSignaled) {
    for (int i = 0; i < count; ++i) {
      pair.b.program.post_recv(pair.b.qp, next, {pair.b.sge(0, 8)});
      SendRequest request{.wr_id = next++, .sges = {pair.a.sge(0, 8)}};
      request.flags = flags;
      pair.a.program.post_send(pair.a.qp, request);
    }
    pair.world.run();
    pair.a.program.drain(pair.a.send_cq);
  }
  std::size_t events() const { return pair.b.program.completion_events.size(); }
  Pair pair;
  std::uint64_t next = 0;
};

TEST_F(CompletionTest, one_event_per_arming) {
  send(1);
  EXPECT_EQ(events(), 0u) << "not armed";
  pair.b.program.drain(pair.b.recv_cq);
  pair.b.program.arm(pair.b.recv_cq);
  pair.world.run();
  EXPECT_EQ(events(), 0u);
  send(3);
  EXPECT_EQ(events(), 1u);
}

TEST_F(CompletionTest, arming_a_queue_that_is_not_empty_raises_an_event_as_users_of_this_hardware_see) {
  send(1);
  pair.b.program.arm(pair.b.recv_cq);
  pair.world.run();
  EXPECT_EQ(events(), 1u);
  pair.b.program.drain(pair.b.recv_cq);
  pair.b.program.arm(pair.b.recv_cq);
  pair.world.run();
  EXPECT_EQ(events(), 1u) << "everything was consumed";
}

TEST_F(CompletionTest, solicited_only_waits_for_a_solicited_or_failed_completion) {
  pair.b.program.arm(pair.b.recv_cq, true);
  send(2);
  EXPECT_EQ(events(), 0u);
  send(1, protocol::kWqeSignaled | protocol::kWqeSolicited);
  EXPECT_EQ(events(), 1u);
  pair.b.program.drain(pair.b.recv_cq);
  pair.b.program.arm(pair.b.recv_cq, true);
  pair.b.program.post_recv(pair.b.qp, 50, {});
  pair.world.run();
  ASSERT_EQ(pair.b.program.to_state(pair.b.qp, ib::QpState::kErr), 0);
  pair.world.run();
  EXPECT_EQ(events(), 2u) << "a flush counts as solicited";
}

TEST_F(CompletionTest, arming_for_any_is_not_weakened_by_arming_for_solicited) {
  pair.b.program.arm(pair.b.recv_cq);
  pair.b.program.arm(pair.b.recv_cq, true);
  send(1);
  EXPECT_EQ(events(), 1u);
}

TEST_F(CompletionTest, a_solicited_completion_already_consumed_raises_nothing_on_arm) {
  send(1, protocol::kWqeSignaled | protocol::kWqeSolicited);
  pair.b.program.drain(pair.b.recv_cq);
  send(1);
  pair.b.program.arm(pair.b.recv_cq, true);
  pair.world.run();
  EXPECT_EQ(events(), 0u);
}

TEST_F(CompletionTest, an_overrun_is_one_error_and_the_entries_before_stay) {
  send(4);
  EXPECT_TRUE(pair.b.program.async_events.empty());
  send(3);
  ASSERT_EQ(pair.b.program.async_events.size(), 1u);
  EXPECT_EQ(pair.b.program.async_events[0].event_type,
            static_cast<std::uint32_t>(ib::AsyncEventType::kCqError));
  EXPECT_EQ(pair.b.program.async_events[0].element, 0xc0u + 4);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 4u);
}

TEST_F(CompletionTest, the_send_queue_overruns_its_completions_as_well) {
  for (int i = 0; i < 6; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  }
  pair.world.run();
  ASSERT_EQ(pair.a.program.async_events.size(), 1u);
  EXPECT_EQ(pair.a.program.async_events[0].event_type,
            static_cast<std::uint32_t>(ib::AsyncEventType::kCqError));
}

TEST_F(CompletionTest, a_queue_that_is_read_never_overruns) {
  for (int i = 0; i < 50; ++i) {
    send(4);
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 4u);
  }
  EXPECT_TRUE(pair.b.program.async_events.empty());
}

TEST_F(CompletionTest, resize_keeps_what_was_not_read) {
  send(3);
  ASSERT_TRUE(pair.b.program.poll(pair.b.recv_cq).has_value());
  protocol::ResizeCq resize{};
  resize.handle = pair.b.recv_cq.handle;
  resize.cqe = 1;
  EXPECT_EQ(pair.b.program.command(resize), EINVAL);
  resize.cqe = 20;
  ASSERT_EQ(pair.b.program.command(resize), 0);
  EXPECT_EQ(resize.cqe, 32u);
  pair.b.recv_cq.ring = resize.ring_offset;
  pair.b.recv_cq.entries = resize.ring_entries;
  send(10);
  const auto rest = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(rest.size(), 12u);
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].wr_id, i + 1);
}

TEST_F(CompletionTest, events_are_counted_for_destroy) {
  pair.b.program.arm(pair.b.recv_cq);
  send(1);
  ASSERT_EQ(pair.b.program.destroy(protocol::CommandType::kDestroyQp, pair.b.qp.made.handle), 0);
  ASSERT_EQ(pair.b.program.destroy(protocol::CommandType::kDestroyCq, pair.b.recv_cq.handle), 0);
  EXPECT_EQ(pair.b.program.last_destroyed.events_reported, 1u);
}

TEST(CompletionChoiceTest, the_event_on_arm_is_a_choice) {
  Engine engine;
  Tracer tracer(engine);
  OtherChoices choices;
  hca::PortAddress address;
  address.lid = ib::Lid{1};
  hca::Hca hca(engine, tracer, choices, ComponentId{0}, "mlx5_0", test_profile(), address);
  World world;  // for the program's clock only
  Program program(world, hca);
  Cq cq = program.create_cq(4, true);
  Qp qp = program.create_qp(cq, cq);
  ASSERT_EQ(program.to_init(qp, {}), 0);
  program.post_recv(qp, 1, {});
  ASSERT_EQ(program.to_state(qp, ib::QpState::kErr), 0);
  engine.run();
  program.arm(cq);
  engine.run();
  EXPECT_TRUE(program.completion_events.empty());
}

}  // namespace
}  // namespace verbatim::test
