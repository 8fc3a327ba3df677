// A hardware failure of an adapter: events, remaining objects, and consequences for its peers.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

constexpr auto kFatal = static_cast<std::uint32_t>(ib::AsyncEventType::kDeviceFatal);

std::vector<std::uint32_t> types(const Program& program) {
  std::vector<std::uint32_t> types;
  for (const protocol::AsyncEvent& event : program.async_events) types.push_back(event.event_type);
  return types;
}

// Formula: readable one event latency after the failure. It concerns no port.
TEST(DeviceFailureTest, everyone_who_has_opened_the_adapter_is_told_once) {
  Pair pair;
  Program second(pair.world, *pair.world.client, 4096, 4 << 20, 101);
  pair.world.client->fail();
  const Duration latency = pair.options.world.profile.event_latency;
  pair.world.run_for(latency - Duration(1));
  EXPECT_EQ(types(pair.a.program), (std::vector<std::uint32_t>{}));
  pair.world.run_for(Duration(1));
  pair.world.client->fail();
  set_link(*pair.world.client_port, false);
  pair.world.run();
  EXPECT_EQ(types(pair.a.program), (std::vector<std::uint32_t>{kFatal})) << "and of nothing afterwards";
  EXPECT_EQ(types(second), (std::vector<std::uint32_t>{kFatal}));
  EXPECT_EQ(pair.a.program.async_events[0].element, 0u);
  EXPECT_TRUE(pair.world.client->has_failed());
  EXPECT_FALSE(pair.world.server->has_failed());
}

TEST(DeviceFailureTest, every_command_answers_EIO_and_closing_works) {
  Pair pair;
  pair.world.client->fail();
  Program& program = pair.a.program;
  protocol::QueryDevice device{};
  EXPECT_EQ(program.command(device), EIO);
  protocol::QueryPort port{};
  port.port = 1;
  EXPECT_EQ(program.command(port), EIO);
  protocol::AllocPd alloc{};
  EXPECT_EQ(program.command(alloc), EIO);
  EXPECT_EQ(program.destroy(protocol::CommandType::kDestroyQp, pair.a.qp.made.handle), EIO);
  EXPECT_EQ(program.destroy(protocol::CommandType::kDeallocPd, program.pd), EIO);
  EXPECT_EQ(program.command(alloc, static_cast<protocol::CommandType>(9999)), EIO) << "unknown ones, too";
  EXPECT_NE(pair.world.diagnoses.texts.back().find("failed"), std::string::npos)
      << pair.world.diagnoses.texts.back();
  pair.world.client->close(program.context);
  pair.world.run();
  EXPECT_TRUE(pair.world.engine.empty());
}

// At many moments of a message: the program gets nothing more, and its peer retries and gives up.
TEST(DeviceFailureTest, work_under_way_ends_in_silence_and_the_peer_finds_out_by_its_retries) {
  for (int moment = 0; moment < 40; ++moment) {
    PairOptions options;
    options.path.timeout = 8;
    options.path.retry_cnt = 1;
    Pair pair(options);
    pair.b.fill(0, 100'000, 3);
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(200'000, 100'000)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 7, .sges = {pair.a.sge(0, 100'000)}});
    pair.b.program.post_send(pair.b.qp, {.wr_id = 8,
                                         .opcode = WqeOpcode::kRdmaWrite,
                                         .sges = {pair.b.sge(0, 100'000)},
                                         .remote_va = Program::kBuffer + 200'000,
                                         .rkey = pair.a.mr.rkey});
    pair.world.run_for(Duration(moment * 400'000));
    const auto memory = pair.a.program.memory.at(Program::kBuffer, 300'000);
    const std::vector<std::byte> before(memory.begin(), memory.end());
    pair.a.program.drain(pair.a.send_cq);
    pair.world.client->fail();
    pair.world.run();
    EXPECT_TRUE(pair.a.program.drain(pair.a.send_cq).empty()) << moment;
    EXPECT_TRUE(std::ranges::equal(before, memory)) << moment;
    const auto sent = pair.b.program.drain(pair.b.send_cq);
    ASSERT_EQ(sent.size(), 1u) << moment;
    const auto status = static_cast<ib::WcStatus>(sent[0].status);
    EXPECT_TRUE(status == ib::WcStatus::kRetryExceeded || status == ib::WcStatus::kSuccess) << moment;
    EXPECT_TRUE(pair.world.engine.empty());
  }
}

TEST(DeviceFailureTest, doorbells_reach_nothing_and_completions_that_are_written_stay) {
  Pair pair;
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 7, .sges = {pair.a.sge(0, 64)}});
  pair.world.run();
  pair.world.client->fail();
  pair.a.program.post_send(pair.a.qp, {.wr_id = 8, .sges = {pair.a.sge(0, 64)}});
  pair.world.run();
  const auto polled = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(polled.size(), 1u);
  EXPECT_EQ(polled[0].wr_id, 7u);
}

// A second opening may follow when everything has ended.
TEST(DeviceFailureTest, a_context_that_is_opened_afterwards_has_no_use) {
  World world;
  world.client->fail();
  Program late(world, *world.client);
  protocol::AllocPd alloc{};
  EXPECT_EQ(late.command(alloc), EIO);
  world.client->close(late.context);
}

}  // namespace
}  // namespace verbatim::test
