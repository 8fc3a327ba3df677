// Shared receive queues: distribution of receives, waiting, the limit, errors and life cycle.
#include <gtest/gtest.h>

#include <map>

#include "tests/hca/bystanders.h"
#include "tests/hca/requests.h"
#include "tests/hca/scripted_choices.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::QpState;
using ib::WcStatus;

// `count` connections whose server ends share one receive queue.
struct Shared {
  explicit Shared(std::uint32_t count, PathOptions given = small_mtu_path(), ib::QpType type = ib::QpType::kRc,
                  const WorldOptions& options = {})
      : world(options), path(given), client(world, *world.client), server(world, *world.server) {
    constexpr std::uint32_t kAccess = ib::kLocalWrite | ib::kRemoteWrite;
    client_mr = client.reg_mr(Program::kBuffer, 1 << 20, kAccess);
    server_mr = server.reg_mr(Program::kBuffer, 1 << 20, kAccess);
    client_cq = client.create_cq(256);
    server_cq = server.create_cq(256);
    srq = server.create_srq(64);
    EXPECT_NE(srq.made.handle, 0u);
    for (std::uint32_t i = 0; i < count; ++i) connect(type);
  }
  void connect(ib::QpType type = ib::QpType::kRc) {
    const std::size_t i = from.size();
    from.push_back(client.create_qp(client_cq, client_cq, {64, 64, 4, 4, 64}, type));
    to.push_back(server.create_qp(server_cq, server_cq, {64, 64, 4, 4, 64}, type, srq.made.handle));
    EXPECT_NE(to[i].made.number, 0u);
    EXPECT_EQ(client.to_init(from[i], path) + server.to_init(to[i], path), 0);
    EXPECT_EQ(client.to_rtr(from[i], 2, to[i].made.number, path), 0);
    EXPECT_EQ(server.to_rtr(to[i], 1, from[i].made.number, path), 0);
    EXPECT_EQ(client.to_rts(from[i], path) + server.to_rts(to[i], path), 0);
  }
  static PathOptions small_mtu_path() {
    PathOptions path;
    path.mtu = 1;
    path.min_rnr_timer = 1;
    return path;
  }
  void post_recv(std::uint64_t wr_id) {
    server.post_recv(srq, wr_id, {{Program::kBuffer + wr_id * 4096, 4096, server_mr.lkey}});
  }
  void send(std::uint32_t connection, std::uint32_t length) {
    client.post_send(from[connection],
                     {.wr_id = connection, .sges = {{Program::kBuffer, length, client_mr.lkey}}});
  }

  World world;
  const PathOptions path;
  Program client, server;
  Mr client_mr, server_mr;
  Cq client_cq, server_cq;
  Srq srq;
  std::vector<Qp> from, to;
};

TEST(SharedReceiveTest, receives_posted_before_the_connection_are_there_when_the_first_message_comes) {
  Shared shared(0);
  for (std::uint64_t i = 0; i < 8; ++i) shared.post_recv(i);
  shared.connect();
  shared.world.run();
  std::int64_t took[2] = {};
  for (std::int64_t& duration : took) {
    const std::int64_t before = shared.world.now_ps();
    shared.send(0, 100);
    while (shared.client.drain(shared.client_cq).empty()) shared.world.run_for(Duration{1'000});
    duration = shared.world.now_ps() - before;
    shared.world.run();
  }
  // Both have a prefetched receive; the doorbells may arrive at different phases of the core clock.
  EXPECT_NEAR(static_cast<double>(took[0]), static_cast<double>(took[1]), 2'500 + 1'000);
}

TEST(SharedReceiveTest, receives_are_taken_in_order_by_whoever_needs_one) {
  Shared shared(3);
  for (std::uint64_t i = 0; i < 9; ++i) shared.post_recv(i);
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 3; ++i) shared.send(i, 100 + 100 * i);
    shared.world.run();
  }
  const auto received = shared.server.drain(shared.server_cq);
  ASSERT_EQ(received.size(), 9u);
  std::map<std::uint32_t, std::uint32_t> lengths;
  std::vector<bool> taken(9);
  for (const auto& entry : received) {
    EXPECT_EQ(entry.status, 0u);
    taken[entry.wr_id] = true;
    lengths[entry.qpn] += entry.byte_length;
  }
  EXPECT_EQ(std::count(taken.begin(), taken.end(), true), 9);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(lengths[shared.to[i].made.number], 3 * (100 + 100 * i));
  EXPECT_EQ(shared.world.trace.count(TraceEvent::kRetransmission), 0u);
}

