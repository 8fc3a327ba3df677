#include "sim/management/subnet_agent.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "sim/mad/fields.h"

namespace verbatim::management {
namespace {

using mad::smp::PortInfo;
using mad::smp::PortState;

struct Hardware final : NodeHardware {
  void on_port_set(std::uint8_t port) override { ports.push_back(port); }
  void on_turn_lanes_set(std::uint8_t in, std::uint8_t out) override { turns.emplace_back(in, out); }
  void on_arbitration_set(std::uint8_t port) override { arbitrations.push_back(port); }
  void set_link(std::uint8_t, bool up) override { links.push_back(up); }
  void on_forwarding_set() override { ++forwarding; }
  void on_multicast_set() override { ++multicast; }
  ib::KeyViolations& key_violations(std::uint8_t port) override { return violations[port]; }
  std::array<ib::KeyViolations, 4> violations;
  std::vector<std::uint8_t> ports, arbitrations;
  std::vector<bool> links;
  int forwarding = 0, multicast = 0;
  std::vector<std::pair<std::uint8_t, std::uint8_t>> turns;
};

class SubnetAgentTest : public testing::Test {
 protected:
  SubnetAgentTest() {
    node.info.type = mad::smp::NodeType::kSwitch;
    node.info.port_count = 3;
    node.description = "leaf0";
    node.ports.resize(4);
    for (NodePort& port : node.ports) {
      port.info.state = PortState::kInit;
      port.info.physical_state = mad::smp::PhysicalState::kLinkUp;
      port.pkeys.assign(32, 0);
      port.guids.assign(8, 0);
    }
    node.ports[0].info.lid = 5;
  }

  std::optional<ib::Mad> ask(std::uint8_t method, std::uint16_t attribute, std::uint32_t modifier,
                             const mad::smp::Data& data = {}, std::uint64_t key = 0) {
    ib::Mad mad{};
    mad::Header header;
    header.management_class = mad::kSubnetManagementLid;
    header.class_version = 1;
    header.method = method;
    header.attribute_id = attribute;
    header.attribute_modifier = modifier;
    mad::put_header(mad, header);
    mad::FieldWriter(mad).number(24, 0, 64, key);
    mad::smp::put_data(mad, data);
    return agent.answer(mad, 2);
  }
  static std::uint16_t status(const std::optional<ib::Mad>& answer) { return mad::header_of(answer.value()).status; }

  Node node;
  Hardware hardware;
  SubnetAgent agent{node, hardware};
};

TEST_F(SubnetAgentTest, tells_the_node_and_the_port_that_was_come_in_by) {
  const auto answer = ask(mad::kGet, mad::smp::kNodeInfo, 0);
  const auto info = mad::smp::NodeInfo::decode(mad::smp::data_of(answer.value()));
  EXPECT_EQ(info.type, mad::smp::NodeType::kSwitch);
  EXPECT_EQ(info.local_port, 2);
  EXPECT_EQ(mad::header_of(*answer).method, mad::kGetResponse);
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kNodeInfo, 0)), mad::kUnsupportedMethod);
  EXPECT_EQ(status(ask(mad::kGet, 0x99, 0)), mad::kUnsupportedAttribute);
}

TEST_F(SubnetAgentTest, a_table_of_arbitration_that_is_set_reaches_the_hardware) {
  mad::smp::Data low{};
  low[0] = low[1] = std::byte{3};
  EXPECT_EQ(status(ask(mad::kGet, mad::smp::kVlArbitrationTable, 1u << 16 | 2)), 0);
  EXPECT_TRUE(hardware.arbitrations.empty());
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kVlArbitrationTable, 1u << 16 | 2, low)), 0);
  EXPECT_EQ(hardware.arbitrations, (std::vector<std::uint8_t>{2}));
  EXPECT_EQ(node.ports[2].vl_arbitration[0], low);
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kVlArbitrationTable, 5u << 16 | 2, low)), mad::kInvalidField);
}

