// Automatic path migration (IBA 17.2.8): both sides load a second path, learn that the other side has done
// so, and migrate when the first path fails, on a program's request, or when the peer has migrated.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::WcStatus;

constexpr std::uint32_t kMigrated = 0, kRearm = 1, kArmed = 2;  // ibv_mig_state
constexpr std::uint8_t kOther = 3;                              // service level of the alternate path

std::size_t events(const Program& program, AsyncEventType type) {
  return static_cast<std::size_t>(
      std::count_if(program.async_events.begin(), program.async_events.end(),
                    [&](const auto& event) { return event.event_type == static_cast<std::uint32_t>(type); }));
}

std::uint32_t migration_state(Pair::Side& side) { return side.program.query(side.qp).attributes.path_mig_state; }

// The path to the peer by another service level.
int load(Pair::Side& side, std::uint16_t peer, std::uint32_t state = kRearm, std::uint8_t service_level = kOther) {
  protocol::QpAttributes attributes{};
  attributes.alternate_path.dlid = peer;
  attributes.alternate_path.port = attributes.alt_port_num = 1;
  attributes.alternate_path.service_level = service_level;
  attributes.alt_timeout = 9;
  attributes.path_mig_state = state;
  return side.program.modify(side.qp, ib::kQpAlternatePath | ib::kQpPathMigState, attributes);
}

int set_state(Pair::Side& side, std::uint32_t state) {
  protocol::QpAttributes attributes{};
  attributes.path_mig_state = state;
  return side.program.modify(side.qp, ib::kQpPathMigState, attributes);
}

struct MigrationTest : testing::Test {
  MigrationTest() : pair(options()) {}
  static PairOptions options() {
    PairOptions options;
    options.path.timeout = 8;
    options.path.retry_cnt = 2;
    return options;
  }
  // Both sides have a path more, and have heard so of the other.
  void arm() {
    ASSERT_EQ(load(pair.a, 2), 0);
    ASSERT_EQ(load(pair.b, 1), 0);
    EXPECT_EQ(migration_state(pair.a), kRearm);
    write(WcStatus::kSuccess);
    EXPECT_EQ(migration_state(pair.a), kArmed);
    EXPECT_EQ(migration_state(pair.b), kArmed);
  }
  void write(WcStatus status) {
    pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 64));
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].status, code(status));
  }
  // The first path loses all packets in both directions.
  void cut_first_path() {
    const auto passes = [](ib::Packet& packet) { return packet.lrh.service_level.value == kOther; };
    pair.world.to_server.keep = passes;
    pair.world.to_client.keep = passes;
  }
  void expect_migrated(Pair::Side& side) {
    const protocol::QpAttributes now = side.program.query(side.qp).attributes;
    EXPECT_EQ(now.path_mig_state, kMigrated);
    EXPECT_EQ(now.path.service_level, kOther);
    EXPECT_EQ(now.timeout, 9);
    EXPECT_EQ(now.alt_port_num, 0) << "there is no other path any more";
    EXPECT_EQ(events(side.program, AsyncEventType::kPathMigrated), 1u);
    EXPECT_EQ(events(side.program, AsyncEventType::kPathMigrationError), 0u);
  }

  Pair pair;
};

TEST_F(MigrationTest, a_path_that_answers_no_more_is_left_and_nothing_is_lost) {
  arm();
  cut_first_path();
  write(WcStatus::kSuccess);
  expect_migrated(pair.a);
  expect_migrated(pair.b);
}

TEST_F(MigrationTest, without_another_path_retries_end_with_an_error) {
  cut_first_path();
  write(WcStatus::kRetryExceeded);
  EXPECT_EQ(events(pair.a.program, AsyncEventType::kPathMigrated), 0u);
}

TEST_F(MigrationTest, a_path_that_only_one_side_has_loaded_is_not_taken) {
  ASSERT_EQ(load(pair.a, 2), 0);
  write(WcStatus::kSuccess);
  EXPECT_EQ(migration_state(pair.a), kRearm);
  cut_first_path();
  write(WcStatus::kRetryExceeded);
}

TEST_F(MigrationTest, a_program_moves_its_connection_and_the_peer_follows) {
  arm();
  ASSERT_EQ(set_state(pair.a, kMigrated), 0);
  pair.world.run();
  expect_migrated(pair.a);
  EXPECT_EQ(migration_state(pair.b), kArmed) << "it has not heard of it yet";
  std::vector<ib::Packet> requests;
  pair.world.to_server.keep = [&](ib::Packet& packet) { return requests.push_back(packet), true; };
  write(WcStatus::kSuccess);
  expect_migrated(pair.b);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].lrh.service_level.value, kOther);
  EXPECT_TRUE(requests[0].bth.mig_request);
}

