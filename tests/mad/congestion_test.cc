// Attributes of congestion control: each field has the offset that libibmad uses, and reading returns what
// was written.
#include "sim/mad/congestion.h"

#include <gtest/gtest.h>

#include "sim/mad/fields.h"

namespace verbatim::mad::congestion {
namespace {

std::uint64_t number(std::span<const std::byte> bytes, std::size_t bit, unsigned bits) {
  std::uint64_t value = 0;
  FieldReader(bytes).number(bit / 8, bit % 8, bits, value);
  return value;
}

TEST(CongestionAttributes, of_switches_are_where_libibmad_has_them) {
  SwitchSetting setting;
  setting.control_map = 0x15;
  set_port(setting.victim_mask, 0);
  set_port(setting.victim_mask, 9);
  set_port(setting.credit_mask, 254);
  setting.threshold = 0xa;
  setting.packet_size = 8;
  setting.starvation_threshold = 3;
  setting.starvation_delay = 0x4321;
  setting.marking_rate = 0x1234;
  const Data data = setting.encode();
  EXPECT_EQ(number(data, 0, 32), 0x15u);
  EXPECT_EQ(number(data, 32 + 256 - 16, 16), 0x0201u) << "the last bit is port 0";
  EXPECT_EQ(number(data, 288, 8), 0x40u);
  EXPECT_EQ(number(data, 544, 4), 0xau);
  EXPECT_EQ(number(data, 552, 8), 8u);
  EXPECT_EQ(number(data, 560, 4), 3u);
  EXPECT_EQ(number(data, 576, 16), 0x4321u);
  EXPECT_EQ(number(data, 592, 16), 0x1234u);
  const SwitchSetting read = SwitchSetting::decode(data);
  EXPECT_EQ(read.encode(), data);
  EXPECT_TRUE(has_port(read.victim_mask, 9) && has_port(read.victim_mask, 0) && !has_port(read.victim_mask, 1));

  PortSettings ports;
  ports.elements[2] = {true, false, 15, 9, 700};
  const Data of_ports = ports.encode();
  EXPECT_EQ(number(of_ports, 64, 32), 0x8f0902bcu);
  EXPECT_EQ(PortSettings::decode(of_ports).elements[2], ports.elements[2]);
}

TEST(CongestionAttributes, of_adapters_are_where_libibmad_has_them) {
  CaSetting setting;
  setting.port_control = 1;
  setting.control_map = 0x8001;
  setting.levels[1] = {.timer = 150, .increase = 2, .trigger_threshold = 3, .least = 4};
  const Data data = setting.encode();
  EXPECT_EQ(number(data, 0, 32), 0x18001u);
  EXPECT_EQ(number(data, 32 + 64, 64), 0x0096'0203'0400'0000u);
  EXPECT_EQ(CaSetting::decode(data).levels, setting.levels);

  TableBlock block;
  block.limit = 127;
  block.entries[0] = {3, 0x3fff};
  block.entries[63] = {1, 2};
  const Data table = block.encode();
  EXPECT_EQ(number(table, 0, 32), 127u << 16);
  EXPECT_EQ(number(table, 32, 16), 0xffffu);
  EXPECT_EQ(number(table, 32 + 63 * 16, 16), 0x4002u);
  EXPECT_EQ(TableBlock::decode(table).entries, block.entries);
}

TEST(CongestionAttributes, key_and_capabilities_are_where_libibmad_has_them) {
  const Data data = KeyInfo{.key = 0x1122334455667788, .is_protected = true, .lease_period = 5, .violations = 6}.encode();
  EXPECT_EQ(number(data, 0, 64), 0x1122334455667788u);
  EXPECT_EQ(number(data, 64, 48), 0x8000'0005'0006u);
  EXPECT_TRUE(KeyInfo::decode(data).is_protected);
  EXPECT_EQ(number(Info{.capabilities = 1, .table_blocks = 2}.encode(), 0, 24), 0x000102u);
  ib::Mad mad{};
  put_key(mad, 7);
  EXPECT_EQ(key_of(mad), 7u);
  EXPECT_EQ(mad[31], std::byte{7});
}

TEST(CongestionAttributes, logs_tell_the_newest_event_first) {
  constexpr std::int64_t kTick = 1'024'000;
  ib::MarkingLog marks;
  for (std::uint16_t i = 0; i < 20; ++i) {
    marks.events.add({ib::Lid{i}, ib::Lid{99}, ib::ServiceLevel{5}, instant_from_ps(i * kTick)});
  }
  marks.ports.set(3);
  const LogData of_switch = encode_log(marks, instant_from_ps(50 * kTick + 1));
  EXPECT_EQ(number(of_switch, 0, 64), 0x01'00'0014'0000'0032u) << "of a switch, 20 events, at 50 ticks";
  EXPECT_EQ(number(of_switch, 64 + 248, 8), 8u);
  EXPECT_EQ(number(of_switch, 320, 32), 19u << 16 | 99u);
  EXPECT_EQ(number(of_switch, 352, 32), 5u << 28);
  EXPECT_EQ(number(of_switch, 384, 32), 19u);
  EXPECT_EQ(number(of_switch, 320 + 14 * 96, 16), 5u) << "the last of 15";

  ib::InjectionLog delays;
  delays.events.add({ib::Qpn{0x123456}, ib::Qpn{0xabcdef}, ib::Lid{7}, ib::ServiceLevel{4}, 3, instant_from_ps(9 * kTick)});
  delays.levels = 0x10;
  const LogData of_adapter = encode_log(delays, 6, instant_from_ps(10 * kTick));
  EXPECT_EQ(number(of_adapter, 0, 64), 0x02'00'0001'0010'0000u);
  EXPECT_EQ(number(of_adapter, 64, 32), 10u);
  EXPECT_EQ(number(of_adapter, 96, 32), 0x12345643u);
  EXPECT_EQ(number(of_adapter, 128, 32), 0xabcdef00u);
  EXPECT_EQ(number(of_adapter, 160, 64), 0x0006'0007'0000'0009u);
}

}  // namespace
}  // namespace verbatim::mad::congestion
