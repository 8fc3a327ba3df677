// A port whose link fails: its state, its events and their times, and its packets.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

protocol::QueryPort query_port(Program& program) {
  protocol::QueryPort query{};
  query.port = 1;
  EXPECT_EQ(program.command(query), 0);
  return query;
}

std::vector<std::uint32_t> types(const Program& program) {
  std::vector<std::uint32_t> types;
  for (const protocol::AsyncEvent& event : program.async_events) {
    EXPECT_EQ(event.element, 1u) << "the port";
    types.push_back(event.event_type);
  }
  return types;
}

constexpr auto kError = static_cast<std::uint32_t>(ib::AsyncEventType::kPortError);
constexpr auto kActive = static_cast<std::uint32_t>(ib::AsyncEventType::kPortActive);

// Formula: an event is readable one event latency after its cause, not a picosecond earlier.
TEST(LinkStateTest, everyone_who_has_opened_the_adapter_is_told_one_event_latency_later) {
  Pair pair;
  Program second(pair.world, *pair.world.client, 4096, 4 << 20, 101);
  {
    Program gone(pair.world, *pair.world.client, 4096, 4 << 20, 102);
    pair.world.client->close(gone.context);
    set_link(*pair.world.client_port, false);
    const Duration latency = pair.options.world.profile.event_latency;
    pair.world.run_for(latency - Duration(1));
    EXPECT_EQ(types(pair.a.program), (std::vector<std::uint32_t>{}));
    pair.world.run_for(Duration(1));
    EXPECT_EQ(types(pair.a.program), (std::vector<std::uint32_t>{kError}));
    EXPECT_EQ(types(second), (std::vector<std::uint32_t>{kError}));
    EXPECT_EQ(types(pair.b.program), (std::vector<std::uint32_t>{kError})) << "the other end of the cable";
    EXPECT_EQ(types(gone), (std::vector<std::uint32_t>{}));
  }
  set_link(*pair.world.server_port, true);
  set_link(*pair.world.server_port, true);
  pair.world.run();
  EXPECT_EQ(types(second), (std::vector<std::uint32_t>{kError, kActive}))
      << "what does not change is not told";
}

TEST(LinkStateTest, a_port_without_its_link_is_down_and_polls_for_it) {
  Pair pair;
  EXPECT_EQ(query_port(pair.a.program).state, 4u);
  EXPECT_EQ(query_port(pair.a.program).phys_state, 5u);
  set_link(*pair.world.client_port, false);
  EXPECT_EQ(query_port(pair.a.program).state, 1u);
  EXPECT_EQ(query_port(pair.a.program).phys_state, 2u);
  EXPECT_EQ(query_port(pair.a.program).lid, 1u);
  set_link(*pair.world.client_port, true);
  EXPECT_EQ(query_port(pair.a.program).state, 4u);
}

TEST(LinkStateTest, a_connection_retries_until_the_link_is_back) {
  PairOptions options;
  options.path.timeout = 8;
  Pair pair(options);
  pair.a.fill(0, 100'000, 3);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100'000)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 7, .sges = {pair.a.sge(0, 100'000)}});
  pair.world.run_for(Duration(5'000'000));
  EXPECT_GT(pair.world.trace.count(TraceEvent::kPacketReceived), 3u);
  set_link(*pair.world.client_port, false);
  pair.world.run_for(Duration(3'000'000'000));
  EXPECT_TRUE(pair.a.program.drain(pair.a.send_cq).empty());
  EXPECT_EQ(pair.a.program.state(pair.a.qp), ib::QpState::kRts) << "a queue pair does not look at its port";
  set_link(*pair.world.client_port, true);
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).byte_length, 100'000u);
  EXPECT_TRUE(pair.b.equals(0, 100'000, 3));
}

TEST(LinkStateTest, packets_of_a_program_that_has_ended_are_dropped_and_its_peer_is_told_by_silence) {
  PairOptions options;
  options.path.timeout = 8;
  options.path.retry_cnt = 2;
  Pair pair(options);
  pair.a.program.post_send(pair.a.qp, {.wr_id = 7, .sges = {pair.a.sge(0, 100'000)}});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 8, .sges = {pair.a.sge(0, 10)}});
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100'000)});
  pair.world.run_for(Duration(5'000'000));
  pair.world.server->close(pair.b.program.context);
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].status, static_cast<std::uint8_t>(ib::WcStatus::kRetryExceeded));
  EXPECT_EQ(sent[1].status, static_cast<std::uint8_t>(ib::WcStatus::kWorkRequestFlushed));
  EXPECT_GT(pair.world.trace.count(TraceEvent::kPacketDropped), 10u);
  EXPECT_TRUE(pair.world.engine.empty());
}

}  // namespace
}  // namespace verbatim::test
