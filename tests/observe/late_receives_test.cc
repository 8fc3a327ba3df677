// First receives that are posted late, with and without a mistake.
#include "sim/observe/late_receives.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/ib/management.h"

namespace verbatim::observe::late {
namespace {

using ib::Operation;

constexpr std::uint32_t kAdapters = 3;
// Components of host `i`.
constexpr ComponentId adapter_of(std::uint32_t i) { return {3 * i}; }
constexpr ComponentId port_of(std::uint32_t i) { return {3 * i + 1}; }
constexpr ComponentId host_of(std::uint32_t i) { return {3 * i + 2}; }
constexpr std::uint32_t kServer = 0, kClient = 1, kThird = 2, kQpn = 72;

std::vector<LateReceives::Adapter> adapters(std::uint32_t count) {
  std::vector<LateReceives::Adapter> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({adapter_of(i), port_of(i), host_of(i)});
  return all;
}

class LateReceivesTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  ib::Packet packet_of(std::uint32_t from, std::uint32_t qpn = kQpn) const {
    ib::Packet packet;
    packet.lrh.source = ib::Lid{static_cast<std::uint16_t>(20 + from)};
    packet.bth.opcode = ib::make_opcode(ib::Transport::kRc, Operation::kSendOnly);
    packet.bth.destination = ib::Qpn{qpn};
    return packet;
  }
  void packet(std::uint32_t from, std::uint32_t to, const ib::Packet& which) {
    late_.on_packet({++time_, port_of(from).value, TraceEvent::kPacketTransmitted, {}}, which, port_of(from));
    late_.on_packet({++time_, port_of(to).value, TraceEvent::kPacketReceived, {}}, which, port_of(to));
  }
  void packet(std::uint32_t from, std::uint32_t to) { packet(from, to, packet_of(from)); }
  void datagram(TraceEvent event, std::uint32_t at, std::uint64_t transaction) {
    late_.on_record({++time_, adapter_of(at).value, event, {0, 0x0703, 0x13, transaction}}, {});
  }
  void tcp(std::uint32_t from, std::uint32_t to, std::int64_t done) {
    late_.on_contact(host_of(from), host_of(to), instant_from_ps(done));
  }
  // The client's first message uses a receive that the server posted at this time.
  bool is_mistake(std::int64_t posted, bool found_none_before = false) {
    const ib::Packet message = packet_of(kClient);
    late_.on_packet({++time_, port_of(kClient).value, TraceEvent::kPacketTransmitted, {}}, message, port_of(kClient));
    return late_.is_mistake({adapter_of(kServer), message, 99, instant_from_ps(posted), found_none_before});
  }

  bool waits_ = false;
  std::int64_t time_ = 0;
  LateReceives late_{adapters(GetParam()), [this](std::size_t adapter, std::uint32_t qpn) {
                       EXPECT_EQ(adapter, kClient);
                       EXPECT_EQ(qpn, 99u);
                       return waits_;
                     }};
};

TEST_P(LateReceivesTest, nothing_has_come_to_the_sender) { EXPECT_TRUE(is_mistake(10)); }

TEST_P(LateReceivesTest, a_sender_that_waits_for_ever_makes_none) {
  waits_ = true;
  EXPECT_FALSE(is_mistake(10));
  EXPECT_FALSE(is_mistake(10, true));
}

TEST_P(LateReceivesTest, word_by_a_socket_counts_when_it_was_sent) {
  time_ = 100;
  tcp(kServer, kClient, 50);
  EXPECT_TRUE(is_mistake(51));
  EXPECT_FALSE(is_mistake(50));
}

TEST_P(LateReceivesTest, a_datagram_of_connection_management_counts_when_it_was_sent) {
  datagram(TraceEvent::kDatagramSent, kServer, 5);
  const std::int64_t sent = time_;
  time_ += 100;
  ib::Packet carrier = packet_of(kServer, ib::kGeneralServicesQp.value);
  carrier.bth.opcode = ib::make_opcode(ib::Transport::kUd, Operation::kSendOnly);
  packet(kServer, kClient, carrier);
  datagram(TraceEvent::kDatagramReceived, kClient, 5);
  EXPECT_TRUE(is_mistake(sent + 1));
  EXPECT_FALSE(is_mistake(sent));
}

TEST_P(LateReceivesTest, a_datagram_that_nobody_has_seen_leave_may_be_anybodys) {
  time_ = 100;
  datagram(TraceEvent::kDatagramReceived, kClient, 5);
  EXPECT_FALSE(is_mistake(time_));
}

TEST_P(LateReceivesTest, a_packet_tells_of_all_until_it_comes) {
  packet(kServer, kClient);
  EXPECT_FALSE(is_mistake(time_));
  EXPECT_TRUE(is_mistake(time_ + 100));
}

TEST_P(LateReceivesTest, word_to_the_server_tells_the_client_nothing) {
  time_ = 100;
  packet(kClient, kServer);
  tcp(kClient, kServer, 100);
  EXPECT_TRUE(is_mistake(50));
}

TEST_P(LateReceivesTest, a_message_that_has_come_before_is_one_whatever_was_told_since) {
  time_ = 100;
  tcp(kServer, kClient, 100);
  EXPECT_TRUE(is_mistake(50, true));
}

INSTANTIATE_TEST_SUITE_P(Hosts, LateReceivesTest, ::testing::Values(2u, kAdapters));

class ThirdHost : public LateReceivesTest {};

TEST_P(ThirdHost, word_may_go_round_by_another) {
  packet(kServer, kThird);
  tcp(kThird, kClient, time_);
  EXPECT_FALSE(is_mistake(1));
  EXPECT_TRUE(is_mistake(time_ + 100));
}

INSTANTIATE_TEST_SUITE_P(Hosts, ThirdHost, ::testing::Values(kAdapters));

}  // namespace
}  // namespace verbatim::observe::late