// Many queue pairs need more receives at once than are prefetched: they wait, and none is refused.
TEST(SharedReceiveTest, posted_receives_are_found_however_many_ask_at_once) {
  Shared shared(24);
  for (std::uint64_t i = 0; i < 48; ++i) shared.post_recv(i);
  for (std::uint32_t i = 0; i < 24; ++i) {
    shared.send(i, 600);
    shared.send(i, 8);
  }
  shared.world.run();
  EXPECT_EQ(shared.server.drain(shared.server_cq).size(), 48u);
  EXPECT_EQ(shared.client.drain(shared.client_cq).size(), 48u);
  EXPECT_EQ(shared.world.trace.count(TraceEvent::kRetransmission), 0u);
}

TEST(SharedReceiveTest, an_empty_queue_is_answered_not_ready_to_all_and_later_serves_all) {
  Shared shared(4);
  for (std::uint32_t i = 0; i < 4; ++i) shared.send(i, 600);
  shared.world.run_for(Duration{50'000'000});
  EXPECT_GE(shared.world.trace.count(TraceEvent::kRetransmission), 4u);
  EXPECT_EQ(shared.server.drain(shared.server_cq).size(), 0u);
  for (std::uint64_t i = 0; i < 4; ++i) shared.post_recv(i);
  shared.world.run();
  EXPECT_EQ(shared.server.drain(shared.server_cq).size(), 4u);
  for (const auto& entry : shared.client.drain(shared.client_cq)) EXPECT_EQ(entry.status, 0u);
}

TEST(SharedReceiveTest, the_limit_is_told_once_when_fewer_receives_are_posted) {
  Shared shared(1);
  for (std::uint64_t i = 0; i < 10; ++i) shared.post_recv(i);
  ASSERT_EQ(shared.server.set_srq_limit(shared.srq, 5), 0);
  shared.world.run();
  EXPECT_EQ(shared.server.async_events.size(), 0u);
  for (int i = 0; i < 5; ++i) shared.send(0, 8);
  shared.world.run();
  EXPECT_EQ(shared.server.async_events.size(), 0u) << "five are left, not fewer";
  EXPECT_EQ(shared.server.query(shared.srq).srq_limit, 5u);
  shared.send(0, 8);
  shared.world.run();
  ASSERT_EQ(shared.server.async_events.size(), 1u);
  EXPECT_EQ(shared.server.async_events[0].event_type,
            static_cast<std::uint32_t>(AsyncEventType::kSrqLimitReached));
  EXPECT_EQ(shared.server.async_events[0].element, 0x5000u);
  EXPECT_EQ(shared.server.query(shared.srq).srq_limit, 0u);
  shared.send(0, 8);
  shared.world.run();
  EXPECT_EQ(shared.server.async_events.size(), 1u);
}

// Receives that the adapter has not fetched count as well.
TEST(SharedReceiveTest, receives_posted_meanwhile_count_for_the_limit) {
  Shared shared(1);
  for (std::uint64_t i = 0; i < 4; ++i) shared.post_recv(i);
  shared.world.run();
  ASSERT_EQ(shared.server.set_srq_limit(shared.srq, 4), 0);
  shared.world.run();
  EXPECT_EQ(shared.server.async_events.size(), 0u);
  for (std::uint64_t i = 4; i < 8; ++i) shared.post_recv(i);
  shared.send(0, 8);
  shared.world.run();
  EXPECT_EQ(shared.server.async_events.size(), 0u);
}

TEST(SharedReceiveTest, a_limit_above_what_is_posted_is_told_at_once_and_one_above_the_queue_refused) {
  Shared shared(1);
  for (std::uint64_t i = 0; i < 4; ++i) shared.post_recv(i);
  EXPECT_EQ(shared.server.set_srq_limit(shared.srq, 65), EINVAL);
  EXPECT_EQ(shared.server.set_srq_limit(shared.srq, 5), 0);
  shared.world.run();
  EXPECT_EQ(shared.server.async_events.size(), 1u);
}

