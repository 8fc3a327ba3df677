// Accesses that are reported as races, and others that are not.
#include "sim/observe/remote_races.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace verbatim::observe {
namespace {

using ib::Operation;

constexpr ComponentId kClientPort{1}, kServerPort{3}, kServer{2}, kThirdPort{5};

class RemoteRacesTest : public ::testing::Test, public DiagnosisObserver {
 protected:
  RemoteRacesTest() { tracer_.add(static_cast<DiagnosisObserver&>(*this)); }
  void on_diagnosis(const Diagnosis& diagnosis, Instant) override {
    EXPECT_EQ(diagnosis.check, "remote-race");
    found_.push_back(std::string(diagnosis.text));
  }

  struct Access {
    Operation operation;
    std::uint32_t qpn, psn;
    std::uint64_t va = 0x1000;
    std::uint32_t length = 64, key = 7;
    ComponentId from = kClientPort;
  };
  ib::Packet packet_of(const Access& access) const {
    ib::Packet packet;
    packet.lrh.source = ib::Lid{static_cast<std::uint16_t>(20 + access.from.value)};
    packet.lrh.destination = ib::Lid{2};
    packet.bth.opcode = ib::make_opcode(ib::Transport::kRc, access.operation);
    packet.bth.destination = ib::Qpn{access.qpn};
    packet.bth.psn = {access.psn};
    packet.reth = {ib::RemoteVa{access.va}, ib::RKey{access.key}, access.length};
    packet.atomic = {ib::RemoteVa{access.va}, ib::RKey{access.key}};
    return packet;
  }
  void packet(TraceEvent event, const Access& access, ComponentId port) {
    races_.on_packet({++time_, port.value, event, {}}, packet_of(access), port);
  }
  void send(const Access& access) { packet(TraceEvent::kPacketTransmitted, access, access.from); }
  void receive(const Access& access) { packet(TraceEvent::kPacketReceived, access, kServerPort); }
  void answer(TraceEvent event, std::uint32_t qpn, std::uint32_t psn) {
    races_.on_record({++time_, kServer.value, event, {qpn, psn, 0, 0}}, {});
  }
  // Both are sent before the first is answered.
  std::size_t found_at_once(const Access& first, const Access& second) {
    send(first);
    send(second);
    receive(first);
    receive(second);
    return found_.size();
  }

