// Multicast groups: every member gets a copy, on the sender's adapter too; others get nothing.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using protocol::CommandType;

constexpr std::uint16_t kLid = 0xc123;

// Two datagram queue pairs on either side of a switch.
struct Group {
  // `first_flags`: ibv_qp_create_flags of the client's first.
  explicit Group(std::uint32_t first_flags = 0)
      : world(with_switch()), client(world, *world.client), server(world, *world.server) {
    for (Program* program : {&client, &server}) {
      mr[program == &server] = program->reg_mr(Program::kBuffer, 1 << 20, ib::kLocalWrite);
      for (int i = 0; i < 2; ++i) {
        Member member{program, program->create_cq(16), {}};
        member.qp.made.create_flags = members.empty() ? first_flags : 0;
        EXPECT_EQ(program->try_create_qp(member.qp, member.cq, member.cq, {16, 16, 2, 2, 64}, ib::QpType::kUd), 0);
        EXPECT_EQ(program->to_init(member.qp, {}) + program->to_rtr(member.qp, 0, 0, {}) +
                      program->to_rts(member.qp, {}),
                  0);
        members.push_back(member);
        program->post_recv(member.qp, 1, {{Program::kBuffer + 4096u * i, 200, mr[program == &server].lkey}});
      }
    }
  }
  static WorldOptions with_switch() {
    WorldOptions options;
    options.with_switch = true;
    return options;
  }
  int change(std::size_t member, CommandType type, std::uint16_t lid = kLid, std::uint8_t first = 0xff) {
    protocol::Multicast command{};
    command.qp = members[member].qp.made.handle;
    command.lid = lid;
    command.gid[0] = first;
    command.gid[15] = 9;
    return members[member].program->command(command, type);
  }
  int attach(std::size_t member) { return change(member, CommandType::kAttachMulticast); }
  // From the client's first queue pair to the group.
  void send() {
    protocol::CreateAh create{};
    create.pd = client.pd;
    create.address.dlid = kLid;
    create.address.port = 1;
    create.address.is_global = 1;
    create.address.dgid[0] = 0xff;
    create.address.dgid[15] = 9;
    ASSERT_EQ(client.command(create), 0);
    client.post_send(members[0].qp, {.sges = {{Program::kBuffer + 8192, 100, mr[0].lkey}},
                                     .address_handle = create.handle,
                                     .remote_qpn = 0xffffff,
                                     .remote_qkey = PathOptions().qkey});
    world.run();
  }
  // Datagrams a member has got since it was asked before.
  std::size_t received(std::size_t member) {
    std::size_t count = 0;
    for (const auto& entry : members[member].program->drain(members[member].cq)) {
      count += entry.is_receive != 0 && entry.status == 0 && entry.byte_length == 140 ? 1 : 0;
    }
    return count;
  }

  struct Member {
    Program* program;
    Cq cq;
    Qp qp;
  };
  World world;
  Program client, server;
  Mr mr[2];
  std::vector<Member> members;  // client, client, server, server
};

TEST(MulticastTest, every_member_gets_a_copy_and_nobody_else) {
  for (unsigned joined = 0; joined < 16; ++joined) {
    Group group;
    for (std::size_t i = 0; i < 4; ++i) {
      if ((joined >> i & 1) != 0) {
        EXPECT_EQ(group.attach(i), 0);
      }
    }
    group.send();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(group.received(i), joined >> i & 1) << joined << " " << i;
  }
}

TEST(MulticastTest, buffers_along_the_way_are_free_again) {
  Group group;
  EXPECT_EQ(group.attach(2), 0);
  for (int i = 0; i < 100; ++i) group.send();
  for (fabric::Port* port : {group.world.client_port.get(), group.world.server_port.get()}) {
    EXPECT_EQ(port->credits(ib::VirtualLane{0}), 65536u / 64);
  }
}

TEST(MulticastTest, leaving_ends_it_and_has_to_be_done) {
  Group group;
  EXPECT_EQ(group.attach(2), 0);
  EXPECT_EQ(group.attach(2), 0) << "joining twice is joining once";
  EXPECT_EQ(group.server.destroy(CommandType::kDestroyQp, group.members[2].qp.made.handle), EBUSY);
  EXPECT_EQ(group.change(2, CommandType::kDetachMulticast), 0);
  EXPECT_EQ(group.change(2, CommandType::kDetachMulticast), EINVAL);
  group.send();
  EXPECT_EQ(group.received(2), 0u);
  EXPECT_EQ(group.server.destroy(CommandType::kDestroyQp, group.members[2].qp.made.handle), 0);
}

TEST(MulticastTest, a_program_that_ends_leaves_its_groups) {
  Group group;
  EXPECT_EQ(group.attach(2) + group.attach(1), 0);
  group.world.server->close(group.server.context);
  group.send();
  EXPECT_EQ(group.received(1), 1u);
}

TEST(MulticastTest, what_is_no_group_is_refused) {
  Group group;
  EXPECT_EQ(group.change(2, CommandType::kAttachMulticast, 0x1000), EINVAL) << "a unicast LID";
  EXPECT_EQ(group.change(2, CommandType::kAttachMulticast, 0xffff), EINVAL) << "the permissive LID";
  EXPECT_EQ(group.change(2, CommandType::kAttachMulticast, kLid, 0xfe), EINVAL) << "a unicast GID";
  Pair pair;
  protocol::Multicast command{};
  command.qp = pair.a.qp.made.handle;
  command.lid = kLid;
  command.gid[0] = 0xff;
  EXPECT_EQ(pair.a.program.command(command, CommandType::kAttachMulticast), EINVAL) << "a connection";
}

// ibv_create_qp_ex(3): IBV_QP_CREATE_BLOCK_SELF_MCAST_LB.
TEST(MulticastTest, who_does_not_want_its_own_copies_gets_none) {
  constexpr std::uint32_t kBlockSelf = 1 << 1;
  Group group(kBlockSelf);
  for (const std::size_t member : {0u, 1u, 2u}) EXPECT_EQ(group.attach(member), 0);
  group.send();
  EXPECT_EQ(group.received(0), 0u);
  EXPECT_EQ(group.received(1), 1u);
  EXPECT_EQ(group.received(2), 1u);
}

}  // namespace
}  // namespace verbatim::test
