// Moderated events of a completion queue (ibv_modify_cq(3)).
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

constexpr std::int64_t kMicrosecondPs = 1'000'000;

// b's receive queue raises an event after `count` completions, or `period_us` after the previous one.
struct Moderated : Pair {
  Moderated(std::uint16_t count, std::uint16_t period_us) : Pair({.with_channel = true}) {
    world.run();
    began_ps = world.now_ps();
    EXPECT_EQ(moderate(count, period_us), 0);
    for (int i = 0; i < 32; ++i) b.program.post_recv(b.qp, 1, {b.sge(0, 64)});
    b.program.arm(b.recv_cq);
  }
  int moderate(std::uint16_t count, std::uint16_t period_us) {
    protocol::ModifyCq modify{};
    modify.handle = b.recv_cq.handle;
    modify.count = count;
    modify.period_us = period_us;
    return b.program.command(modify);
  }
  void send(int messages) {
    for (int i = 0; i < messages; ++i) a.program.post_send(a.qp, {.wr_id = 2, .sges = {a.sge(0, 64)}});
    world.run_for(Duration{50 * kMicrosecondPs});
  }
  std::size_t events() const { return b.program.completion_events.size(); }

  std::int64_t began_ps = 0;
};

TEST(ModerationTest, an_event_comes_with_the_last_completion_of_the_count) {
  Moderated queue(4, 4000);
  queue.send(3);
  EXPECT_EQ(queue.events(), 0u);
  queue.send(1);
  EXPECT_EQ(queue.events(), 1u);
  queue.send(8);
  EXPECT_EQ(queue.events(), 1u) << "one for each time it was asked for";
}

TEST(ModerationTest, an_event_comes_when_the_period_is_over) {
  Moderated queue(100, 1000);
  queue.send(1);
  const Duration latency = queue.world.server->profile().event_latency;
  queue.world.engine.run_until(instant_from_ps(queue.began_ps + 1000 * kMicrosecondPs) + latency - Duration{1});
  EXPECT_EQ(queue.events(), 0u);
  queue.world.engine.run_until(instant_from_ps(queue.began_ps + 1000 * kMicrosecondPs) + latency);
  EXPECT_EQ(queue.events(), 1u);
}

TEST(ModerationTest, after_a_quiet_period_an_event_comes_at_once) {
  Moderated queue(100, 1000);
  queue.world.run_for(Duration{2000 * kMicrosecondPs});
  queue.send(1);
  EXPECT_EQ(queue.events(), 1u);
}

TEST(ModerationTest, what_is_owed_comes_when_moderation_ends) {
  for (const bool by_count : {false, true}) {
    Moderated queue(4, 4000);
    queue.send(2);
    EXPECT_EQ(queue.events(), 0u);
    EXPECT_EQ(by_count ? queue.moderate(2, 4000) : queue.moderate(0, 0), 0);
    queue.send(0);
    EXPECT_EQ(queue.events(), 1u);
  }
}

TEST(ModerationTest, a_queue_that_is_destroyed_owes_nothing) {
  Moderated queue(4, 4000);
  queue.send(2);
  EXPECT_EQ(queue.b.program.destroy(protocol::CommandType::kDestroyQp, queue.b.qp.made.handle), 0);
  EXPECT_EQ(queue.b.program.destroy(protocol::CommandType::kDestroyCq, queue.b.recv_cq.handle), 0);
  queue.world.run();
  EXPECT_EQ(queue.events(), 0u);
}

TEST(ModerationTest, a_period_beyond_the_device_is_refused) {
  Moderated queue(4, 4000);
  EXPECT_EQ(queue.moderate(1, 4096), EINVAL);
  EXPECT_EQ(queue.moderate(65535, 4095), 0);
}

}  // namespace
}  // namespace verbatim::test
