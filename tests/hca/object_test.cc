// Protection domains, memory regions, queues: granted and refused creation, with errno.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <vector>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using protocol::CommandType;

struct ObjectTest : ::testing::Test {
  World world;
  Program program{world, *world.client};
};

TEST_F(ObjectTest, objects_in_use_are_busy_and_unknown_ones_not_found) {
  const Mr mr = program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite);
  EXPECT_EQ(program.destroy(CommandType::kDeallocPd, program.pd), EBUSY);
  EXPECT_EQ(program.destroy(CommandType::kDeregMr, mr.handle), 0);
  EXPECT_EQ(program.destroy(CommandType::kDeregMr, mr.handle), ENOENT);
  const Cq cq = program.create_cq(4);
  Qp qp = program.create_qp(cq, cq);
  ASSERT_NE(qp.made.number, 0u);
  EXPECT_EQ(program.destroy(CommandType::kDeallocPd, program.pd), EBUSY);
  EXPECT_EQ(program.destroy(CommandType::kDestroyCq, cq.handle), EBUSY);
  EXPECT_EQ(program.destroy(CommandType::kDestroyQp, qp.made.handle + 1), ENOENT);
  EXPECT_EQ(program.destroy(CommandType::kDestroyQp, qp.made.handle), 0);
  EXPECT_EQ(program.destroy(CommandType::kDestroyCq, cq.handle), 0);
  EXPECT_EQ(program.destroy(CommandType::kDeallocPd, program.pd), 0);
  EXPECT_EQ(program.destroy(CommandType::kDeallocPd, program.pd), ENOENT);
}

TEST_F(ObjectTest, memory_registration_checks_rights_and_mapping) {
  program.memory.map(0x900000, 4096, false);
  const auto status = [&](std::uint64_t start, std::uint64_t length, std::uint32_t access) {
    int result = -1;
    program.reg_mr(start, length, access, &result);
    return result;
  };
  EXPECT_EQ(status(Program::kBuffer, 0, 0), EINVAL);  // no page
  EXPECT_EQ(status(Program::kBuffer + 16, 0, 0), 0);
  EXPECT_EQ(status(0x500, 0, 0), EFAULT);
  EXPECT_EQ(status(Program::kBuffer, 4096, ib::kRemoteWrite), EINVAL);
  EXPECT_EQ(status(Program::kBuffer, 4096, ib::kRemoteAtomic), EINVAL);
  EXPECT_EQ(status(Program::kBuffer, 4096, 1u << 8), EINVAL);
  EXPECT_EQ(status(Program::kBuffer, 4096, ib::kZeroBased), 0);
  EXPECT_EQ(status(Program::kBuffer, 4096, ib::kHugeTlb), EINVAL);
  EXPECT_EQ(status(Program::kBuffer, 4096, ib::kOnDemand | ib::kHugeTlb), 0);
  EXPECT_EQ(status(0x1000, 4096, ib::kOnDemand), 0);  // the memory need not be mapped yet
  EXPECT_EQ(status(0, SIZE_MAX, ib::kOnDemand), 0);
  EXPECT_EQ(status(0, SIZE_MAX, ib::kOnDemand | ib::kHugeTlb), EINVAL);
  EXPECT_EQ(status(0, SIZE_MAX, 0), EINVAL);
  EXPECT_EQ(status(0x1000, SIZE_MAX, ib::kOnDemand), EINVAL);
  EXPECT_EQ(status(0x500, 4096, 0), EFAULT);
  EXPECT_EQ(status(Program::kBuffer, (1 << 20) + 1, 0), EFAULT);
  EXPECT_EQ(status(0x900000, 4096, ib::kLocalWrite), EFAULT);
  EXPECT_EQ(status(~0ull - 10, 4096, 0), EINVAL);
  EXPECT_EQ(status(0x900000, 4096, 0), 0);
  EXPECT_EQ(status(Program::kBuffer, 1 << 20, ib::kLocalWrite | ib::kRelaxedOrdering), 0);
}

