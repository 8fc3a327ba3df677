// Partitions (IBA 10.9): the table, who may talk with whom, and what is counted.
#include "sim/ib/partition.h"

#include <gtest/gtest.h>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::WcStatus;

constexpr std::uint16_t kFull = 0x8001, kLimited = 0x0001, kOtherPartition = 0x8002, kInvalid = 0x8000;

PairOptions in_partitions(std::vector<std::uint16_t> client, std::vector<std::uint16_t> server) {
  PairOptions options;
  options.world.profile.pkey_table_length = 8;
  options.world.pkeys = {std::move(client), std::move(server)};
  options.path.timeout = 5;
  options.path.retry_cnt = 1;
  return options;
}

std::uint32_t bad_pkeys(Program& program) {
  protocol::QueryPort port{};
  port.port = 1;
  EXPECT_EQ(program.command(port), 0);
  return port.bad_pkey_counter;
}

std::size_t drops(const World& world, ib::DropReason reason) {
  std::size_t n = 0;
  for (const TraceRecord& record : world.trace.all(TraceEvent::kPacketDropped)) {
    for (const std::uint64_t value : record.values) {
      if (value == static_cast<std::uint64_t>(reason)) {
        ++n;
        break;
      }
    }
  }
  return n;
}

TEST(PartitionTest, two_keys_match_in_one_partition_unless_both_are_limited) {
  EXPECT_TRUE(ib::do_pkeys_match(kFull, kFull));
  EXPECT_TRUE(ib::do_pkeys_match(kFull, kLimited));
  EXPECT_TRUE(ib::do_pkeys_match(kLimited, kFull));
  EXPECT_FALSE(ib::do_pkeys_match(kLimited, kLimited));
  EXPECT_FALSE(ib::do_pkeys_match(kFull, kOtherPartition));
  EXPECT_FALSE(ib::do_pkeys_match(kInvalid, kInvalid));
  EXPECT_FALSE(ib::do_pkeys_match(0, 0));
}

TEST(PartitionTest, a_connection_needs_matching_keys) {
  struct Case {
    std::uint16_t client, server;
    bool talks;
  };
  const Case cases[] = {{kFull, kFull, true},        {kFull, kLimited, true}, {kLimited, kFull, true},
                        {kLimited, kLimited, false}, {kFull, kOtherPartition, false},  {0, 0, false},
                        {kInvalid, kInvalid, false}};
  for (const ib::QpType type : {ib::QpType::kRc, ib::QpType::kUc}) {
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << std::hex << c.client << ' ' << c.server);
      PairOptions options = in_partitions({0xffff, c.client}, {0xffff, c.server});
      options.path.pkey_index = 1;
      options.type = type;
      Pair pair(options);
      ASSERT_TRUE(pair.ready);
      pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
      pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 8)}});
      pair.world.run();
      EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), c.talks ? 1u : 0u);
      const auto sent = pair.a.program.drain(pair.a.send_cq);
      ASSERT_EQ(sent.size(), 1u);
      // Nothing is answered: the requester finds out by silence, or not at all.
      const bool fails = !c.talks && type == ib::QpType::kRc;
      EXPECT_EQ(sent[0].status, fails ? code(WcStatus::kRetryExceeded) : 0);
      EXPECT_EQ(bad_pkeys(pair.b.program), c.talks ? 0u : fails ? 2u : 1u);
      EXPECT_EQ(bad_pkeys(pair.a.program), 0u);
      EXPECT_EQ(drops(pair.world, ib::DropReason::kWrongPkey), bad_pkeys(pair.b.program));
      EXPECT_TRUE(pair.b.program.async_events.empty());
    }
  }
}

// Each side may have the partition at another place of its table.
TEST(PartitionTest, the_index_is_the_ports_own_affair) {
  PairOptions options = in_partitions({0xffff, kOtherPartition, kFull}, {kFull});
  Pair pair(options, false);
  Program& a = pair.a.program;
  PathOptions third = options.path;
  third.pkey_index = 2;
  EXPECT_EQ(a.to_init(pair.a.qp, third) + pair.b.program.to_init(pair.b.qp, options.path), 0);
  EXPECT_EQ(a.to_rtr(pair.a.qp, 2, pair.b.qp.made.number, third), 0);
  EXPECT_EQ(pair.b.program.to_rtr(pair.b.qp, 1, pair.a.qp.made.number, options.path), 0);
  EXPECT_EQ(a.to_rts(pair.a.qp, third) + pair.b.program.to_rts(pair.b.qp, options.path), 0);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  std::vector<std::uint16_t> on_the_wire;
  const auto note = [&](ib::Packet& packet) {
    on_the_wire.push_back(packet.bth.pkey);
    return true;
  };
  pair.world.to_server.keep = pair.world.to_client.keep = note;
  a.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  EXPECT_EQ(a.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(on_the_wire, (std::vector<std::uint16_t>{kFull, kFull}));
  EXPECT_EQ(a.query(pair.a.qp).attributes.pkey_index, 2u);
}

TEST(PartitionTest, datagrams_of_other_partitions_are_dropped_and_counted) {
  for (const bool same : {true, false}) {
    PairOptions options = in_partitions({kFull}, {same ? kLimited : kOtherPartition});
    options.type = ib::QpType::kUd;
    Pair pair(options);
    ASSERT_TRUE(pair.ready);
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)},
                                         .address_handle = pair.a.program.create_ah(2),
                                         .remote_qpn = pair.b.qp.made.number,
                                         .remote_qkey = options.path.qkey});
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), same ? 1u : 0u);
    EXPECT_EQ(bad_pkeys(pair.b.program), same ? 0u : 1u);
  }
}

