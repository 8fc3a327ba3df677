// Multicast groups: every member gets a copy, on the sender's adapter too; others get nothing. By LID on InfiniBand, by the
// station address that follows from the GID on Ethernet.
#include <gtest/gtest.h>

#include "sim/ib/group_address.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using protocol::CommandType;

constexpr std::uint16_t kLid = 0xc123;

// Two datagram queue pairs on either side of a switch.
struct Group {
  // `first_flags`: ibv_qp_create_flags of the client's first.
  explicit Group(std::uint32_t first_flags = 0, bool roce = false)
      : world(with_switch(roce)), client(world, *world.client), server(world, *world.server) {
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
  static WorldOptions with_switch(bool roce) {
    WorldOptions options;
    options.with_switch = true;
    options.roce = roce;
    if (roce) options.link.header_bytes = 62;
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
  // Datagrams that a member has received since the previous call.
  std::size_t received(std::size_t member) {
    std::size_t count = 0;
    for (const auto& entry : members[member].program->drain(members[member].cq)) {
      count += entry.queue != protocol::CqeQueue::kSend && entry.status == 0 && entry.byte_length == 140 ? 1 : 0;
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

class MulticastOnBothLinks : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Roce, MulticastOnBothLinks, ::testing::Bool());

TEST_P(MulticastOnBothLinks, every_member_gets_a_copy_and_nobody_else) {
  for (unsigned joined = 0; joined < 16; ++joined) {
    Group group(0, GetParam());
    for (std::size_t i = 0; i < 4; ++i) {
      if ((joined >> i & 1) != 0) {
        EXPECT_EQ(group.attach(i), 0);
      }
    }
    group.send();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(group.received(i), joined >> i & 1) << joined << " " << i;
  }
}

TEST_P(MulticastOnBothLinks, buffers_along_the_way_are_free_again) {
  Group group(0, GetParam());
  EXPECT_EQ(group.attach(2), 0);
  for (int i = 0; i < 100; ++i) group.send();
  for (fabric::Port* port : {group.world.client_port.get(), group.world.server_port.get()}) {
    EXPECT_EQ(port->credits(ib::VirtualLane{0}), 65536u / 64);
  }
}

TEST_P(MulticastOnBothLinks, leaving_ends_it_and_has_to_be_done) {
  Group group(0, GetParam());
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

TEST(MulticastTest, on_ethernet_the_lid_says_nothing_and_a_connection_cannot_lead_to_a_group) {
  Group group(0, true);
  EXPECT_EQ(group.change(2, CommandType::kAttachMulticast, 0), 0);
  EXPECT_EQ(group.change(2, CommandType::kAttachMulticast, kLid), 0) << "the same group";
  EXPECT_EQ(group.change(2, CommandType::kDetachMulticast, 1), 0);
  EXPECT_EQ(group.change(2, CommandType::kDetachMulticast, 0), EINVAL);
  EXPECT_EQ(group.change(2, CommandType::kAttachMulticast, kLid, 0xfe), EINVAL) << "a unicast GID";
  const Qp qp = group.client.create_qp(group.members[0].cq, group.members[0].cq);
  PathOptions path;
  path.is_global = true;
  EXPECT_EQ(group.client.to_init(qp, path), 0);
  protocol::QpAttributes attributes{};
  attributes.qp_state = static_cast<std::uint32_t>(ib::QpState::kRtr);
  attributes.path.port = 1;
  attributes.path.is_global = 1;
  attributes.path.dgid[0] = 0xff;
  attributes.path_mtu = 3;
  EXPECT_EQ(group.client.modify(qp, ib::kQpState | ib::kQpAv | ib::kQpPathMtu | ib::kQpDestQpn | ib::kQpRqPsn |
                                        ib::kQpMaxDestRdAtomic | ib::kQpMinRnrTimer, attributes), EINVAL);
}

TEST(GroupAddressTest, station_addresses_follow_from_the_gid) {
  const auto gid = [](std::initializer_list<std::uint8_t> first, std::uint8_t a, std::uint8_t b, std::uint8_t c,
                      std::uint8_t d) {
    ib::Gid made;
    std::copy(first.begin(), first.end(), made.raw);
    const std::uint8_t last[] = {a, b, c, d};
    std::copy(last, last + 4, made.raw + 12);
    return made;
  };
  const std::initializer_list<std::uint8_t> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  EXPECT_EQ(ib::group_mac(gid({0xff, 0x0e}, 0x12, 0x34, 0x56, 0x78)).value, 0x3333'1234'5678u);
  EXPECT_EQ(ib::group_mac(gid(kMapped, 239, 0x81, 2, 3)).value, 0x0100'5e01'0203u);
  EXPECT_TRUE(ib::is_multicast(gid(kMapped, 224, 0, 0, 0)) && ib::is_multicast(gid(kMapped, 239, 255, 255, 255)));
  EXPECT_FALSE(ib::is_multicast(gid(kMapped, 223, 1, 2, 3)) || ib::is_multicast(gid(kMapped, 240, 1, 2, 3)));
  EXPECT_FALSE(ib::is_multicast(gid({0xfe, 0x80}, 239, 1, 2, 3)));
}

// ibv_create_qp_ex(3): IBV_QP_CREATE_BLOCK_SELF_MCAST_LB.
TEST_P(MulticastOnBothLinks, who_does_not_want_its_own_copies_gets_none) {
  constexpr std::uint32_t kBlockSelf = 1 << 1;
  Group group(kBlockSelf, GetParam());
  for (const std::size_t member : {0u, 1u, 2u}) EXPECT_EQ(group.attach(member), 0);
  group.send();
  EXPECT_EQ(group.received(0), 0u);
  EXPECT_EQ(group.received(1), 1u);
  EXPECT_EQ(group.received(2), 1u);
}

}  // namespace
}  // namespace verbatim::test
