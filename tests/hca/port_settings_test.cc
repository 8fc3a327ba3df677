// Port settings made by a subnet manager: the events of programs, and the visible values (IBA 11.6.3.3).
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;

class PortSettingsTest : public testing::Test {
 protected:
  PortSettingsTest() {
    as_it_is.lid = ib::Lid{1};
    as_it_is.sm_lid = ib::Lid{1};
    as_it_is.subnet_prefix = 0;
    as_it_is.pkeys = {0xffff};
  }

  std::vector<AsyncEventType> told_of(const hca::PortConfiguration& to) {
    program.async_events.clear();
    world.client->configure(to);
    world.run();
    std::vector<AsyncEventType> types;
    for (const protocol::AsyncEvent& event : program.async_events) {
      EXPECT_EQ(event.element, 1u) << "the port";
      types.push_back(static_cast<AsyncEventType>(event.event_type));
    }
    return types;
  }
  ib::Gid gid(std::uint32_t index) {
    protocol::QueryGid query{};
    query.port = 1;
    query.index = index;
    EXPECT_EQ(program.command(query), 0);
    ib::Gid gid;
    std::memcpy(gid.raw, query.gid, sizeof gid.raw);
    return gid;
  }
  protocol::QueryPort port() {
    protocol::QueryPort query{};
    query.port = 1;
    EXPECT_EQ(program.command(query), 0);
    return query;
  }

  World world;
  Program program{world, *world.client};
  hca::PortConfiguration as_it_is;
};

using Types = std::vector<AsyncEventType>;

TEST_F(PortSettingsTest, what_is_set_as_it_was_is_not_told) { EXPECT_EQ(told_of(as_it_is), Types{}); }

TEST_F(PortSettingsTest, each_change_is_told_by_its_event) {
  hca::PortConfiguration to = as_it_is;
  to.lid = ib::Lid{9};
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kLidChange});
  to.sm_lid = ib::Lid{4};
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kSubnetManagerChange});
  to.pkeys = {0xffff, 0x8001};
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kPkeyChange});
  to.subnet_prefix = 0xfec0'0000'0000'0000;
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kGidChange});
  to.guids = {0, 0, 0x1234};
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kGidChange});
  to.asks_for_registration = true;
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kClientReregister});
  to.asks_for_registration = false;
  to.state = hca::PortState::kInit;
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kPortError});
  to.state = hca::PortState::kActive;
  EXPECT_EQ(told_of(to), Types{AsyncEventType::kPortActive});
  EXPECT_EQ(port().lid, 9);
  EXPECT_EQ(port().sm_lid, 4);
}

TEST_F(PortSettingsTest, who_has_left_and_who_has_no_link_hear_nothing) {
  hca::PortConfiguration to = as_it_is;
  to.lid = ib::Lid{9};
  world.client->leave(program.context);
  EXPECT_EQ(told_of(to), Types{});
  Program other(world, *world.client, 4096, 4 << 20, 101);
  set_link(*world.client_port, false);
  world.run();
  other.async_events.clear();
  to.lid = ib::Lid{1};
  world.client->configure(to);
  world.run();
  EXPECT_TRUE(other.async_events.empty());
}

// Prefix and GUID; an entry between them that the manager has left out is empty, and paths from it are
// invalid.
TEST_F(PortSettingsTest, guids_of_the_manager_are_gids_of_the_port) {
  hca::PortConfiguration to = as_it_is;
  to.subnet_prefix = 0xfec0'0000'0000'0000;
  to.guids = {0, 0, 0x1234};
  told_of(to);
  EXPECT_EQ(gid(0).raw[0], 0xfe);
  EXPECT_EQ(gid(0).raw[1], 0xc0);
  EXPECT_EQ(gid(0).raw[15], 1) << "the adapter's own";
  EXPECT_EQ(gid(1), ib::Gid{});
  EXPECT_EQ(gid(2).raw[0], 0xfe);
  EXPECT_EQ(gid(2).raw[14], 0x12);
  EXPECT_EQ(gid(2).raw[15], 0x34);
  const auto create_ah = [&](std::uint8_t index) {
    protocol::CreateAh create{};
    create.pd = program.pd;
    create.address.dlid = 2;
    create.address.port = 1;
    create.address.is_global = 1;
    create.address.sgid_index = index;
    return program.command(create);
  };
  EXPECT_EQ(create_ah(2), 0);
  EXPECT_EQ(create_ah(1), ENODATA);
  EXPECT_EQ(create_ah(3), ENODATA);
}

TEST_F(PortSettingsTest, the_time_of_the_subnet_is_the_managers) {
  EXPECT_EQ(port().subnet_timeout, 18);
  hca::PortConfiguration to = as_it_is;
  to.subnet_timeout = 20;
  EXPECT_EQ(told_of(to), Types{});
  EXPECT_EQ(port().subnet_timeout, 20);
}

}  // namespace
}  // namespace verbatim::test