TEST_F(ObjectTest, keys_are_used_again_with_another_low_byte) {
  const Mr first = program.reg_mr(Program::kBuffer, 4096, 0);
  const Mr second = program.reg_mr(Program::kBuffer, 4096, 0);
  EXPECT_NE(first.lkey >> 8, second.lkey >> 8);
  ASSERT_EQ(program.destroy(CommandType::kDeregMr, first.handle), 0);
  const Mr third = program.reg_mr(Program::kBuffer, 4096, 0);
  EXPECT_EQ(third.lkey >> 8, first.lkey >> 8);
  EXPECT_NE(third.lkey, first.lkey);
  EXPECT_NE(third.handle, first.handle);
}

TEST_F(ObjectTest, queues_are_rounded_up_and_limits_refused) {
  Qp qp;
  const Cq cq = program.create_cq(5);
  EXPECT_EQ(cq.entries, 8u);
  ASSERT_EQ(program.try_create_qp(qp, cq, cq, {5, 3, 3, 2, 10}), 0);
  EXPECT_EQ(qp.made.send_entries, 8u);
  EXPECT_EQ(qp.made.recv_entries, 4u);
  EXPECT_EQ(qp.made.send_stride, 128u);
  EXPECT_EQ(qp.made.recv_stride, 64u);
  EXPECT_EQ(qp.made.capabilities.max_send_wr, 8u);
  EXPECT_EQ(qp.made.capabilities.max_recv_wr, 4u);
  EXPECT_EQ(qp.made.capabilities.max_send_sge, 4u);
  EXPECT_EQ(qp.made.capabilities.max_recv_sge, 3u);
  EXPECT_EQ(qp.made.capabilities.max_inline_data, 64u);
  EXPECT_EQ(qp.made.send_offset % 64, 0u);
  EXPECT_EQ(qp.made.recv_offset % 64, 0u);
  EXPECT_EQ(qp.made.record_offset % 64, 0u);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {16385, 1, 1, 1, 0}), EINVAL);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {1, 16385, 1, 1, 0}), EINVAL);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {1, 1, 31, 1, 0}), EINVAL);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {1, 1, 1, 31, 0}), EINVAL);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {1, 1, 1, 1, 925}), EINVAL);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {16384, 1, 30, 1, 0}),
            ENOMEM);  // the arena of this test is small
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {1, 1, 1, 1, 0}, ib::QpType::kRawPacket), EOPNOTSUPP);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {1, 1, 1, 1, 0}, static_cast<ib::QpType>(99)), EINVAL);
  EXPECT_EQ(program.try_create_qp(qp, Cq{}, cq, {1, 1, 1, 1, 0}), EINVAL);
  EXPECT_EQ(program.create_cq(0).handle, 0u);
  EXPECT_EQ(program.create_cq(4194304).handle, 0u);
  EXPECT_EQ(program.try_create_qp(qp, cq, cq, {0, 0, 0, 0, 0}), 0);
}

TEST_F(ObjectTest, arena_memory_is_used_again_and_numbers_are_not) {
  const Cq first = program.create_cq(16);
  ASSERT_EQ(program.destroy(CommandType::kDestroyCq, first.handle), 0);
  program.at(first.ring)[48] = std::byte{1};
  const Cq second = program.create_cq(16);
  EXPECT_EQ(second.ring, first.ring);
  EXPECT_NE(second.number, first.number);
  EXPECT_EQ(program.at(second.ring)[48], std::byte{0}) << "an old completion looks new";
}

// QP numbers in the order of creation: three, the first two of which are destroyed, then two more.
std::vector<std::uint32_t> numbers_given(bool reuse_qp_numbers) {
  WorldOptions options;
  options.profile.reuse_qp_numbers = reuse_qp_numbers;
  World world(options);
  Program program{world, *world.client};
  const Cq cq = program.create_cq(16);
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint32_t> handles;
  const auto make = [&] {
    const Qp qp = program.create_qp(cq, cq);
    numbers.push_back(qp.made.number);
    handles.push_back(qp.made.handle);
  };
  for (int i = 0; i < 3; ++i) make();
  for (const std::size_t i : {1, 0}) EXPECT_EQ(program.destroy(CommandType::kDestroyQp, handles[i]), 0);
  for (int i = 0; i < 3; ++i) make();
  return numbers;
}

