// A request to load an alternate path is rejected each time, and the connection remains as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/mad/cm_messages.h"
#include "tests/cm/two_hosts.h"

namespace verbatim::cm {
namespace {

using mad::cm::Apr;
using mad::cm::AprStatus;
using mad::cm::Lap;
using testing::Each;

constexpr std::uint32_t kServersQpn = 0x1234;

// An established connection, whose client is played by the test from then on.
struct Connected : TwoHosts {
  std::vector<Apr> answers;
  std::uint32_t clients_id = 0, servers_id = 0;

  Connected() {
    server.parameters.qpn = kServersQpn;
    wire.fate = [this](std::size_t, const ib::Mad& mad) {
      if (const auto reply = mad::cm::decode<mad::cm::Rep>(mad)) {
        servers_id = reply->local_comm_id;
        clients_id = reply->remote_comm_id;
      }
      if (const auto answer = mad::cm::decode<Apr>(mad)) answers.push_back(*answer);
      return fate_of_path ? fate_of_path(mad) : Fate::kArrives;
    };
    listen();
    call();
    run(1);
  }
  ~Connected() { wire.fate = nullptr; }  // the ends of both hosts send their last words
  std::function<Fate(const ib::Mad&)> fate_of_path;

  Lap lap() const {
    Lap lap;
    lap.local_comm_id = clients_id;
    lap.remote_comm_id = servers_id;
    lap.remote_qpn = kServersQpn;
    lap.alternate.local_lid = 1;
    lap.alternate.remote_lid = 2;
    return lap;
  }
  void send(const Lap& lap) {
    ib::ManagementDatagram datagram;
    datagram.lid = ib::Lid{2};
    datagram.mad = mad::cm::encode(lap, 77);
    one.send(datagram);
    run(1);
  }
};

TEST(AlternatePath, is_not_supported) {
  Connected hosts;
  hosts.send(hosts.lap());
  ASSERT_EQ(hosts.answers.size(), 1u);
  EXPECT_EQ(hosts.answers[0].status, AprStatus::kUnsupported);
  EXPECT_EQ(hosts.answers[0].local_comm_id, hosts.servers_id);
  EXPECT_EQ(hosts.answers[0].remote_comm_id, hosts.clients_id);
  EXPECT_EQ(hosts.server.events.back(), EventType::kEstablished) << "the program hears nothing of it";
  EXPECT_EQ(hosts.caller->disconnect(), 0);
  hosts.run(1);
  EXPECT_EQ(hosts.server.events.back(), EventType::kDisconnected) << "and the connection is as before";
}

TEST(AlternatePath, of_another_connection_or_queue_pair) {
  Connected hosts;
  Lap lap = hosts.lap();
  lap.remote_qpn = kServersQpn + 1;
  hosts.send(lap);
  lap = hosts.lap();
  ++lap.remote_comm_id;
  hosts.send(lap);
  lap = hosts.lap();
  ++lap.local_comm_id;
  hosts.send(lap);
  ASSERT_EQ(hosts.answers.size(), 3u);
  EXPECT_EQ(hosts.answers[0].status, AprStatus::kInvalidQpn);
  EXPECT_EQ(hosts.answers[1].status, AprStatus::kInvalidCommId);
  EXPECT_EQ(hosts.answers[2].status, AprStatus::kInvalidCommId);
  hosts.caller->disconnect();
  hosts.run(1);
  hosts.send(hosts.lap());
  EXPECT_EQ(hosts.answers.back().status, AprStatus::kInvalidCommId) << "it has been ended";
}

// The sender repeats a lost request or answer; the receiver answers repeated requests twice, and late ones as
// well.
TEST(AlternatePath, is_answered_whatever_becomes_of_the_datagrams) {
  for (const char* which : {"LAP", "APR"}) {
    for (const Fate fate : {Fate::kLost, Fate::kTwice, Fate::kLate}) {
      Connected hosts;
      int seen = 0;
      hosts.fate_of_path = [&](const ib::Mad& mad) {
        return name_of_message(mad) == which && seen++ == 0 ? fate : Fate::kArrives;
      };
      hosts.send(hosts.lap());
      hosts.send(hosts.lap());
      const bool request_lost = fate == Fate::kLost && std::string(which) == "LAP";
      const bool request_twice = fate == Fate::kTwice && std::string(which) == "LAP";
      EXPECT_EQ(hosts.answers.size(), request_lost ? 1u : request_twice ? 3u : 2u) << which;
      for (const Apr& answer : hosts.answers) EXPECT_EQ(answer.status, AprStatus::kUnsupported);
      EXPECT_EQ(hosts.server.events.back(), EventType::kEstablished);
    }
  }
}

}  // namespace
}  // namespace verbatim::cm
