#include "sim/mad/notice.h"

#include <algorithm>

#include "sim/mad/congestion.h"
#include "sim/mad/fields.h"
#include "sim/mad/smp.h"

namespace verbatim::mad {

namespace {

template <class Fields, class Attribute>
void visit_notice(Fields& fields, Attribute& notice) {
  fields.number(0, 0, 1, notice.is_generic);
  fields.number(0, 1, 7, notice.type);
  fields.number(1, 0, 24, notice.producer_type);
  fields.number(4, 0, 16, notice.trap_number);
  fields.number(6, 0, 16, notice.issuer_lid);
  fields.number(8, 0, 1, notice.notice_toggle);
  fields.number(8, 1, 15, notice.notice_count);
  fields.bytes(10, notice.details);
  fields.gid(64, notice.issuer_gid);
}

// One overload per kind of details; the last parameter only selects it.
template <class Fields, class Details>
void visit(Fields& fields, Details& details, const GidDetails*) {
  fields.gid(6, details.gid);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const LinkStateDetails*) {
  fields.number(0, 0, 16, details.lid);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const PortDetails*) {
  fields.number(2, 0, 16, details.lid);
  fields.number(4, 0, 8, details.port_number);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const CapabilityDetails*) {
  fields.number(2, 0, 16, details.lid);
  fields.number(5, 7, 1, details.has_other_changes);
  fields.number(6, 0, 32, details.capability_mask);
  fields.number(11, 2, 6, details.other_changes);
  fields.number(12, 0, 16, details.capability_mask2);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const SystemImageDetails*) {
  fields.number(2, 0, 16, details.lid);
  fields.number(6, 0, 64, details.system_image_guid);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const BadMKeyDetails*) {
  fields.number(2, 0, 16, details.lid);
  fields.number(4, 0, 16, details.dr_slid);
  fields.number(6, 0, 8, details.method);
  fields.number(8, 0, 16, details.attribute_id);
  fields.number(10, 0, 32, details.attribute_modifier);
  fields.number(14, 0, 64, details.mkey);
  fields.number(23, 0, 1, details.dr_notice);
  fields.number(23, 1, 1, details.dr_path_truncated);
  fields.number(23, 2, 6, details.dr_hop_count);
  fields.bytes(24, details.dr_notice_return_path);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const BadCongestionKeyDetails*) {
  fields.number(0, 0, 16, details.source_lid);
  fields.number(2, 0, 8, details.method);
  fields.number(4, 0, 16, details.attribute_id);
  fields.number(6, 0, 32, details.attribute_modifier);
  fields.number(10, 0, 32, details.qp);
  fields.number(14, 0, 64, details.key);
  fields.gid(22, details.source_gid);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const BadKeyDetails*) {
  fields.number(2, 0, 16, details.lid1);
  fields.number(4, 0, 16, details.lid2);
  fields.number(6, 0, 32, details.key);
  fields.number(10, 0, 4, details.sl);
  fields.number(11, 0, 24, details.qp1);
  fields.number(15, 0, 24, details.qp2);
  fields.gid(18, details.gid1);
  fields.gid(34, details.gid2);
}

template <class Fields, class Details>
void visit(Fields& fields, Details& details, const BadPKeyAtSwitchDetails*) {
  fields.number(0, 0, 16, details.data_valid);
  fields.number(2, 0, 16, details.lid1);
  fields.number(4, 0, 16, details.lid2);
  fields.number(6, 0, 16, details.pkey);
  fields.number(8, 0, 4, details.sl);
  fields.number(9, 0, 24, details.qp1);
  fields.number(13, 0, 24, details.qp2);
  fields.gid(16, details.gid1);
  fields.gid(32, details.gid2);
  fields.number(48, 0, 16, details.switch_lid);
  fields.number(50, 0, 8, details.port_number);
}

Notice bad_key_notice(std::uint16_t trap, std::uint16_t issuer_lid, const ib::KeyViolation& violation) {
  BadKeyDetails details;
  details.lid1 = violation.source_lid.value;
  details.lid2 = violation.destination_lid.value;
  details.key = violation.key;
  details.sl = violation.service_level.value;
  details.qp1 = violation.source_qp.value;
  details.qp2 = violation.destination_qp.value;
  details.gid1 = violation.source_gid;
  details.gid2 = violation.destination_gid;
  Notice notice;
  notice.type = Notice::Type::kSecurity;
  notice.trap_number = trap;
  notice.issuer_lid = issuer_lid;
  notice.details = encode_details(details);
  return notice;
}

}  // namespace

std::array<std::byte, Notice::kBytes> Notice::encode() const {
  std::array<std::byte, kBytes> bytes{};
  FieldWriter writer(bytes);
  visit_notice(writer, *this);
  return bytes;
}

Notice Notice::decode(std::span<const std::byte, kBytes> bytes) {
  Notice notice;
  FieldReader reader(bytes);
  visit_notice(reader, notice);
  return notice;
}

template <class Details>
NoticeDetails encode_details(const Details& details) {
  NoticeDetails bytes{};
  FieldWriter writer(bytes);
  visit(writer, details, static_cast<const Details*>(nullptr));
  return bytes;
}

template <class Details>
Details decode_details(const NoticeDetails& bytes) {
  Details details;
  FieldReader reader(bytes);
  visit(reader, details, static_cast<const Details*>(nullptr));
  return details;
}

Notice bad_pkey_notice(std::uint16_t issuer_lid, const ib::KeyViolation& violation) {
  return bad_key_notice(BadKeyDetails::kBadPKey, issuer_lid, violation);
}

Notice bad_qkey_notice(std::uint16_t issuer_lid, const ib::KeyViolation& violation) {
  return bad_key_notice(BadKeyDetails::kBadQKey, issuer_lid, violation);
}

Notice capability_notice(const CapabilityDetails& details) {
  Notice notice;
  notice.trap_number = CapabilityDetails::kTrap;
  notice.issuer_lid = details.lid;
  notice.details = encode_details(details);
  return notice;
}

Notice link_state_notice(std::uint16_t issuer_lid) {
  Notice notice;
  notice.type = Notice::Type::kUrgent;
  notice.producer_type = Notice::kSwitch;
  notice.trap_number = LinkStateDetails::kTrap;
  notice.issuer_lid = issuer_lid;
  notice.details = encode_details(LinkStateDetails{issuer_lid});
  return notice;
}

Notice bad_mkey_notice(Notice::Producer producer, std::uint16_t issuer_lid, const ib::Mad& request, std::uint16_t source) {
  const Header header = header_of(request);
  BadMKeyDetails details;
  details.lid = source;
  details.method = header.method;
  details.attribute_id = header.attribute_id;
  details.attribute_modifier = header.attribute_modifier;
  details.mkey = smp::mkey_of(request);
  if (header.management_class == kSubnetManagementDirected) {
    const smp::DirectedRoute route = smp::DirectedRoute::of(request);
    details.dr_slid = route.drslid;
    details.dr_notice = true;
    details.dr_path_truncated = route.hop_count > details.dr_notice_return_path.size();
    const std::size_t hops = std::min<std::size_t>(route.hop_count, details.dr_notice_return_path.size());
    details.dr_hop_count = static_cast<std::uint8_t>(hops);
    for (std::size_t i = 0; i < hops; ++i) details.dr_notice_return_path[i] = std::byte{route.return_path[i]};
  }
  Notice notice;
  notice.type = Notice::Type::kSecurity;
  notice.producer_type = producer;
  notice.trap_number = BadMKeyDetails::kTrap;
  notice.issuer_lid = issuer_lid;
  notice.details = encode_details(details);
  return notice;
}

Notice bad_congestion_key_notice(Notice::Producer producer, std::uint16_t issuer_lid, const ib::ManagementDatagram& request) {
  const Header header = header_of(request.mad);
  BadCongestionKeyDetails details;
  details.source_lid = request.lid.value;
  details.method = header.method;
  details.attribute_id = header.attribute_id;
  details.attribute_modifier = header.attribute_modifier;
  details.qp = request.remote_queue.value;
  details.key = congestion::key_of(request.mad);
  if (request.grh) details.source_gid = request.grh->source;
  Notice notice;
  notice.type = Notice::Type::kSecurity;
  notice.producer_type = producer;
  notice.trap_number = BadCongestionKeyDetails::kTrap;
  notice.issuer_lid = issuer_lid;
  notice.details = encode_details(details);
  return notice;
}

#define VERBATIM_NOTICE_DETAILS(Details)                        \
  template NoticeDetails encode_details(const Details& details); \
  template Details decode_details(const NoticeDetails& bytes);
VERBATIM_NOTICE_DETAILS(GidDetails)
VERBATIM_NOTICE_DETAILS(LinkStateDetails)
VERBATIM_NOTICE_DETAILS(PortDetails)
VERBATIM_NOTICE_DETAILS(CapabilityDetails)
VERBATIM_NOTICE_DETAILS(SystemImageDetails)
VERBATIM_NOTICE_DETAILS(BadMKeyDetails)
VERBATIM_NOTICE_DETAILS(BadCongestionKeyDetails)
VERBATIM_NOTICE_DETAILS(BadKeyDetails)
VERBATIM_NOTICE_DETAILS(BadPKeyAtSwitchDetails)
#undef VERBATIM_NOTICE_DETAILS

}  // namespace verbatim::mad