TEST(QpNumberTest, the_profile_says_whether_a_number_comes_again_at_once) {
  const std::vector<std::uint32_t> ascending = numbers_given(false);
  const std::uint32_t first = ascending[0];
  EXPECT_EQ(ascending, (std::vector{first, first + 1, first + 2, first + 3, first + 4, first + 5}));
  EXPECT_EQ(numbers_given(true), (std::vector{first, first + 1, first + 2, first, first + 1, first + 3}));
}

TEST_F(ObjectTest, rings_of_a_second_opening_are_empty_although_the_first_used_the_same_memory) {
  const Cq first = program.create_cq(64);
  std::memset(program.at(first.ring), 0xff, 64 * sizeof(protocol::Cqe));
  world.client->close(program.context);
  program.context = world.client->open({100, &program.memory, program.arena(), &program});
  const Cq second = program.create_cq(64);
  ASSERT_EQ(second.ring, first.ring);
  for (std::size_t i = 0; i < 64 * sizeof(protocol::Cqe); ++i) {
    ASSERT_EQ(program.at(second.ring)[i], std::byte{0}) << i;
  }
}

TEST_F(ObjectTest, a_thousand_idle_queue_pairs_cost_less_than_four_kilobytes_each) {
  // In addition to the slot: an entry of the context's map and one of the number table; no heap memory.
  EXPECT_LE(hca::Hca::queue_pair_bytes() + 64 + 32, 4096u);
}

TEST_F(ObjectTest, contexts_do_not_reach_each_other) {
  Program other(world, *world.client, 1 << 20, 1 << 20, 101);
  const Cq cq = program.create_cq(4);
  Qp qp = program.create_qp(cq, cq);
  EXPECT_EQ(other.destroy(CommandType::kDestroyQp, qp.made.handle), ENOENT);
  ASSERT_EQ(program.to_init(qp, {}), 0);
  ASSERT_EQ(program.to_rtr(qp, 2, 1, {}), 0);
  ASSERT_EQ(program.to_rts(qp, {}), 0);
  world.client->ring_doorbell(other.context, protocol::DoorbellKind::kSendQueue, qp.made.number, 1000);
  world.run();
  EXPECT_EQ(program.state(qp), ib::QpState::kRts);
  // A key of another program is invalid.
  const Mr mr = other.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite);
  Cq mine = cq;
  program.post_send(qp, {.sges = {{Program::kBuffer, 8, mr.lkey}}});
  world.run();
  const auto entry = program.poll(mine);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->status, static_cast<std::uint8_t>(ib::WcStatus::kLocalProtectionError));
}

TEST_F(ObjectTest, commands_of_wrong_size_or_kind_are_refused) {
  protocol::AllocPd alloc{};
  alloc.header = {CommandType::kAllocPd, sizeof(alloc) - 1, 0, program.context};
  world.client->execute(std::as_writable_bytes(std::span(&alloc, 1)));
  EXPECT_EQ(alloc.header.status, EINVAL);
  alloc.header = {CommandType::kAllocPd, sizeof(alloc), 0, program.context + 5};
  world.client->execute(std::as_writable_bytes(std::span(&alloc, 1)));
  EXPECT_EQ(alloc.header.status, EINVAL);
  alloc.header = {static_cast<CommandType>(1000), sizeof(alloc), 0, program.context};
  world.client->execute(std::as_writable_bytes(std::span(&alloc, 1)));
  EXPECT_EQ(alloc.header.status, EOPNOTSUPP);
}

TEST_F(ObjectTest, queries_answer_from_the_profile) {
  protocol::QueryDevice device{};
  ASSERT_EQ(program.command(device), 0);
  EXPECT_EQ(device.attributes.max_qp_wr, 16384u);
  EXPECT_EQ(device.attributes.port_count, 1u);
  protocol::QueryPort port{};
  port.port = 1;
  ASSERT_EQ(program.command(port), 0);
  EXPECT_EQ(port.lid, 1u);
  EXPECT_EQ(port.state, 4u);
  EXPECT_EQ(port.active_mtu, 5u);
  port.port = 2;
  EXPECT_EQ(program.command(port), EINVAL);
  protocol::QueryGid gid{};
  gid.port = 1;
  ASSERT_EQ(program.command(gid), 0);
  EXPECT_EQ(gid.gid[15], 1u);
  gid.index = 8;
  EXPECT_EQ(program.command(gid), EINVAL);
  protocol::QueryPkey pkey{};
  pkey.port = 1;
  ASSERT_EQ(program.command(pkey), 0);
  EXPECT_EQ(pkey.pkey, 0xffffu);
}

