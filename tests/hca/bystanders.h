// Two programs that mind their own business, one on each adapter of a world, while others there do as they please:
// they send each other messages and must not notice.
#pragma once

#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {

struct Bystanders {
  static constexpr std::uint32_t kMessages = 32, kLength = 9000;

  explicit Bystanders(World& world, PairOptions options = {})
      : client(world, *world.client, options), server(world, *world.server, options) {
    for (Pair::Side* side : {&client, &server}) EXPECT_EQ(side->program.to_init(side->qp, options.path), 0);
    EXPECT_EQ(client.program.to_rtr(client.qp, 2, server.qp.made.number, options.path), 0);
    EXPECT_EQ(server.program.to_rtr(server.qp, 1, client.qp.made.number, options.path), 0);
    for (Pair::Side* side : {&client, &server}) EXPECT_EQ(side->program.to_rts(side->qp, options.path), 0);
  }

  // Both sides send all messages, more bytes than an input buffer holds.
  void begin(std::uint8_t seed) {
    seed_ = seed;
    for (Pair::Side* side : {&client, &server}) {
      for (std::uint32_t i = 0; i < kMessages; ++i) {
        side->fill(from(i), kLength, static_cast<std::uint8_t>(seed + i));
        side->program.post_recv(side->qp, i, {side->sge(to(i), kLength)});
      }
    }
    for (Pair::Side* side : {&client, &server}) {
      for (std::uint32_t i = 0; i < kMessages; ++i) {
        side->program.post_send(side->qp, {.wr_id = i, .sges = {side->sge(from(i), kLength)}});
      }
    }
  }
  // All of them have ended correctly.
  void expect_done() {
    for (Pair::Side* side : {&client, &server}) {
      const auto sent = side->program.drain(side->send_cq), received = side->program.drain(side->recv_cq);
      ASSERT_EQ(sent.size(), kMessages);
      ASSERT_EQ(received.size(), kMessages);
      for (std::uint32_t i = 0; i < kMessages; ++i) {
        EXPECT_EQ(sent[i].status + received[i].status, 0);
        EXPECT_EQ(sent[i].wr_id, i);
        EXPECT_EQ(received[i].wr_id, i);
        EXPECT_EQ(received[i].byte_length, kLength);
        EXPECT_TRUE(side->equals(to(i), kLength, static_cast<std::uint8_t>(seed_ + i))) << i;
      }
      EXPECT_EQ(side->program.async_events.size(), 0u);
      EXPECT_EQ(side->program.state(side->qp), ib::QpState::kRts);
    }
  }

  Pair::Side client, server;

 private:
  static std::uint64_t from(std::uint32_t i) { return std::uint64_t{i} * 10'000; }
  static std::uint64_t to(std::uint32_t i) { return 512 * 1024 + from(i); }
  std::uint8_t seed_ = 0;
};

}  // namespace verbatim::test
