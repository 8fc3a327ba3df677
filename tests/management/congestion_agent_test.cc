#include "sim/management/congestion_agent.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/mad/fields.h"

namespace verbatim::management {
namespace {

namespace congestion = mad::congestion;

struct MarkingPorts final : CongestionHardware {
  void set_marking(std::uint8_t port, const ib::MarkingSetting& setting) override { marking[port] = setting; }
  void set_injection(const ib::InjectionSetting& setting) override { injection = setting; }
  ib::MarkingLog* marking_log() override { return &marks; }
  ib::InjectionLog* injection_log() override { return nullptr; }
  std::map<std::uint8_t, ib::MarkingSetting> marking;
  ib::InjectionSetting injection;
  ib::MarkingLog marks;
};

class CongestionAgentTest : public testing::Test {
 protected:
  explicit CongestionAgentTest(mad::smp::NodeType type = mad::smp::NodeType::kSwitch) {
    node.info.type = type;
    node.ports.resize(type == mad::smp::NodeType::kSwitch ? 36 : 2);
  }

  std::optional<ib::Mad> ask(std::uint8_t method, std::uint16_t attribute, const congestion::Data& data = {},
                             std::uint32_t modifier = 0, std::uint64_t key = 0, std::uint8_t class_version = 2) {
    ib::Mad mad{};
    mad::Header header;
    header.management_class = mad::kCongestionControl;
    header.class_version = class_version;
    header.method = method;
    header.attribute_id = attribute;
    header.attribute_modifier = modifier;
    header.transaction_id = 77;
    mad::put_header(mad, header);
    congestion::put_key(mad, key);
    congestion::put_data(mad, data);
    return agent.answer(mad, 1, now);
  }
  static std::uint16_t status(const std::optional<ib::Mad>& answer) {
    EXPECT_EQ(mad::header_of(answer.value()).method, mad::kGetResponse);
    return mad::header_of(*answer).status;
  }
  template <class Attribute>
  static Attribute read(const std::optional<ib::Mad>& answer) {
    return Attribute::decode(congestion::data_of(answer.value()));
  }
  static std::uint64_t number(const std::optional<ib::Mad>& answer, std::size_t byte, unsigned bits) {
    std::uint64_t value = 0;
    mad::FieldReader(answer.value()).number(byte, 0, bits, value);
    return value;
  }

