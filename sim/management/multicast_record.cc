#include "sim/management/multicast_record.h"

#include <algorithm>
#include <cstring>

#include "sim/ib/lid_ranges.h"
#include "sim/mad/sa_records.h"

namespace verbatim::management {

using mad::sa::McMemberRecord;

namespace {

constexpr std::uint8_t kFullMember = 1;
constexpr std::uint16_t kInvalidRequest = 0x0200;  // ERR_REQ_INVALID

ib::Mad message_of(const McMemberRecord& record, std::uint8_t method, std::uint64_t mask) {
  mad::sa::Message message;
  message.header.method = method;
  message.header.attribute_id = McMemberRecord::kAttribute;
  message.component_mask = mask;
  std::ranges::copy(record.encode(), message.data.begin());
  return mad::sa::encode(message);
}

McMemberRecord record_in(const mad::sa::Message& message) {
  return McMemberRecord::decode(std::span(message.data).first<McMemberRecord::kBytes>());
}

// Attributes of the group in a member's record.
void describe(McMemberRecord& record, const Membership& facts) {
  constexpr std::uint8_t kExactly = 2;
  record.mgid = facts.group;
  record.qkey = facts.qkey;
  record.mlid = facts.lid.value;
  record.pkey = facts.pkey;
  record.mtu = facts.mtu;
  record.rate = facts.rate;
  record.mtu_selector = record.rate_selector = record.packet_life_time_selector = kExactly;
  record.packet_life_time = 18;
  record.scope = 2;
}

}  // namespace

ib::Mad encode_join(const ib::Gid& group, const ib::Gid& port, std::uint16_t pkey, std::uint32_t qkey) {
  McMemberRecord record;
  record.mgid = group;
  record.port_gid = port;
  record.pkey = pkey;
  record.qkey = qkey;
  record.join_state = kFullMember;
  return message_of(record, mad::kSet,
                    McMemberRecord::kMgid | McMemberRecord::kPortGid | McMemberRecord::kPkey | McMemberRecord::kQkey |
                        McMemberRecord::kSl | McMemberRecord::kFlowLabel | McMemberRecord::kTrafficClass |
                        McMemberRecord::kJoinState);
}

ib::Mad encode_leave(const ib::Gid& group, const ib::Gid& port) {
  McMemberRecord record;
  record.mgid = group;
  record.port_gid = port;
  record.join_state = kFullMember;
  return message_of(record, mad::kDelete, McMemberRecord::kMgid | McMemberRecord::kPortGid | McMemberRecord::kJoinState);
}

std::optional<Membership> decode_join_answer(const ib::Mad& mad) {
  const auto message = mad::sa::decode(mad);
  if (!message || message->header.method != mad::kGetResponse || message->header.attribute_id != McMemberRecord::kAttribute ||
      message->header.status != 0)
    return std::nullopt;
  const McMemberRecord record = record_in(*message);
  Membership membership;
  membership.group = record.mgid;
  membership.lid = ib::Lid{record.mlid};
  membership.qkey = record.qkey;
  membership.pkey = record.pkey;
  membership.mtu = record.mtu;
  membership.rate = record.rate;
  membership.service_level = record.sl;
  membership.traffic_class = record.traffic_class;
  membership.hop_limit = record.hop_limit;
  membership.flow_label = record.flow_label;
  return membership;
}

MulticastGroups::Key MulticastGroups::key_of(const ib::Gid& gid) {
  Key key;
  std::memcpy(key.data(), gid.raw, key.size());
  return key;
}

std::vector<std::byte> MulticastGroups::Group::record(const Key& member) const {
  McMemberRecord record;
  describe(record, facts);
  std::memcpy(record.port_gid.raw, member.data(), member.size());
  record.join_state = kFullMember;
  const auto bytes = record.encode();
  return {bytes.begin(), bytes.end()};
}

std::vector<std::vector<std::byte>> MulticastGroups::records() const {
  std::vector<std::vector<std::byte>> records;
  for (const auto& [name, group] : groups_) {
    for (const Key& member : group.members) records.push_back(group.record(member));
  }
  return records;
}

std::optional<ib::Mad> MulticastGroups::answer(const ib::Mad& mad, std::uint8_t mtu, std::uint8_t rate) {
  auto message = mad::sa::decode(mad);
  if (!message || message->header.attribute_id != McMemberRecord::kAttribute) return std::nullopt;
  const std::uint8_t method = message->header.method;
  if (method != mad::kSet && method != mad::kDelete) return std::nullopt;
  McMemberRecord record = record_in(*message);
  message->header.method = method == mad::kSet ? mad::kGetResponse : mad::kDeleteResponse;
  auto found = groups_.find(key_of(record.mgid));
  if (method == mad::kDelete) {
    if (found == groups_.end() || found->second.members.erase(key_of(record.port_gid)) == 0) {
      message->header.status = kInvalidRequest;
    } else if (found->second.members.empty()) {
      lids_.erase(found->second.facts.lid.value);
      groups_.erase(found);
    }
    return mad::sa::encode(*message);
  }
  if (found == groups_.end()) {
    std::uint16_t lid = ib::kFirstMulticastLid.value;
    while (lids_.contains(lid)) ++lid;
    if (!ib::is_multicast(ib::Lid{lid})) {
      message->header.status = kInvalidRequest;
      return mad::sa::encode(*message);
    }
    // IBA 15.2.5.17.3: the administrator assigns a transient, link-local MGID.
    if (record.mgid == ib::Gid{}) {
      ++made_;
      record.mgid.raw[0] = 0xff;
      record.mgid.raw[1] = 0x12;
      record.mgid.raw[2] = 0xa0;
      record.mgid.raw[3] = 0x1c;
      for (int i = 0; i < 4; ++i) record.mgid.raw[15 - i] = static_cast<std::uint8_t>(made_ >> 8 * i);
    }
    lids_.insert(lid);
    Membership facts;
    facts.group = record.mgid;
    facts.lid = ib::Lid{lid};
    facts.qkey = record.qkey;
    facts.pkey = record.pkey;
    facts.mtu = mtu;
    facts.rate = rate;
    found = groups_.emplace(key_of(record.mgid), Group{facts, {}}).first;
  }
  Group& group = found->second;
  group.members.insert(key_of(record.port_gid));
  describe(record, group.facts);
  message->data = {};
  std::ranges::copy(record.encode(), message->data.begin());
  return mad::sa::encode(*message);
}

}  // namespace verbatim::management