// IBA 7.2.7: Init, Armed, Active; no state can be skipped.
TEST_F(SubnetAgentTest, a_port_becomes_active_step_by_step) {
  PortInfo to = node.ports[1].info;
  to.state = PortState::kActive;
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kPortInfo, 1, to.encode())), mad::kInvalidField);
  to.state = PortState::kArmed;
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kPortInfo, 1, to.encode())), 0);
  to.state = PortState::kActive;
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kPortInfo, 1, to.encode())), 0);
  EXPECT_TRUE(node.ports[1].is_active());
  EXPECT_EQ(hardware.ports, (std::vector<std::uint8_t>{1, 1, 1}));
  to.state = PortState::kDown;
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kPortInfo, 1, to.encode())), 0);
  EXPECT_EQ(hardware.links, (std::vector<bool>{false, true}));
}

TEST_F(SubnetAgentTest, a_lid_that_is_none_is_refused) {
  PortInfo to = node.ports[0].info;
  to.state = PortState::kNoChange;
  for (const std::uint16_t lid : {0, 0xc000, 0xffff}) {
    to.lid = lid;
    EXPECT_EQ(status(ask(mad::kSet, mad::smp::kPortInfo, 0, to.encode())), mad::kInvalidField);
  }
  EXPECT_EQ(node.ports[0].info.lid, 5);
  EXPECT_EQ(status(ask(mad::kGet, mad::smp::kPortInfo, 4)), mad::kInvalidField);
}

// IBA 14.2.4.2.
TEST_F(SubnetAgentTest, who_has_another_key_may_read_as_far_as_the_port_lets_him) {
  node.ports[0].info.mkey = 77;
  const auto key_seen = [&] { return PortInfo::decode(mad::smp::data_of(ask(mad::kGet, mad::smp::kPortInfo, 0).value())).mkey; };
  EXPECT_EQ(key_seen(), 77u);
  node.ports[0].info.mkey_protect_bits = 1;
  EXPECT_EQ(key_seen(), 0u);
  EXPECT_FALSE(ask(mad::kSet, mad::smp::kSwitchInfo, 0));
  node.ports[0].info.mkey_protect_bits = 2;
  EXPECT_FALSE(ask(mad::kGet, mad::smp::kPortInfo, 0));
  EXPECT_EQ(hardware.violations[0].mkey.value(), 2);
  EXPECT_TRUE(ask(mad::kGet, mad::smp::kPortInfo, 0, {}, 77));
}

// IBA 14.2.5.6: counters stay at their maximum until they are set.
TEST_F(SubnetAgentTest, violations_of_keys_are_shown_and_set) {
  ib::KeyViolations& counted = hardware.violations[0];
  counted.mkey.set(0xffff);
  counted.mkey.count();
  counted.pkey.count();
  counted.qkey.set(9);
  PortInfo shown = PortInfo::decode(mad::smp::data_of(ask(mad::kGet, mad::smp::kPortInfo, 0).value()));
  EXPECT_EQ(shown.mkey_violations, 0xffff);
  EXPECT_EQ(shown.pkey_violations, 1);
  EXPECT_EQ(shown.qkey_violations, 9);
  shown.state = PortState::kNoChange;
  shown.physical_state = mad::smp::PhysicalState::kNoChange;
  shown.mkey_violations = 0;
  shown.pkey_violations = 0;
  shown.qkey_violations = 8;
  const auto answer = ask(mad::kSet, mad::smp::kPortInfo, 0, shown.encode());
  EXPECT_EQ(status(answer), 0);
  EXPECT_EQ(counted.mkey.value(), 0);
  EXPECT_EQ(counted.pkey.value(), 0);
  EXPECT_EQ(counted.qkey.value(), 8);
  EXPECT_EQ(PortInfo::decode(mad::smp::data_of(*answer)).qkey_violations, 8);
  EXPECT_EQ(PortInfo::decode(mad::smp::data_of(ask(mad::kGet, mad::smp::kPortInfo, 1).value())).qkey_violations, 0)
      << "of another port";
}