TEST_F(MigrationTest, requests_say_by_a_bit_that_they_have_not_moved) {
  ASSERT_EQ(load(pair.a, 2), 0);
  bool has_bit = true;
  pair.world.to_server.keep = [&](ib::Packet& packet) { return has_bit = packet.bth.mig_request, true; };
  write(WcStatus::kSuccess);
  EXPECT_FALSE(has_bit);
}

TEST_F(MigrationTest, a_connection_can_be_armed_again) {
  arm();
  cut_first_path();
  write(WcStatus::kSuccess);
  pair.world.to_server.keep = {};
  pair.world.to_client.keep = {};
  ASSERT_EQ(load(pair.a, 2, kRearm, 0), 0);
  ASSERT_EQ(load(pair.b, 1, kRearm, 0), 0);
  write(WcStatus::kSuccess);
  EXPECT_EQ(migration_state(pair.a), kArmed);
  ASSERT_EQ(set_state(pair.b, kMigrated), 0);
  pair.b.program.post_send(pair.b.qp, {.wr_id = 1,
                                       .opcode = WqeOpcode::kRdmaWrite,
                                       .sges = {pair.b.sge(0, 8)},
                                       .remote_va = Program::kBuffer,
                                       .rkey = pair.a.mr.rkey});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.send_cq).at(0).status, 0u);
  EXPECT_EQ(events(pair.a.program, AsyncEventType::kPathMigrated), 2u);
}

TEST_F(MigrationTest, a_peer_that_goes_where_there_is_no_path_is_an_error_that_is_told) {
  ASSERT_EQ(load(pair.a, 2), 0);
  ASSERT_EQ(load(pair.b, 1), 0);
  write(WcStatus::kSuccess);
  // Packets from there have another LID than the loaded path.
  ASSERT_EQ(set_state(pair.a, kMigrated), 0);
  bool is_first = true;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    if (is_first) packet.lrh.source = ib::Lid{77};
    is_first = false;
    return true;
  };
  write(WcStatus::kSuccess);
  EXPECT_EQ(events(pair.b.program, AsyncEventType::kPathMigrationError), 1u);
  EXPECT_EQ(events(pair.b.program, AsyncEventType::kPathMigrated), 1u) << "the one that was sent again";
}

// 4.096 us x 2^timeout: 8 of the first path, 9 of the second.
constexpr std::int64_t kFirstTimeout = 4'096'000ll << 8, kSecondTimeout = 4'096'000ll << 9;

std::vector<std::int64_t> retransmissions(const World& world) {
  std::vector<std::int64_t> times;
  for (const TraceRecord& record : world.trace.all(TraceEvent::kRetransmission)) times.push_back(record.time_ps);
  return times;
}

TEST_F(MigrationTest, every_timer_behind_a_migration_is_the_new_paths) {
  arm();
  pair.world.to_server.keep = [](ib::Packet&) { return false; };
  write(WcStatus::kRetryExceeded);
  const auto times = retransmissions(pair.world);
  // Two retries by the first path, the migration, two by the second. Each timer starts when the packet leaves.
  ASSERT_EQ(times.size(), 5u);
  std::vector<std::int64_t> waited;
  for (std::size_t i = 1; i < times.size(); ++i) waited.push_back(times[i] - times[i - 1]);
  for (std::size_t i = 0; i < waited.size(); ++i) {
    const std::int64_t timeout = i < 2 ? kFirstTimeout : kSecondTimeout;
    EXPECT_GE(waited[i], timeout) << i;
    EXPECT_LT(waited[i], timeout + 2'000'000) << i << ": plus what it takes to send one";
  }
}

// A timer that runs starts anew with the path that a program or the peer takes.
TEST_F(MigrationTest, a_timer_that_runs_is_the_new_paths_from_the_migration_on) {
  arm();
  bool is_lost = true;
  pair.world.to_server.keep = [&](ib::Packet&) { return !std::exchange(is_lost, false); };
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 64));
  pair.world.run_for(Duration{500'000'000});
  ASSERT_EQ(set_state(pair.a, kMigrated), 0);
  const std::int64_t moved = pair.world.now_ps();
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(retransmissions(pair.world), std::vector{moved + kSecondTimeout});
}

TEST_F(MigrationTest, what_cannot_be_is_refused) {
  EXPECT_EQ(set_state(pair.a, kRearm), EINVAL) << "no path is loaded";
  EXPECT_EQ(load(pair.a, 2, kArmed), EINVAL) << "a queue pair comes there by itself";
  EXPECT_EQ(load(pair.a, 0xc001), EINVAL) << "a group";
  EXPECT_EQ(load(pair.a, 2, kRearm, 16), EINVAL);
  EXPECT_EQ(migration_state(pair.a), kMigrated);
  PairOptions roce;
  roce.world.roce = true;
  roce.path.is_global = true;
  Pair ethernet(roce);
  EXPECT_EQ(load(ethernet.a, 2), EINVAL);
}

}  // namespace
}  // namespace verbatim::test