TEST(SharedReceiveTest, the_last_request_is_not_told_of_by_an_adapter_with_that_quirk) {
  const auto events = [](hca::Quirks quirks) {
    ScriptedChoices choices;
    choices.answers["quirk-no-last-wqe"] = 1;
    WorldOptions options;
    options.choices = &choices;
    options.profile.quirks = quirks;
    Shared shared(1, Shared::small_mtu_path(), ib::QpType::kRc, options);
    EXPECT_EQ(shared.server.to_state(shared.to[0], QpState::kErr), 0);
    shared.world.run();
    return shared.server.async_events.size();
  };
  EXPECT_EQ(events(0), 1u);
  EXPECT_EQ(events(hca::bit_of(hca::Quirk::kNoLastWqe)), 0u);
}

// IBA 10.3.1.7, 11.6.3: receives in the shared queue stay available for other queue pairs.
TEST(SharedReceiveTest, a_queue_pair_in_error_flushes_only_what_it_has_taken) {
  Shared shared(2);
  for (std::uint64_t i = 0; i < 4; ++i) shared.post_recv(i);
  // The message of the first connection never ends.
  shared.world.to_server.keep = [](ib::Packet& packet) { return packet.bth.psn.value != 1001; };
  shared.send(0, 600);
  shared.world.run_for(Duration{20'000'000});
  EXPECT_EQ(shared.server.to_state(shared.to[0], QpState::kErr), 0);
  shared.world.run_for(Duration{20'000'000});
  const auto flushed = shared.server.drain(shared.server_cq);
  ASSERT_EQ(flushed.size(), 1u);
  EXPECT_EQ(flushed[0].status, code(WcStatus::kWorkRequestFlushed));
  EXPECT_EQ(flushed[0].wr_id, 0u);
  ASSERT_EQ(shared.server.async_events.size(), 1u);
  EXPECT_EQ(shared.server.async_events[0].event_type,
            static_cast<std::uint32_t>(AsyncEventType::kQpLastWqeReached));
  shared.send(1, 8);
  shared.world.run();
  EXPECT_EQ(shared.server.drain(shared.server_cq).at(0).wr_id, 1u);
}

TEST(SharedReceiveTest, datagrams_share_too) {
  World world;
  Program client(world, *world.client), server(world, *world.server);
  const Mr from = client.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite);
  const Mr to = server.reg_mr(Program::kBuffer, 65536, ib::kLocalWrite);
  Cq client_cq = client.create_cq(16), server_cq = server.create_cq(16);
  Srq srq = server.create_srq(8);
  const std::uint32_t ah = client.create_ah(2);
  PathOptions path;
  Qp sender = client.create_qp(client_cq, client_cq, {64, 64, 4, 4, 64}, ib::QpType::kUd);
  client.to_init(sender, path);
  client.to_rtr(sender, 2, 0, path);
  client.to_rts(sender, path);
  for (std::uint64_t i = 0; i < 3; ++i) {
    server.post_recv(srq, i, {{Program::kBuffer + i * 4096, 4096, to.lkey}});
    Qp qp = server.create_qp(server_cq, server_cq, {64, 64, 4, 4, 64}, ib::QpType::kUd, srq.made.handle);
    EXPECT_EQ(server.to_init(qp, path) + server.to_rtr(qp, 1, 0, path), 0);
    client.post_send(sender, {.sges = {{Program::kBuffer, 10, from.lkey}},
                              .address_handle = ah,
                              .remote_qpn = qp.made.number,
                              .remote_qkey = path.qkey});
  }
  world.run();
  const auto received = server.drain(server_cq);
  ASSERT_EQ(received.size(), 3u);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(received[i].wr_id, i);
}

TEST(SharedReceiveTest, what_is_refused) {
  Shared shared(1);
  Program& server = shared.server;
  EXPECT_EQ(server.destroy(protocol::CommandType::kDestroySrq, shared.srq.made.handle), EBUSY);
  EXPECT_EQ(server.destroy(protocol::CommandType::kDestroyQp, shared.to[0].made.handle), 0);
  EXPECT_EQ(server.destroy(protocol::CommandType::kDestroySrq, shared.srq.made.handle), 0);
  EXPECT_EQ(server.destroy(protocol::CommandType::kDestroySrq, shared.srq.made.handle), ENOENT);
  EXPECT_EQ(server.create_srq(0).made.handle, 0u);
  EXPECT_EQ(server.create_srq(16385).made.handle, 0u);
  EXPECT_EQ(server.create_srq(8, 31).made.handle, 0u);
  Qp qp;
  qp.made.srq = shared.srq.made.handle;
  EXPECT_EQ(server.try_create_qp(qp, shared.server_cq, shared.server_cq, {8, 8, 1, 1, 0}), EINVAL);
  const Srq other = server.create_srq(8);
  qp.made.srq = other.made.handle;
  EXPECT_EQ(server.try_create_qp(qp, shared.server_cq, shared.server_cq, {8, 8, 1, 1, 0}, ib::QpType::kUc),
            EINVAL);
  EXPECT_EQ(server.try_create_qp(qp, shared.server_cq, shared.server_cq, {8, 8, 1, 1, 0}), 0);
  EXPECT_EQ(qp.made.capabilities.max_recv_wr, 0u);
}