// GUIDs that a subnet manager adds become GIDs of the port.
TEST_F(SubnetAgentTest, guids_that_are_set_reach_the_hardware) {
  mad::smp::Data guids{};
  mad::FieldWriter(guids).number(8, 0, 64, std::uint64_t{0x1234});
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kGuidInfo, 0, guids)), 0);
  EXPECT_EQ(node.ports[0].guids[1], 0x1234u);
  EXPECT_EQ(hardware.ports, (std::vector<std::uint8_t>{0}));
}

TEST_F(SubnetAgentTest, forwarding_tables_are_written_by_blocks) {
  mad::smp::Data block;
  block.fill(std::byte{255});
  block[5] = std::byte{2};
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kLinearForwardingTable, 3, block)), 0);
  EXPECT_EQ(hardware.forwarding, 1);
  EXPECT_EQ(node.forwarding.at(3 * 64 + 5), 2);
  EXPECT_EQ(node.forwarding.at(0), kNoPort);
  EXPECT_EQ(mad::smp::data_of(ask(mad::kGet, mad::smp::kLinearForwardingTable, 3).value()), block);
  EXPECT_EQ(status(ask(mad::kGet, mad::smp::kLinearForwardingTable, 0xffff'ffff)), mad::kInvalidField);
}

TEST_F(SubnetAgentTest, multicast_tables_are_written_by_masks_of_ports) {
  mad::smp::Data block{};
  block[3] = std::byte{0b1010};  // the second group: ports 1 and 3
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kMulticastForwardingTable, 0, block)), 0);
  EXPECT_TRUE(node.multicast.at(1)[1] && node.multicast.at(1)[3] && !node.multicast.at(1)[2]);
  EXPECT_EQ(mad::smp::data_of(ask(mad::kGet, mad::smp::kMulticastForwardingTable, 0).value()), block);
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kMulticastForwardingTable, 1u << 28, block)), mad::kInvalidField);
}

TEST_F(SubnetAgentTest, keys_and_lanes_are_of_the_port_that_the_modifier_names) {
  mad::smp::Data data{};
  data[0] = data[1] = std::byte{0xff};
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kPkeyTable, 3u << 16, data)), 0);
  EXPECT_EQ(node.ports[3].pkeys[0], 0xffff);
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kPkeyTable, 9u << 16, data)), mad::kInvalidField);
  data[0] = std::byte{0x12};
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kSlToVlTable, 1u << 8 | 3, data)), 0);
  EXPECT_EQ(node.ports[3].sl_to_vl[1], 2);
}

// IBA 14.2.5.8: the map belongs to an input and an output.
TEST_F(SubnetAgentTest, lanes_are_of_a_pair_of_ports) {
  const auto lane = [&](std::uint32_t in) {
    return std::to_integer<int>(mad::smp::data_of(ask(mad::kGet, mad::smp::kSlToVlTable, in << 8 | 3).value())[0]) >> 4;
  };
  mad::smp::Data data{};
  data[0] = std::byte{0x10};
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kSlToVlTable, 1u << 8 | 3, data)), 0);
  EXPECT_EQ(lane(1), 1);
  EXPECT_EQ(lane(2), 1) << "has none of its own";
  data[0] = std::byte{0x20};
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kSlToVlTable, 2u << 8 | 3, data)), 0);
  EXPECT_EQ(lane(1), 1);
  EXPECT_EQ(lane(2), 2);
  EXPECT_EQ(hardware.turns, (std::vector<std::pair<std::uint8_t, std::uint8_t>>{{1, 3}, {2, 3}}));
  EXPECT_EQ(status(ask(mad::kSet, mad::smp::kSlToVlTable, 9u << 8 | 3, data)), mad::kInvalidField);
}

}  // namespace
}  // namespace verbatim::management