  Engine engine_;
  Tracer tracer_{engine_};
  RemoteRaces races_{tracer_, "remote-race",
                     {{ComponentId{0}, kClientPort, ComponentId{10}, "client"},
                      {kServer, kServerPort, ComponentId{11}, "server"},
                      {ComponentId{4}, kThirdPort, ComponentId{12}, "third"}}};
  std::vector<std::string> found_;
  std::int64_t time_ = 0;
};

TEST_F(RemoteRacesTest, writes_of_two_connections_at_once) {
  ASSERT_EQ(found_at_once({Operation::kWriteOnly, 72, 100}, {Operation::kWriteOnly, 73, 100, 0x1020, 64, 7, kThirdPort}), 1u);
  EXPECT_NE(found_[0].find("a WRITE of 64 bytes at 0x1020 by third through QP 73 of server is sent before a WRITE of 64 bytes at 0x1000 "
                           "by client through QP 72 of server is answered"),
            std::string::npos)
      << found_[0];
}

TEST_F(RemoteRacesTest, a_read_and_a_write) {
  EXPECT_EQ(found_at_once({Operation::kReadRequest, 72, 100}, {Operation::kWriteOnly, 73, 100}), 1u);
}

TEST_F(RemoteRacesTest, a_write_behind_a_read_of_its_own_connection) {
  EXPECT_EQ(found_at_once({Operation::kReadRequest, 72, 100}, {Operation::kWriteOnly, 72, 101}), 1u);
}

TEST_F(RemoteRacesTest, not_one_connection_that_keeps_the_order) {
  EXPECT_EQ(found_at_once({Operation::kWriteOnly, 72, 100}, {Operation::kWriteOnly, 72, 101}), 0u);
  EXPECT_EQ(found_at_once({Operation::kWriteOnly, 72, 102}, {Operation::kReadRequest, 72, 103}), 0u);
}

TEST_F(RemoteRacesTest, not_two_reads_other_bytes_another_key_or_one_word) {
  EXPECT_EQ(found_at_once({Operation::kReadRequest, 72, 100}, {Operation::kReadRequest, 73, 100}), 0u);
  EXPECT_EQ(found_at_once({Operation::kWriteOnly, 74, 100, 0x2000}, {Operation::kWriteOnly, 75, 100, 0x2040}), 0u);
  EXPECT_EQ(found_at_once({Operation::kWriteOnly, 76, 100, 0x3000, 64, 8}, {Operation::kWriteOnly, 77, 100, 0x3000, 64, 9}), 0u);
  EXPECT_EQ(found_at_once({Operation::kWriteOnly, 78, 100, 0x4000, 8}, {Operation::kFetchAdd, 79, 100, 0x4000}), 0u);
  EXPECT_EQ(found_at_once({Operation::kFetchAdd, 80, 100, 0x5000}, {Operation::kCompareSwap, 81, 100, 0x5000}), 0u);
}

TEST_F(RemoteRacesTest, not_what_is_sent_after_the_answer) {
  const Access first{Operation::kWriteOnly, 72, 100}, second{Operation::kWriteOnly, 73, 100};
  send(first);
  receive(first);
  answer(TraceEvent::kAckSent, 72, 100);
  send(second);
  receive(second);
  EXPECT_EQ(found_.size(), 0u);
  // A READ is answered when its response arrives.
  const Access read{Operation::kReadRequest, 74, 100, 0x2000}, further{Operation::kReadRequest, 74, 101, 0x2000};
  send(read);
  receive(read);
  send(further);
  receive(further);
  for (const std::uint32_t psn : {100u, 101u})
    packet(TraceEvent::kPacketReceived, {Operation::kReadResponseOnly, 999, psn}, kClientPort);
  const Access write{Operation::kWriteOnly, 75, 100, 0x2000};
  send(write);
  receive(write);
  EXPECT_EQ(found_.size(), 0u);
}

TEST_F(RemoteRacesTest, what_left_before_the_answer_is_a_race_however_late_it_comes) {
  const Access first{Operation::kWriteOnly, 72, 100}, second{Operation::kWriteOnly, 73, 100};
  send(first);
  receive(first);
  send(second);
  answer(TraceEvent::kAckSent, 72, 100);
  receive(second);
  EXPECT_EQ(found_.size(), 1u);
}

TEST_F(RemoteRacesTest, not_behind_a_completion_at_the_target_or_a_later_atomic) {
  const Access first{Operation::kWriteOnly, 72, 100};
  send(first);
  receive(first);
  races_.on_record({++time_, kServer.value, TraceEvent::kCompletion, {128, 72, 0, 0}}, {});
  const Access second{Operation::kWriteOnly, 73, 100};
  send(second);
  receive(second);
  EXPECT_EQ(found_.size(), 0u);
  const Access unlock{Operation::kFetchAdd, 73, 101, 0x9000};
  send(unlock);
  receive(unlock);
  const Access third{Operation::kWriteOnly, 74, 100};
  send(third);
  receive(third);
  EXPECT_EQ(found_.size(), 0u);
}

// Three hosts: an access sent after another host's was answered is a race unless its sender has learned of
// the answer.
class ThreeHosts : public RemoteRacesTest {
 protected:
  const Access first_{Operation::kWriteOnly, 72, 100}, second_{Operation::kWriteOnly, 73, 100, 0x1000, 64, 7, kThirdPort};
  void write(const Access& access) {
    send(access);
    receive(access);
    answer(TraceEvent::kAckSent, access.qpn, access.psn);
  }
  std::size_t found_after(const std::function<void()>& between) {
    write(first_);
    between();
    write(second_);
    return found_.size();
  }
};

TEST_F(ThreeHosts, nobody_tells) {
  ASSERT_EQ(found_after([] {}), 1u);
  EXPECT_NE(found_[0].find("was answered, and"), std::string::npos) << found_[0];
}

TEST_F(ThreeHosts, the_requester_tells_or_the_target) {
  EXPECT_EQ(found_after([this] { races_.on_contact(ComponentId{10}, ComponentId{12}, {}); }), 0u);
  const Access third{Operation::kWriteOnly, 74, 100, 0x2000}, fourth{Operation::kWriteOnly, 75, 100, 0x2000, 64, 7, kThirdPort};
  write(third);
  races_.on_contact(ComponentId{11}, ComponentId{12}, {});
  write(fourth);
  EXPECT_EQ(found_.size(), 0u);
}

TEST_F(ThreeHosts, who_heard_before_has_not_heard) {
  races_.on_contact(ComponentId{10}, ComponentId{12}, {});
  EXPECT_EQ(found_after([this] { races_.on_contact(ComponentId{12}, ComponentId{10}, {}); }), 1u);
}

// A READ is invisible to the target, so only its requester can report its end.
TEST_F(ThreeHosts, a_read_is_told_by_its_requester_alone) {
  const Access read{Operation::kReadRequest, 72, 100};
  send(read);
  receive(read);
  packet(TraceEvent::kPacketReceived, {Operation::kReadResponseOnly, 999, 100}, kClientPort);
  races_.on_contact(ComponentId{11}, ComponentId{12}, {});
  write(second_);
  EXPECT_EQ(found_.size(), 1u);
}

TEST_F(ThreeHosts, a_queue_pair_that_begins_anew_has_no_past) {
  EXPECT_EQ(found_after([this] { races_.on_record({++time_, kServer.value, TraceEvent::kQpState, {72, 3, 0, 0}}, {}); }), 0u);
}

TEST_F(ThreeHosts, the_last_64_ranges_of_a_connection_are_remembered) {
  write(first_);
  for (std::uint32_t i = 0; i < 40; ++i) write({Operation::kWriteOnly, 72, 101 + i, 0x10000 + i * 64});
  write(second_);
  EXPECT_EQ(found_.size(), 1u);
}

}  // namespace
}  // namespace verbatim::observe