  Instant now = instant_from_ps(2'048'000);
  Node node;
  MarkingPorts hardware;
  CongestionAgent agent{node, hardware};
};

class CongestionAgentOfAdapterTest : public CongestionAgentTest {
 protected:
  CongestionAgentOfAdapterTest() : CongestionAgentTest(mad::smp::NodeType::kChannelAdapter) {}
};

TEST_F(CongestionAgentTest, a_switch_setting_is_that_of_every_port) {
  congestion::SwitchSetting setting;
  setting.control_map = 0x1f;
  setting.threshold = 15;
  setting.packet_size = 8;
  setting.marking_rate = 3;
  congestion::set_port(setting.victim_mask, 2);
  const auto answer = ask(mad::kSet, congestion::kSwitchCongestionSetting, setting.encode());
  EXPECT_EQ(status(answer), 0);
  EXPECT_EQ(congestion::data_of(*answer), setting.encode()) << "OpenSM compares it with what it has sent";
  EXPECT_EQ(hardware.marking.size(), 35u) << "port 0 has no cable";
  EXPECT_EQ(hardware.marking[1], (ib::MarkingSetting{15, 8, 3, false}));
  EXPECT_EQ(hardware.marking[2], (ib::MarkingSetting{15, 8, 3, true}));
  EXPECT_EQ(congestion::data_of(*ask(mad::kGet, congestion::kSwitchCongestionSetting)), setting.encode());
}

TEST_F(CongestionAgentTest, the_control_map_says_what_is_set) {
  congestion::SwitchSetting setting;
  setting.control_map = congestion::SwitchSetting::kThreshold;
  setting.threshold = 15;
  setting.packet_size = 8;
  setting.marking_rate = 3;
  congestion::set_port(setting.victim_mask, 2);
  ask(mad::kSet, congestion::kSwitchCongestionSetting, setting.encode());
  EXPECT_EQ(hardware.marking[2], (ib::MarkingSetting{15, 8, 0, false}));
  setting = {};
  setting.control_map = congestion::SwitchSetting::kMarkingRate;
  setting.marking_rate = 9;
  ask(mad::kSet, congestion::kSwitchCongestionSetting, setting.encode());
  EXPECT_EQ(hardware.marking[2], (ib::MarkingSetting{15, 8, 9, false}));
}

TEST_F(CongestionAgentTest, a_valid_setting_of_a_port_counts_instead) {
  congestion::SwitchSetting all;
  all.control_map = 0x1f;
  all.threshold = 15;
  ask(mad::kSet, congestion::kSwitchCongestionSetting, all.encode());
  congestion::PortSettings ports;
  ports.elements[2] = {true, false, 1, 9, 700};   // port 34
  ports.elements[3] = {false, false, 2, 9, 700};  // not valid
  const auto answer = ask(mad::kSet, congestion::kSwitchPortCongestionSetting, ports.encode(), 1);
  EXPECT_EQ(status(answer), 0);
  EXPECT_EQ(hardware.marking[34], (ib::MarkingSetting{1, 9, 700, false}));
  EXPECT_EQ(hardware.marking[35], (ib::MarkingSetting{15, 0, 0, false}));
  EXPECT_EQ(hardware.marking[2], (ib::MarkingSetting{15, 0, 0, false}));
  const auto seen = read<congestion::PortSettings>(ask(mad::kGet, congestion::kSwitchPortCongestionSetting, {}, 1));
  EXPECT_EQ(seen.elements[2], ports.elements[2]);
  EXPECT_EQ(status(ask(mad::kSet, congestion::kSwitchPortCongestionSetting, ports.encode(), 2)), mad::kInvalidField);
  ask(mad::kSet, congestion::kSwitchPortCongestionSetting, congestion::PortSettings{}.encode(), 1);
  EXPECT_EQ(hardware.marking[34], (ib::MarkingSetting{15, 0, 0, false}));
}

TEST_F(CongestionAgentTest, a_log_that_is_read_begins_anew_and_keeps_its_events) {
  hardware.marks.events.add({ib::Lid{1}, ib::Lid{2}, ib::ServiceLevel{0}, instant_from_ps(1'024'000)});
  hardware.marks.ports.set(1);
  const auto first = ask(mad::kGet, congestion::kCongestionLog);
  EXPECT_EQ(number(first, 32, 32), 0x0100'0001u);
  EXPECT_EQ(number(first, 36, 32), 2u) << "ticks";
  EXPECT_EQ(number(first, 71, 8), 2u) << "port 1";
  EXPECT_EQ(number(first, 72, 32), 0x0001'0002u);
  const auto second = ask(mad::kGet, congestion::kCongestionLog);
  EXPECT_EQ(number(second, 32, 32), 0x0100'0000u);
  EXPECT_EQ(number(second, 71, 8), 0u);
  EXPECT_EQ(number(second, 72, 32), 0x0001'0002u);
}

TEST_F(CongestionAgentTest, what_is_not_there_is_refused) {
  EXPECT_EQ(status(ask(mad::kGet, congestion::kCaCongestionSetting)), mad::kUnsupportedAttribute);
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionControlTable)), mad::kUnsupportedAttribute);
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionInfo)), mad::kUnsupportedAttribute);
  EXPECT_EQ(status(ask(mad::kSet, congestion::kTimeStamp)), mad::kUnsupportedAttribute);
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionLog)), mad::kUnsupportedAttribute);
  EXPECT_EQ(status(ask(mad::kGet, 0x19)), mad::kUnsupportedAttribute);
  EXPECT_EQ(status(ask(mad::kTrap, congestion::kCongestionInfo)), mad::kUnsupportedMethod);
  EXPECT_EQ(status(ask(mad::kGet, congestion::kCongestionInfo, {}, 0, 0, 1)), mad::kBadVersion);
  EXPECT_EQ(status(ask(mad::kGet, congestion::kClassPortInfo)), 0);
  EXPECT_EQ(number(ask(mad::kGet, congestion::kClassPortInfo), 64, 16), 0x0102u) << "base and class version";
  EXPECT_EQ(number(ask(mad::kGet, congestion::kTimeStamp), 64, 32), 2u);
  EXPECT_EQ(mad::header_of(*ask(mad::kGet, 0x19)).transaction_id, 77u);
}

TEST_F(CongestionAgentTest, a_wrong_key_is_counted_and_gets_no_answer) {
  congestion::KeyInfo key{.key = 5};
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionKeyInfo, key.encode())), 0) << "without a key every key is right";
  EXPECT_FALSE(ask(mad::kSet, congestion::kSwitchCongestionSetting, {}, 0, 6).has_value());
  EXPECT_TRUE(ask(mad::kSet, congestion::kSwitchCongestionSetting, {}, 0, 5).has_value());
  EXPECT_TRUE(ask(mad::kGet, congestion::kCongestionInfo, {}, 0, 6).has_value()) << "not protected";
  const auto strangers = read<congestion::KeyInfo>(ask(mad::kGet, congestion::kCongestionKeyInfo, {}, 0, 6));
  EXPECT_EQ(strangers.key, 0u) << "is not shown";
  EXPECT_EQ(strangers.violations, 1u);
  key.is_protected = true;
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionKeyInfo, key.encode(), 0, 5)), 0);
  EXPECT_FALSE(ask(mad::kGet, congestion::kCongestionInfo, {}, 0, 6).has_value());
  const auto own = read<congestion::KeyInfo>(ask(mad::kGet, congestion::kCongestionKeyInfo, {}, 0, 5));
  EXPECT_EQ(own.key, 5u);
  EXPECT_EQ(own.violations, 1u) << "Set has written 0";
}