// The packet that waits for a receive releases its input buffer space; otherwise the adapter could receive
// nothing else. IBA 11.6.3: an error event of the queue, and a work queue error for every queue pair that
// uses it.
TEST(SharedReceiveTest, an_impossible_producer_is_an_error_of_the_queue_and_ends_its_queue_pairs_only) {
  Shared shared(3);
  Bystanders bystanders(shared.world);
  const Cq good_cq = shared.server.create_cq(16);
  Qp idle = shared.server.create_qp(good_cq, good_cq);
  EXPECT_EQ(shared.server.to_init(idle, shared.path), 0);
  shared.post_recv(0);
  shared.world.run();
  reinterpret_cast<protocol::SharedReceiveQueueRecord*>(shared.server.at(shared.srq.made.record_offset))
      ->producer.store(1000);
  for (int i = 0; i < 40; ++i) shared.send(0, 4096);
  shared.send(1, 600);
  bystanders.begin(1);
  shared.world.run_for(Duration{400'000'000});
  bystanders.expect_done();
  for (const Qp& qp : shared.to) EXPECT_EQ(shared.server.state(qp), QpState::kErr);
  EXPECT_EQ(shared.server.state(idle), QpState::kInit) << "not of this queue";
  std::map<AsyncEventType, int> events;
  for (const auto& event : shared.server.async_events) ++events[static_cast<AsyncEventType>(event.event_type)];
  EXPECT_EQ(events[AsyncEventType::kSrqError], 1);
  EXPECT_EQ(shared.server.async_events.at(0).event_type, static_cast<std::uint32_t>(AsyncEventType::kSrqError));
  EXPECT_EQ(events[AsyncEventType::kQpFatal], 3) << "also the connection that received nothing";
  EXPECT_EQ(events[AsyncEventType::kQpLastWqeReached], 3);
  // The first message had a receive; the next one is answered with a receiver error.
  const auto sent = shared.client.drain(shared.client_cq);
  ASSERT_GE(sent.size(), 2u);
  EXPECT_EQ(sent[0].status, code(WcStatus::kSuccess));
  EXPECT_EQ(sent[1].status, code(WcStatus::kRemoteOperationError));
}

TEST(SharedReceiveTest, a_queue_pair_that_comes_to_a_failed_queue_fails_with_its_first_message) {
  Shared shared(1);
  reinterpret_cast<protocol::SharedReceiveQueueRecord*>(shared.server.at(shared.srq.made.record_offset))
      ->producer.store(1000);
  shared.send(0, 8);
  shared.world.run();
  ASSERT_EQ(shared.server.state(shared.to[0]), QpState::kErr);
  shared.client.drain(shared.client_cq);
  shared.server.async_events.clear();
  shared.connect();
  shared.send(1, 2000);
  shared.world.run();
  EXPECT_EQ(shared.server.state(shared.to[1]), QpState::kErr);
  EXPECT_EQ(shared.client.drain(shared.client_cq).at(0).status, code(WcStatus::kRemoteOperationError));
  ASSERT_EQ(shared.server.async_events.size(), 2u);
  EXPECT_EQ(shared.server.async_events[0].event_type, static_cast<std::uint32_t>(AsyncEventType::kQpFatal));
  EXPECT_EQ(shared.server.query(shared.srq).max_wr, 64u);
}

TEST(SharedReceiveTest, a_closed_context_takes_its_queues_along) {
  Shared shared(3);
  for (std::uint64_t i = 0; i < 9; ++i) shared.post_recv(i);
  for (std::uint32_t i = 0; i < 3; ++i) shared.send(i, 5000);
  shared.world.run_for(Duration{2'500'000});
  shared.world.server->close(shared.server.context);
  shared.world.run();
  EXPECT_EQ(shared.client.drain(shared.client_cq).size(), 3u);
}

}  // namespace
}  // namespace verbatim::test