TEST(ObjectValues, granted_sizes_stay_within_what_the_device_tells) {
  PairOptions options;
  options.world.profile.max_qp_wr = options.world.profile.max_srq_wr = 1000;
  World world(options.world);
  Program program{world, *world.client};
  const Cq cq = program.create_cq(4);
  const Qp qp = program.create_qp(cq, cq, {.max_send_wr = 1000, .max_recv_wr = 999, .max_send_sge = 1, .max_recv_sge = 1});
  EXPECT_EQ(qp.made.capabilities.max_send_wr, 1000u);
  EXPECT_EQ(qp.made.capabilities.max_recv_wr, 1000u);
  protocol::QueryQp query{};
  query.handle = qp.made.handle;
  ASSERT_EQ(program.command(query), 0);
  EXPECT_EQ(query.attributes.capabilities.max_send_wr, 1000u);
  const Srq srq = program.create_srq(1000);
  EXPECT_EQ(srq.made.max_wr, 1000u);
  protocol::SrqAttributes limit{};
  limit.handle = srq.made.handle;
  limit.mask = 2;
  limit.srq_limit = 1001;
  EXPECT_EQ(program.command(limit, CommandType::kModifySrq), EINVAL);
  limit.srq_limit = 1000;
  EXPECT_EQ(program.command(limit, CommandType::kModifySrq), 0);
}

TEST_F(ObjectTest, a_queue_without_entries_is_granted_and_told_as_such) {
  const Cq cq = program.create_cq(4);
  const Qp qp = program.create_qp(cq, cq, {.max_send_wr = 4, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 1});
  protocol::QueryQp query{};
  query.handle = qp.made.handle;
  ASSERT_EQ(program.command(query), 0);
  EXPECT_EQ(qp.made.capabilities.max_recv_wr, 0u);
  EXPECT_EQ(query.attributes.capabilities.max_recv_wr, 0u);
  EXPECT_EQ(query.attributes.capabilities.max_recv_sge, qp.made.capabilities.max_recv_sge);
}

// Bits of ibv_port_cap_flags.
TEST(ObjectValues, ports_tell_what_they_can_do) {
  const auto flags = [](hca::Hca& hca, World& world) {
    Program program{world, hca};
    protocol::QueryPort port{};
    port.port = 1;
    EXPECT_EQ(program.command(port), 0);
    return port.port_cap_flags;
  };
  World infiniband;
  constexpr std::uint32_t kAll = IBV_PORT_TRAP_SUP | IBV_PORT_AUTO_MIGR_SUP | IBV_PORT_SL_MAP_SUP | IBV_PORT_EXTENDED_SPEEDS_SUP |
                                 IBV_PORT_CM_SUP | IBV_PORT_CLIENT_REG_SUP;
  EXPECT_EQ(flags(*infiniband.client, infiniband), IBV_PORT_SM | kAll);
  EXPECT_EQ(flags(*infiniband.server, infiniband), kAll);
  World roce({.roce = true});
  EXPECT_EQ(flags(*roce.client, roce), IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS);
}

TEST_F(ObjectTest, closing_a_context_in_the_middle_of_traffic_leaves_nothing_behind) {
  for (int steps = 0; steps < 60; ++steps) {
    Pair pair;
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 20000)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 20000)}});
    for (int i = 0; i < steps; ++i) pair.world.engine.step();
    pair.world.server->close(pair.b.program.context);
    pair.world.run();
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(sent.size(), 1u);
    const auto status = static_cast<ib::WcStatus>(sent[0].status);
    EXPECT_TRUE(status == ib::WcStatus::kRetryExceeded || status == ib::WcStatus::kSuccess);
    EXPECT_EQ(pair.world.client_port->credits(ib::VirtualLane{0}), 65536u / 64);
  }
}

}  // namespace
}  // namespace verbatim::test