// The lease lasts from the first wrong key on; a right key ends it.
TEST_F(CongestionAgentTest, a_lease_that_has_passed_lets_any_manager_take_over) {
  const auto set = [&](std::uint64_t key) {
    return ask(mad::kSet, congestion::kSwitchCongestionSetting, {}, 0, key).has_value();
  };
  const congestion::KeyInfo key{.key = 5, .lease_period = 2};
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionKeyInfo, key.encode())), 0);
  now += std::chrono::seconds(10);
  EXPECT_FALSE(set(6)) << "the lease begins";
  now += std::chrono::milliseconds(1'999);
  EXPECT_FALSE(set(6));
  EXPECT_TRUE(set(5)) << "ends it";
  now += std::chrono::seconds(10);
  EXPECT_FALSE(set(6));
  now += std::chrono::seconds(2);
  EXPECT_TRUE(set(6)) << "to the picosecond";
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionKeyInfo, congestion::KeyInfo{.key = 7}.encode(), 0, 6)), 0);
  now += std::chrono::seconds(1'000);
  EXPECT_FALSE(set(5));
  now += std::chrono::seconds(1'000);
  EXPECT_FALSE(set(5)) << "period 0";
  EXPECT_TRUE(set(7));
}

TEST_F(CongestionAgentTest, class_port_info_keeps_where_traps_go) {
  congestion::TrapTarget target{.service_level = 3, .lid = 9, .pkey = 0x8001, .qp = 1, .qkey = 0x8001'0000};
  target.gid.raw[15] = 1;
  congestion::Data data = target.encode();
  data[0] = std::byte{9};
  const auto answer = ask(mad::kSet, congestion::kClassPortInfo, data);
  EXPECT_EQ(status(answer), 0);
  EXPECT_EQ(number(answer, 64, 16), 0x0102u) << "of the agent, whatever is set";
  EXPECT_EQ(number(answer, 66, 16), 1u) << "traps are sent";
  EXPECT_EQ(number(ask(mad::kGet, congestion::kClassPortInfo), 124, 32), 0x0009'8001u) << "TrapLID, TrapP_Key";
  EXPECT_EQ(agent.trap_target().service_level, 3);
  EXPECT_EQ(agent.trap_target().gid, target.gid);
}

TEST_F(CongestionAgentOfAdapterTest, settings_reach_the_port) {
  congestion::CaSetting setting;
  setting.port_control = 1;
  setting.control_map = 0x0003;
  setting.levels[0] = {.timer = 150, .increase = 1, .trigger_threshold = 2, .least = 3};
  setting.levels[2] = {.timer = 9, .increase = 9, .trigger_threshold = 9, .least = 9};
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCaCongestionSetting, setting.encode())), 0);
  EXPECT_TRUE(hardware.injection.is_by_level);
  EXPECT_EQ(hardware.injection.levels[0], setting.levels[0]);
  EXPECT_EQ(hardware.injection.levels[2], ib::InjectionSetting::Level{}) << "the control map leaves it out";
  congestion::TableBlock block;
  block.limit = 127;
  block.entries[1] = {2, 7};
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionControlTable, block.encode(), 1)), 0);
  EXPECT_EQ(hardware.injection.limit, 127u);
  EXPECT_EQ(hardware.injection.table[65], (ib::InjectionDelay{2, 7}));
  EXPECT_EQ(read<congestion::TableBlock>(ask(mad::kGet, congestion::kCongestionControlTable, {}, 1)).entries, block.entries);
  EXPECT_EQ(number(ask(mad::kGet, congestion::kCongestionInfo), 66, 8), 2u) << "blocks";
}

TEST_F(CongestionAgentOfAdapterTest, a_table_that_is_too_large_is_refused) {
  congestion::TableBlock block;
  block.limit = 128;
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionControlTable, block.encode())), mad::kInvalidField);
  EXPECT_EQ(status(ask(mad::kSet, congestion::kCongestionControlTable, {}, 2)), mad::kInvalidField);
  EXPECT_EQ(hardware.injection, ib::InjectionSetting{});
  EXPECT_EQ(status(ask(mad::kSet, congestion::kSwitchCongestionSetting)), mad::kUnsupportedAttribute);
  EXPECT_EQ(number(ask(mad::kGet, congestion::kCongestionLog), 32, 32), 0x0200'0000u) << "an empty log";
}

}  // namespace
}  // namespace verbatim::management
