// Each management datagram of a connection is lost, duplicated or delayed; the connection is established and
// closed all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cm/two_hosts.h"

namespace verbatim::cm {
namespace {

using testing::Contains;
using testing::ElementsAre;

struct Case {
  std::size_t number;
  Fate fate;
  std::int64_t late_ms = 20;
};

// Events and messages seen by both programs; the client closes the connection as soon as it is established.
struct Outcome {
  std::vector<EventType> server, client;
  std::vector<std::string> seen;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(const std::function<void(TwoHosts&)>& change) {
  TwoHosts hosts;
  hosts.client.disconnects_when_established = true;
  EXPECT_EQ(hosts.listen(), 0);
  change(hosts);
  EXPECT_EQ(hosts.call(), 0);
  hosts.run();
  return {hosts.server.events, hosts.client.events, hosts.wire.seen};
}

const std::vector<EventType> kServerSees = {EventType::kConnectRequest, EventType::kEstablished, EventType::kDisconnected,
                                            EventType::kTimeWaitExit};
const std::vector<EventType> kClientSees = {EventType::kAddrResolved, EventType::kRouteResolved, EventType::kConnectResponse,
                                            EventType::kDisconnected, EventType::kTimeWaitExit};

TEST(Connection, is_established_and_ended_by_seven_datagrams) {
  const Outcome plain = outcome_of([](TwoHosts&) {});
  EXPECT_EQ(plain.server, kServerSees);
  EXPECT_EQ(plain.client, kClientSees);
  EXPECT_THAT(plain.seen, ElementsAre("PATH?", "PATH!", "REQ", "REP", "RTU", "DREQ", "DREP"));
}

class AnyDatagram : public testing::TestWithParam<Case> {};

TEST_P(AnyDatagram, may_go_wrong_once) {
  const Case& given = GetParam();
  const Outcome outcome = outcome_of([&](TwoHosts& hosts) {
    hosts.wire.late = std::chrono::milliseconds(given.late_ms);
    hosts.wire.fate = [&given](std::size_t at, const ib::Mad&) {
      return at == given.number ? given.fate : Fate::kArrives;
    };
  });
  EXPECT_EQ(outcome.client, kClientSees);
  // An RTU overtaken by the DREQ causes no event, because the server has left the connected state (IBA
  // 12.9.7.2).
  std::vector<EventType> server = outcome.server;
  constexpr std::size_t kRtu = 4;
  if (given.number == kRtu && given.fate != Fate::kTwice) {
    EXPECT_THAT(server, ElementsAre(EventType::kConnectRequest, EventType::kDisconnected, EventType::kTimeWaitExit));
  } else {
    EXPECT_EQ(server, kServerSees);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::size_t number = 0; number < 7; ++number) {
    all.push_back({number, Fate::kLost});
    all.push_back({number, Fate::kTwice});
    all.push_back({number, Fate::kLate, 20});
    if (number > 1) all.push_back({number, Fate::kLate, 10'000});  // later than its retransmission
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Once, AnyDatagram, testing::ValuesIn(cases()));

// Loss of any two datagrams.
TEST(Connection, outlives_any_two_losses) {
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t second = first + 1; second < 9; ++second) {
      const Outcome outcome = outcome_of([&](TwoHosts& hosts) {
        hosts.wire.fate = [=](std::size_t at, const ib::Mad&) {
          return at == first || at == second ? Fate::kLost : Fate::kArrives;
        };
      });
      EXPECT_EQ(outcome.client, kClientSees) << first << " " << second;
      EXPECT_THAT(outcome.server, Contains(EventType::kDisconnected)) << first << " " << second;
    }
  }
}

TEST(Connection, everything_twice_is_as_once) {
  const Outcome outcome = outcome_of([](TwoHosts& hosts) {
    hosts.wire.fate = [](std::size_t, const ib::Mad&) { return Fate::kTwice; };
  });
  EXPECT_EQ(outcome.client, kClientSees);
  EXPECT_EQ(outcome.server, kServerSees);
}

// The request is sent sixteen times at intervals of 6.1 s: two packet lifetimes of 1 s and 4.1 s for the
// answer.
TEST(Connection, nobody_answers) {
  TwoHosts hosts;
  hosts.listen();
  hosts.call();
  hosts.wire.fate = [](std::size_t, const ib::Mad& mad) { return name_of_message(mad) == "REQ" ? Fate::kLost : Fate::kArrives; };
  hosts.run(98);
  EXPECT_EQ(hosts.client.events.back(), EventType::kRouteResolved);
  hosts.run(2);
  EXPECT_EQ(hosts.client.events.back(), EventType::kUnreachable);
  EXPECT_EQ(hosts.client.statuses.back(), -ETIMEDOUT);
  EXPECT_EQ(std::count(hosts.wire.seen.begin(), hosts.wire.seen.end(), "REQ"), 16);
  EXPECT_TRUE(hosts.server.events.empty());
}

// If a request is repeated before the program has answered it, the kernel answers that it is being processed
// (MRA).
TEST(Connection, who_takes_long_to_accept_is_waited_for) {
  TwoHosts hosts;
  hosts.server.accepts = false;
  hosts.listen();
  hosts.call();
  hosts.run(50);
  EXPECT_THAT(hosts.wire.seen, ElementsAre("PATH?", "PATH!", "REQ", "REQ", "MRA"));
  hosts.server.accepted.front()->accept(ConnectionParameters{});
  hosts.run(1);
  EXPECT_EQ(hosts.server.events.back(), EventType::kEstablished);
}

TEST(Connection, a_reply_that_nobody_confirms_is_given_up) {
  TwoHosts hosts;
  hosts.listen();
  hosts.call();
  hosts.wire.fate = [](std::size_t, const ib::Mad& mad) { return name_of_message(mad) == "RTU" ? Fate::kLost : Fate::kArrives; };
  hosts.run();
  EXPECT_EQ(hosts.server.events.back(), EventType::kUnreachable);
  EXPECT_EQ(hosts.server.statuses.back(), -ETIMEDOUT);
}

// The first packet of the client may arrive before its RTU; the server then calls rdma_notify().
TEST(Connection, the_first_packet_stands_for_the_ready_message) {
  TwoHosts hosts;
  hosts.listen();
  hosts.call();
  hosts.wire.fate = [](std::size_t, const ib::Mad& mad) { return name_of_message(mad) == "RTU" ? Fate::kLost : Fate::kArrives; };
  hosts.run(1);
  EXPECT_EQ(hosts.server.accepted.front()->notify_established(), 0);
  EXPECT_EQ(hosts.server.events.back(), EventType::kEstablished);
  EXPECT_EQ(hosts.server.accepted.front()->notify_established(), -EISCONN);
}

TEST(Connection, nobody_answers_the_disconnect) {
  TwoHosts hosts;
  hosts.client.disconnects_when_established = true;
  hosts.listen();
  hosts.call();
  hosts.wire.fate = [](std::size_t, const ib::Mad& mad) { return name_of_message(mad) == "DREQ" ? Fate::kLost : Fate::kArrives; };
  hosts.run();
  EXPECT_THAT(hosts.client.events, Contains(EventType::kDisconnected));
  EXPECT_THAT(hosts.client.statuses, Contains(-ETIMEDOUT));
  EXPECT_EQ(hosts.client.events.back(), EventType::kTimeWaitExit);
  EXPECT_EQ(std::count(hosts.wire.seen.begin(), hosts.wire.seen.end(), "DREQ"), 16);
}

// A program dies at any moment: its identifiers are destroyed, and the peer is notified.
TEST(Connection, a_program_that_goes_is_missed) {
  for (std::int64_t at_us = 0; at_us < 200; ++at_us) {
    for (const bool server_goes : {false, true}) {
      TwoHosts hosts;
      hosts.listen();
      hosts.call();
      hosts.engine.run_until(hosts.engine.now() + std::chrono::microseconds(at_us));
      if (server_goes) {
        hosts.listener.reset();
        hosts.server.accepted.clear();
      } else {
        hosts.caller.reset();
      }
      hosts.run();
      if (server_goes) {
        const EventType last = hosts.client.events.back();
        EXPECT_TRUE(last == EventType::kRejected || last == EventType::kUnreachable || last == EventType::kTimeWaitExit)
            << at_us << ": " << static_cast<int>(last);
      } else if (!hosts.server.events.empty()) {
        const EventType last = hosts.server.events.back();
        EXPECT_TRUE(last == EventType::kRejected || last == EventType::kTimeWaitExit || last == EventType::kUnreachable)
            << at_us << ": " << static_cast<int>(last);
      }
    }
  }
}

}  // namespace
}  // namespace verbatim::cm
