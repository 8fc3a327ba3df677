// Losses of a run, counted from its records.
#include "sim/observe/losses.h"

#include <gtest/gtest.h>

#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"

namespace verbatim::observe {
namespace {

const ComponentTable kComponents({"hca/a", "hca/b", "port/a:1", "port/leaf:1"});

struct LossesTest : ::testing::Test {
  void record(const char* component, TraceEvent event, std::int64_t ps, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0,
              std::uint64_t d = 0) {
    losses.on_record({ps, kComponents.id(component).value, event, {a, b, c, d}}, {});
  }
  void drop(ib::DropReason reason) { record("port/leaf:1", TraceEvent::kPacketDropped, 1, 4, 72, 5, static_cast<std::uint64_t>(reason)); }
  void retry(const char* adapter, std::int64_t ps, std::uint64_t qpn, std::uint64_t psn) {
    record(adapter, TraceEvent::kRetransmission, ps, qpn, psn, 1, 6);
  }

  Losses losses{kComponents, {kComponents.id("port/a:1")}};
};

TEST_F(LossesTest, are_none_at_first) {
  EXPECT_FALSE(losses.any());
  EXPECT_EQ(losses.worst_message().retries, 0u);
}

TEST_F(LossesTest, drops_of_packets_count_and_those_that_harm_nobody_do_not) {
  drop(ib::DropReason::kStale);
  drop(ib::DropReason::kFlowDrop);
  drop(ib::DropReason::kNoFlow);
  EXPECT_FALSE(losses.any());
  drop(ib::DropReason::kFault);
  drop(ib::DropReason::kUnknownQp);
  EXPECT_EQ(losses.packets_dropped(), 2u);
}

TEST_F(LossesTest, packets_after_a_nak_are_discarded_and_not_dropped) {
  drop(ib::DropReason::kAfterNak);
  EXPECT_TRUE(losses.any());
  EXPECT_EQ(losses.packets_dropped(), 0u);
  EXPECT_EQ(losses.packets_discarded(), 1u);
}

TEST_F(LossesTest, rnr_naks_count_and_other_acknowledgements_do_not) {
  for (const std::uint64_t syndrome : {0x00, 0x1f, 0x60}) record("hca/b", TraceEvent::kAckSent, 1, 72, 5, syndrome);
  EXPECT_FALSE(losses.any());
  record("hca/b", TraceEvent::kAckSent, 1, 72, 5, 0x2c);
  EXPECT_EQ(losses.rnr_naks(), 1u);
}

TEST_F(LossesTest, a_packet_is_sent_again_where_it_leaves_its_host) {
  ib::Packet packet;
  const auto send = [&](const char* port, TraceEvent event) {
    losses.on_packet({1, 0, event, {}}, packet, kComponents.id(port));
  };
  send("port/a:1", TraceEvent::kPacketTransmitted);
  packet.retransmission = 2;
  send("port/leaf:1", TraceEvent::kPacketTransmitted);
  send("port/a:1", TraceEvent::kPacketReceived);
  EXPECT_FALSE(losses.any());
  send("port/a:1", TraceEvent::kPacketTransmitted);
  EXPECT_EQ(losses.packets_sent_again(), 1u);
}

TEST_F(LossesTest, the_worst_message_is_the_one_retried_most_often_and_then_longest) {
  retry("hca/a", 10, 72, 5);
  retry("hca/a", 20, 72, 5);
  retry("hca/b", 10, 72, 5);  // another queue pair with the same number
  retry("hca/a", 30, 72, 6);
  EXPECT_EQ(losses.retries(), 4u);
  EXPECT_EQ(losses.worst_message().adapter, "hca/a");
  EXPECT_EQ(losses.worst_message().psn, 5u);
  EXPECT_EQ(losses.worst_message().retries, 2u);
  EXPECT_EQ(losses.worst_message().last_ps, 20);
  retry("hca/b", 90, 72, 5);  // as often, over a longer time
  EXPECT_EQ(losses.worst_message().adapter, "hca/b");
  EXPECT_EQ(losses.worst_message().first_ps, 10);
}

}  // namespace
}  // namespace verbatim::observe
