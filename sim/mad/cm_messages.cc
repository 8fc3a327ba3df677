#include "sim/mad/cm_messages.h"

#include "sim/mad/fields.h"

namespace verbatim::mad::cm {

namespace {

// Positions are counted from the end of the common header.
template <class Fields, class Info>
void visit_path(Fields& fields, std::size_t at, Info& path) {
  fields.number(at, 0, 16, path.local_lid);
  fields.number(at + 2, 0, 16, path.remote_lid);
  fields.gid(at + 4, path.local_gid);
  fields.gid(at + 20, path.remote_gid);
  fields.number(at + 36, 0, 20, path.flow_label);
  fields.number(at + 39, 2, 6, path.packet_rate);
  fields.number(at + 40, 0, 8, path.traffic_class);
  fields.number(at + 41, 0, 8, path.hop_limit);
  fields.number(at + 42, 0, 4, path.sl);
  fields.number(at + 42, 4, 1, path.subnet_local);
  fields.number(at + 43, 0, 5, path.local_ack_timeout);
}

template <class Fields, class Message>
void visit_ids(Fields& fields, Message& message) {
  fields.number(0, 0, 32, message.local_comm_id);
  fields.number(4, 0, 32, message.remote_comm_id);
}

// One overload per message; the last parameter only selects it.
template <class Fields, class Message>
void visit(Fields& fields, Message& req, const Req*) {
  fields.number(0, 0, 32, req.local_comm_id);
  fields.number(5, 0, 24, req.vendor_id);
  fields.number(8, 0, 64, req.service_id);
  fields.number(16, 0, 64, req.local_ca_guid);
  fields.number(28, 0, 32, req.local_qkey);
  fields.number(32, 0, 24, req.local_qpn);
  fields.number(35, 0, 8, req.responder_resources);
  fields.number(36, 0, 24, req.local_eecn);
  fields.number(39, 0, 8, req.initiator_depth);
  fields.number(40, 0, 24, req.remote_eecn);
  fields.number(43, 0, 5, req.remote_cm_response_timeout);
  fields.number(43, 5, 2, req.transport_service_type);
  fields.number(43, 7, 1, req.end_to_end_flow_control);
  fields.number(44, 0, 24, req.starting_psn);
  fields.number(47, 0, 5, req.local_cm_response_timeout);
  fields.number(47, 5, 3, req.retry_count);
  fields.number(48, 0, 16, req.pkey);
  fields.number(50, 0, 4, req.path_mtu);
  fields.number(50, 4, 1, req.rdc_exists);
  fields.number(50, 5, 3, req.rnr_retry_count);
  fields.number(51, 0, 4, req.max_cm_retries);
  fields.number(51, 4, 1, req.srq);
  fields.number(51, 5, 3, req.extended_transport_type);
  visit_path(fields, 52, req.primary);
  visit_path(fields, 96, req.alternate);
  fields.bytes(140, req.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& mra, const Mra*) {
  visit_ids(fields, mra);
  fields.number(8, 0, 2, mra.message);
  fields.number(9, 0, 5, mra.service_timeout);
  fields.bytes(10, mra.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& rej, const Rej*) {
  visit_ids(fields, rej);
  fields.number(8, 0, 2, rej.message_rejected);
  fields.number(9, 0, 7, rej.info_length);
  fields.number(10, 0, 16, rej.reason);
  fields.bytes(12, rej.additional_info);
  fields.bytes(84, rej.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& rep, const Rep*) {
  visit_ids(fields, rep);
  fields.number(8, 0, 32, rep.local_qkey);
  fields.number(12, 0, 24, rep.local_qpn);
  fields.number(15, 0, 8, rep.vendor_id[0]);
  fields.number(16, 0, 24, rep.local_eecn);
  fields.number(19, 0, 8, rep.vendor_id[1]);
  fields.number(20, 0, 24, rep.starting_psn);
  fields.number(23, 0, 8, rep.vendor_id[2]);
  fields.number(24, 0, 8, rep.responder_resources);
  fields.number(25, 0, 8, rep.initiator_depth);
  fields.number(26, 0, 5, rep.target_ack_delay);
  fields.number(26, 5, 2, rep.failover_accepted);
  fields.number(26, 7, 1, rep.end_to_end_flow_control);
  fields.number(27, 0, 3, rep.rnr_retry_count);
  fields.number(27, 3, 1, rep.srq);
  fields.number(28, 0, 64, rep.local_ca_guid);
  fields.bytes(36, rep.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& rtu, const Rtu*) {
  visit_ids(fields, rtu);
  fields.bytes(8, rtu.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& dreq, const Dreq*) {
  visit_ids(fields, dreq);
  fields.number(8, 0, 24, dreq.remote_qpn);
  fields.bytes(12, dreq.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& drep, const Drep*) {
  visit_ids(fields, drep);
  fields.bytes(8, drep.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& request, const SidrReq*) {
  fields.number(0, 0, 32, request.request_id);
  fields.number(4, 0, 16, request.pkey);
  fields.number(8, 0, 64, request.service_id);
  fields.bytes(16, request.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& reply, const SidrRep*) {
  fields.number(0, 0, 32, reply.request_id);
  fields.number(4, 0, 8, reply.status);
  fields.number(5, 0, 8, reply.info_length);
  fields.number(8, 0, 24, reply.qpn);
  fields.number(12, 0, 64, reply.service_id);
  fields.number(20, 0, 32, reply.qkey);
  fields.bytes(24, reply.additional_info);
  fields.bytes(96, reply.private_data);
}

// The path has another layout than those of a REQ.
template <class Fields, class Message>
void visit(Fields& fields, Message& lap, const Lap*) {
  visit_ids(fields, lap);
  fields.number(12, 0, 24, lap.remote_qpn);
  fields.number(15, 0, 5, lap.remote_cm_response_timeout);
  auto& path = lap.alternate;
  fields.number(20, 0, 16, path.local_lid);
  fields.number(22, 0, 16, path.remote_lid);
  fields.gid(24, path.local_gid);
  fields.gid(40, path.remote_gid);
  fields.number(56, 0, 20, path.flow_label);
  fields.number(59, 0, 8, path.traffic_class);
  fields.number(60, 0, 8, path.hop_limit);
  fields.number(61, 2, 6, path.packet_rate);
  fields.number(62, 0, 4, path.sl);
  fields.number(62, 4, 1, path.subnet_local);
  fields.number(63, 0, 5, path.local_ack_timeout);
  fields.bytes(64, lap.private_data);
}

template <class Fields, class Message>
void visit(Fields& fields, Message& apr, const Apr*) {
  visit_ids(fields, apr);
  fields.number(8, 0, 8, apr.info_length);
  fields.number(9, 0, 8, apr.status);
  fields.bytes(12, apr.additional_info);
  fields.bytes(84, apr.private_data);
}

}  // namespace

template <class Message>
ib::Mad encode(const Message& message, std::uint64_t transaction) {
  ib::Mad mad{};
  Header header;
  header.management_class = kCommunicationManagement;
  header.class_version = kClassVersion;
  header.method = kSend;
  header.transaction_id = transaction;
  header.attribute_id = Message::kAttribute;
  if constexpr (requires { message.ece_options; }) header.attribute_modifier = message.ece_options;
  put_header(mad, header);
  FieldWriter writer{std::span(mad).subspan(kHeaderBytes)};
  visit(writer, message, static_cast<const Message*>(nullptr));
  return mad;
}

template <class Message>
std::optional<Message> decode(const ib::Mad& mad) {
  const Header header = header_of(mad);
  if (header.base_version != 1 || header.management_class != kCommunicationManagement || header.class_version != kClassVersion ||
      header.method != kSend || header.attribute_id != Message::kAttribute)
    return std::nullopt;
  Message message;
  FieldReader reader{std::span(mad).subspan(kHeaderBytes)};
  visit(reader, message, static_cast<const Message*>(nullptr));
  if constexpr (requires { message.ece_options; }) message.ece_options = header.attribute_modifier;
  return message;
}

#define VERBATIM_CM_MESSAGE(Message)                          \
  template ib::Mad encode(const Message&, std::uint64_t);     \
  template std::optional<Message> decode(const ib::Mad& mad);
VERBATIM_CM_MESSAGE(Req)
VERBATIM_CM_MESSAGE(Mra)
VERBATIM_CM_MESSAGE(Rej)
VERBATIM_CM_MESSAGE(Rep)
VERBATIM_CM_MESSAGE(Rtu)
VERBATIM_CM_MESSAGE(Dreq)
VERBATIM_CM_MESSAGE(Drep)
VERBATIM_CM_MESSAGE(SidrReq)
VERBATIM_CM_MESSAGE(SidrRep)
VERBATIM_CM_MESSAGE(Lap)
VERBATIM_CM_MESSAGE(Apr)
#undef VERBATIM_CM_MESSAGE

}  // namespace verbatim::mad::cm
