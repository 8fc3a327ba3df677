#include "sim/mad/congestion.h"

#include <algorithm>
#include <cstring>

#include "sim/mad/fields.h"

namespace verbatim::mad::congestion {

namespace {

constexpr std::size_t kKeyOffset = 24;
constexpr std::uint8_t kSwitchLog = 1, kAdapterLog = 2;

template <class Fields, class Info>
void visit_key(Fields& fields, Info& info) {
  fields.number(0, 0, 64, info.key);
  fields.number(8, 0, 1, info.is_protected);
  fields.number(10, 0, 16, info.lease_period);
  fields.number(12, 0, 16, info.violations);
}

constexpr std::uint8_t kResponseTime = 18;
constexpr std::uint16_t kSendsTraps = 1;  // bit of ClassPortInfo's capability mask

template <class Fields, class Target>
void visit_trap_target(Fields& fields, Target& target) {
  fields.gid(40, target.gid);
  fields.number(56, 0, 8, target.traffic_class);
  fields.number(57, 0, 4, target.service_level);
  fields.number(57, 4, 20, target.flow_label);
  fields.number(60, 0, 16, target.lid);
  fields.number(62, 0, 16, target.pkey);
  fields.number(64, 0, 8, target.hop_limit);
  fields.number(65, 0, 24, target.qp);
  fields.number(68, 0, 32, target.qkey);
}

template <class Fields, class Setting>
void visit_switch(Fields& fields, Setting& setting) {
  fields.number(0, 0, 32, setting.control_map);
  fields.bytes(4, setting.victim_mask);
  fields.bytes(36, setting.credit_mask);
  fields.number(68, 0, 4, setting.threshold);
  fields.number(69, 0, 8, setting.packet_size);
  fields.number(70, 0, 4, setting.starvation_threshold);
  fields.number(72, 0, 16, setting.starvation_delay);
  fields.number(74, 0, 16, setting.marking_rate);
}

template <class Fields, class Settings>
void visit_ports(Fields& fields, Settings& settings) {
  std::size_t at = 0;
  for (auto& element : settings.elements) {
    fields.number(at, 0, 1, element.is_valid);
    fields.number(at, 1, 1, element.is_starvation);
    fields.number(at, 4, 4, element.threshold);
    fields.number(at + 1, 0, 8, element.packet_size);
    fields.number(at + 2, 0, 16, element.marking_rate);
    at += 4;
  }
}

template <class Fields, class Setting>
void visit_ca(Fields& fields, Setting& setting) {
  fields.number(0, 0, 16, setting.port_control);
  fields.number(2, 0, 16, setting.control_map);
  std::size_t at = 4;
  for (auto& level : setting.levels) {
    fields.number(at, 0, 16, level.timer);
    fields.number(at + 2, 0, 8, level.increase);
    fields.number(at + 3, 0, 8, level.trigger_threshold);
    fields.number(at + 4, 0, 8, level.least);
    at += 8;
  }
}

template <class Fields, class Block>
void visit_table(Fields& fields, Block& block) {
  fields.number(0, 0, 16, block.limit);
  std::size_t at = 4;
  for (auto& entry : block.entries) {
    fields.number(at, 0, 2, entry.shift);
    fields.number(at, 2, 14, entry.multiplier);
    at += 2;
  }
}

template <class Attribute, class Visit>
Data encode_with(const Attribute& attribute, Visit visit) {
  Data data{};
  FieldWriter writer(data);
  visit(writer, attribute);
  return data;
}

template <class Attribute, class Visit>
Attribute decode_with(std::span<const std::byte> bytes, Visit visit) {
  Attribute attribute;
  const FieldReader reader(bytes);
  visit(reader, attribute);
  return attribute;
}

constexpr std::size_t byte_of(std::uint8_t port) { return 31 - port / 8; }
constexpr std::byte bit_of(std::uint8_t port) { return std::byte(1u << port % 8); }

std::uint16_t counted(std::uint64_t events) { return static_cast<std::uint16_t>(std::min<std::uint64_t>(events, 0xffff)); }

}  // namespace

std::uint64_t key_of(const ib::Mad& mad) {
  std::uint64_t key = 0;
  FieldReader(mad).number(kKeyOffset, 0, 64, key);
  return key;
}
void put_key(ib::Mad& mad, std::uint64_t key) { FieldWriter(mad).number(kKeyOffset, 0, 64, key); }
Data data_of(const ib::Mad& mad) {
  Data data;
  std::copy_n(mad.begin() + kDataOffset, data.size(), data.begin());
  return data;
}
void put_data(ib::Mad& mad, const Data& data) { std::ranges::copy(data, mad.begin() + kDataOffset); }
void put_log(ib::Mad& mad, const LogData& log) { std::ranges::copy(log, mad.begin() + kLogOffset); }

bool has_port(const PortMask& mask, std::uint8_t port) { return (mask[byte_of(port)] & bit_of(port)) != std::byte{0}; }
void set_port(PortMask& mask, std::uint8_t port) { mask[byte_of(port)] |= bit_of(port); }

Data KeyInfo::encode() const {
  return encode_with(*this, [](auto& fields, auto& info) { visit_key(fields, info); });
}
KeyInfo KeyInfo::decode(std::span<const std::byte> bytes) {
  return decode_with<KeyInfo>(bytes, [](auto& fields, auto& info) { visit_key(fields, info); });
}
Data TrapTarget::encode() const {
  return encode_with(*this, [](auto& fields, auto& target) {
    fields.number(0, 0, 8, 1u);
    fields.number(1, 0, 8, kClassVersion);
    fields.number(2, 0, 16, kSendsTraps);
    fields.number(7, 3, 5, kResponseTime);
    visit_trap_target(fields, target);
  });
}
TrapTarget TrapTarget::decode(std::span<const std::byte> bytes) {
  return decode_with<TrapTarget>(bytes, [](auto& fields, auto& target) { visit_trap_target(fields, target); });
}
Data Info::encode() const {
  return encode_with(*this, [](auto& fields, auto& info) {
    fields.number(0, 0, 16, info.capabilities);
    fields.number(2, 0, 8, info.table_blocks);
  });
}
Data SwitchSetting::encode() const {
  return encode_with(*this, [](auto& fields, auto& setting) { visit_switch(fields, setting); });
}
SwitchSetting SwitchSetting::decode(std::span<const std::byte> bytes) {
  return decode_with<SwitchSetting>(bytes, [](auto& fields, auto& setting) { visit_switch(fields, setting); });
}
Data PortSettings::encode() const {
  return encode_with(*this, [](auto& fields, auto& settings) { visit_ports(fields, settings); });
}
PortSettings PortSettings::decode(std::span<const std::byte> bytes) {
  return decode_with<PortSettings>(bytes, [](auto& fields, auto& settings) { visit_ports(fields, settings); });
}
Data CaSetting::encode() const {
  return encode_with(*this, [](auto& fields, auto& setting) { visit_ca(fields, setting); });
}
CaSetting CaSetting::decode(std::span<const std::byte> bytes) {
  return decode_with<CaSetting>(bytes, [](auto& fields, auto& setting) { visit_ca(fields, setting); });
}
Data TableBlock::encode() const {
  return encode_with(*this, [](auto& fields, auto& block) { visit_table(fields, block); });
}
TableBlock TableBlock::decode(std::span<const std::byte> bytes) {
  return decode_with<TableBlock>(bytes, [](auto& fields, auto& block) { visit_table(fields, block); });
}

Data encode_time_stamp(std::uint32_t ticks) {
  Data data{};
  FieldWriter(data).number(0, 0, 32, ticks);
  return data;
}

std::uint32_t ticks_of(Instant now) { return static_cast<std::uint32_t>(to_ps(now) / ib::kCongestionTick.count()); }

LogData encode_log(const ib::MarkingLog& log, Instant now) {
  LogData data{};
  FieldWriter fields(data);
  fields.number(0, 0, 8, kSwitchLog);
  fields.number(2, 0, 16, counted(log.events.unread()));
  fields.number(4, 0, 32, ticks_of(now));
  PortMask ports{};
  for (std::uint32_t port = 0; port < log.ports.size(); ++port) {
    if (log.ports[port]) set_port(ports, static_cast<std::uint8_t>(port));
  }
  fields.bytes(8, ports);
  std::size_t at = 40;
  log.events.visit([&](const ib::MarkingEvent& event) {
    fields.number(at, 0, 16, event.source);
    fields.number(at + 2, 0, 16, event.destination);
    fields.number(at + 4, 0, 4, event.service_level);
    fields.number(at + 8, 0, 32, ticks_of(event.when));
    at += 12;
  });
  return data;
}

LogData encode_log(const ib::InjectionLog& log, std::uint16_t own_lid, Instant now) {
  LogData data{};
  FieldWriter fields(data);
  fields.number(0, 0, 8, kAdapterLog);
  fields.number(2, 0, 16, counted(log.events.unread()));
  fields.number(4, 0, 16, log.levels);
  fields.number(8, 0, 32, ticks_of(now));
  std::size_t at = 12;
  log.events.visit([&](const ib::InjectionEvent& event) {
    fields.number(at, 0, 24, event.local);
    fields.number(at + 3, 0, 4, event.service_level);
    fields.number(at + 3, 4, 4, event.service_type);
    fields.number(at + 4, 0, 24, event.remote);
    fields.number(at + 8, 0, 16, own_lid);
    fields.number(at + 10, 0, 16, event.remote_lid);
    fields.number(at + 12, 0, 32, ticks_of(event.when));
    at += 16;
  });
  return data;
}

}  // namespace verbatim::mad::congestion
