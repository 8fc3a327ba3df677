#include "sim/mad/sa_records.h"

#include "sim/mad/fields.h"

namespace verbatim::mad::sa {

namespace {

template <class Fields, class Body>
void visit_message(Fields& fields, Body& message) {
  fields.number(36, 0, 64, message.sm_key);
  fields.number(44, 0, 16, message.attribute_offset);
  fields.number(48, 0, 64, message.component_mask);
  fields.bytes(56, message.data);
}

template <class Fields, class Record>
void visit_path(Fields& fields, Record& path) {
  fields.number(0, 0, 64, path.service_id);
  fields.gid(8, path.dgid);
  fields.gid(24, path.sgid);
  fields.number(40, 0, 16, path.dlid);
  fields.number(42, 0, 16, path.slid);
  fields.number(44, 0, 1, path.raw_traffic);
  fields.number(44, 4, 20, path.flow_label);
  fields.number(47, 0, 8, path.hop_limit);
  fields.number(48, 0, 8, path.traffic_class);
  fields.number(49, 0, 1, path.reversible);
  fields.number(49, 1, 7, path.numb_path);
  fields.number(50, 0, 16, path.pkey);
  fields.number(52, 0, 12, path.qos_class);
  fields.number(53, 4, 4, path.sl);
  fields.number(54, 0, 2, path.mtu_selector);
  fields.number(54, 2, 6, path.mtu);
  fields.number(55, 0, 2, path.rate_selector);
  fields.number(55, 2, 6, path.rate);
  fields.number(56, 0, 2, path.packet_life_time_selector);
  fields.number(56, 2, 6, path.packet_life_time);
  fields.number(57, 0, 8, path.preference);
}

template <class Fields, class Record>
void visit_member(Fields& fields, Record& member) {
  fields.gid(0, member.mgid);
  fields.gid(16, member.port_gid);
  fields.number(32, 0, 32, member.qkey);
  fields.number(36, 0, 16, member.mlid);
  fields.number(38, 0, 2, member.mtu_selector);
  fields.number(38, 2, 6, member.mtu);
  fields.number(39, 0, 8, member.traffic_class);
  fields.number(40, 0, 16, member.pkey);
  fields.number(42, 0, 2, member.rate_selector);
  fields.number(42, 2, 6, member.rate);
  fields.number(43, 0, 2, member.packet_life_time_selector);
  fields.number(43, 2, 6, member.packet_life_time);
  fields.number(44, 0, 4, member.sl);
  fields.number(44, 4, 20, member.flow_label);
  fields.number(47, 0, 8, member.hop_limit);
  fields.number(48, 0, 4, member.scope);
  fields.number(48, 4, 4, member.join_state);
  fields.number(49, 0, 1, member.proxy_join);
}

}  // namespace

ib::Mad encode(const Message& message) {
  ib::Mad mad{};
  Header header = message.header;
  header.base_version = 1;
  header.management_class = kSubnetAdministration;
  header.class_version = kClassVersion;
  put_header(mad, header);
  FieldWriter writer(mad);
  visit_message(writer, message);
  return mad;
}

std::optional<Message> decode(const ib::Mad& mad) {
  Message message;
  message.header = header_of(mad);
  const Header& header = message.header;
  if (header.base_version != 1 || header.management_class != kSubnetAdministration || header.class_version != kClassVersion)
    return std::nullopt;
  FieldReader reader(mad);
  visit_message(reader, message);
  return message;
}

std::array<std::byte, PathRecord::kBytes> PathRecord::encode() const {
  std::array<std::byte, kBytes> bytes{};
  FieldWriter writer(bytes);
  visit_path(writer, *this);
  return bytes;
}

PathRecord PathRecord::decode(std::span<const std::byte, kBytes> bytes) {
  PathRecord path;
  FieldReader reader(bytes);
  visit_path(reader, path);
  return path;
}

std::array<std::byte, McMemberRecord::kBytes> McMemberRecord::encode() const {
  std::array<std::byte, kBytes> bytes{};
  FieldWriter writer(bytes);
  visit_member(writer, *this);
  return bytes;
}

McMemberRecord McMemberRecord::decode(std::span<const std::byte, kBytes> bytes) {
  McMemberRecord member;
  FieldReader reader(bytes);
  visit_member(reader, member);
  return member;
}

}  // namespace verbatim::mad::sa