TEST(PartitionTest, wrong_qkeys_are_counted_too) {
  PairOptions options;
  options.type = ib::QpType::kUd;
  Pair pair(options);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)},
                                       .address_handle = pair.a.program.create_ah(2),
                                       .remote_qpn = pair.b.qp.made.number,
                                       .remote_qkey = options.path.qkey + 1});
  pair.world.run();
  protocol::QueryPort port{};
  port.port = 1;
  ASSERT_EQ(pair.b.program.command(port), 0);
  EXPECT_EQ(port.qkey_violation_counter, 1u);
  EXPECT_EQ(port.bad_pkey_counter, 0u);
}

struct Violations final : ib::KeyViolationListener {
  std::vector<ib::KeyViolation> pkeys, qkeys;
  void on_bad_pkey(const ib::KeyViolation& violation) override { pkeys.push_back(violation); }
  void on_bad_qkey(const ib::KeyViolation& violation) override { qkeys.push_back(violation); }
};

// A listener at the port gets the violation of such a packet.
TEST(PartitionTest, a_listener_is_told_of_each_wrong_key) {
  PairOptions options = in_partitions({0xffff, kOtherPartition}, {0xffff, kFull});
  options.type = ib::QpType::kUd;
  Violations violations;
  Pair pair(options);
  pair.world.server->attach(violations);
  const std::uint32_t to_server = pair.a.program.create_ah(2, true, 3);
  const auto send = [&](std::uint32_t qkey) {
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)},
                                         .address_handle = to_server,
                                         .remote_qpn = pair.b.qp.made.number,
                                         .remote_qkey = qkey});
    pair.world.run();
  };
  send(0x1234);
  send(options.path.qkey);
  ASSERT_EQ(violations.qkeys.size(), 1u);
  const ib::KeyViolation& bad = violations.qkeys[0];
  EXPECT_EQ(bad.key, 0x1234u);
  EXPECT_EQ(bad.service_level.value, 3);
  EXPECT_EQ(bad.source_lid.value, 1);
  EXPECT_EQ(bad.destination_lid.value, 2);
  EXPECT_EQ(bad.source_qp.value, pair.a.qp.made.number);
  EXPECT_EQ(bad.destination_qp.value, pair.b.qp.made.number);
  EXPECT_EQ(bad.source_gid.raw[15], 1);
  EXPECT_EQ(bad.destination_gid.raw[15], 2);
  EXPECT_TRUE(violations.pkeys.empty());
}

// A connection's packet does not contain the source queue pair.
TEST(PartitionTest, counters_of_wrong_keys_stay_at_their_greatest_value_and_can_be_set) {
  PairOptions options = in_partitions({0xffff, kOtherPartition}, {0xffff, kFull});
  options.path.pkey_index = 1;
  Violations violations;
  Pair pair(options);
  pair.world.server->attach(violations);
  ib::KeyViolations& counted = pair.world.server->key_violations();
  counted.pkey.set(0xfffe);
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();  // twice, as its retry counter is 1
  ASSERT_EQ(violations.pkeys.size(), 2u);
  EXPECT_EQ(violations.pkeys[0].key, kOtherPartition);
  EXPECT_EQ(violations.pkeys[0].source_qp.value, 0u);
  EXPECT_EQ(violations.pkeys[0].destination_qp.value, pair.b.qp.made.number);
  EXPECT_EQ(bad_pkeys(pair.b.program), 0xffffu);
  counted.pkey.set(0);
  EXPECT_EQ(bad_pkeys(pair.b.program), 0u);
}

TEST(PartitionTest, a_program_sees_the_table_and_may_not_point_beyond_it) {
  Pair pair(in_partitions({0xffff, kLimited}, {0xffff}), false);
  const auto entry = [&](std::uint32_t index) {
    protocol::QueryPkey query{};
    query.port = 1;
    query.index = index;
    const int status = pair.a.program.command(query);
    return status == 0 ? static_cast<int>(query.pkey) : -status;
  };
  EXPECT_EQ(entry(0), 0xffff);
  EXPECT_EQ(entry(1), kLimited);
  EXPECT_EQ(entry(2), 0);
  EXPECT_EQ(entry(7), 0);
  EXPECT_EQ(entry(8), -EINVAL);
  PathOptions path;
  path.pkey_index = 8;
  EXPECT_EQ(pair.a.program.to_init(pair.a.qp, path), EINVAL);
  path.pkey_index = 7;
  EXPECT_EQ(pair.a.program.to_init(pair.a.qp, path), 0) << "empty, but in the table";
}

}  // namespace
}  // namespace verbatim::test
