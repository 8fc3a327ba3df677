#include "sim/cm/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sim/cm/connection_manager.h"

namespace verbatim::cm {

using namespace mad::cm;

namespace {

// The values of Linux's rdma_cm: 4.3 s for an answer, fifteen repetitions, and 68 s more after an MRA.
constexpr std::uint8_t kResponseTimeout = 20;
constexpr std::uint8_t kMaxRetries = 15;
constexpr std::uint8_t kMraTimeout = 24;
constexpr std::uint32_t kUnreliable = 1;

// IBA 12.7.34: time for a packet and its acknowledgement, which is twice the packet life time plus the
// adapter's delay, as a code.
std::uint8_t ack_timeout_of(std::uint8_t ack_delay, std::uint8_t packet_life_time) {
  int timeout = packet_life_time + 1;
  if (timeout >= ack_delay) {
    timeout += ack_delay >= timeout - 1 ? 1 : 0;
  } else {
    timeout = ack_delay + (timeout >= ack_delay - 1 ? 1 : 0);
  }
  return static_cast<std::uint8_t>(std::min(timeout, 31));
}

template <class Field>
void fill(Field& field, const PrivateData& bytes) {
  std::copy(bytes.begin(), bytes.end(), field.begin());
}

template <class Field>
PrivateData all_of(const Field& field) {
  return {field.begin(), field.end()};
}

}  // namespace

Connection::Connection(ConnectionManager& manager, ConnectionOwner* owner)
    : manager_(manager),
      owner_(owner),
      local_id_(manager.add(*this)),
      timer_(Timer::of<&Connection::on_timer>(manager.engine_, manager.source_, EventClass::kSupervisor, this)) {}

Connection::~Connection() {
  owner_ = nullptr;
  switch (state_) {
    case ConnectionState::kReqSent:
    case ConnectionState::kMraReqReceived:
      send_reject(RejReason::kTimeout, {});
      break;
    case ConnectionState::kReqReceived:
    case ConnectionState::kMraReqSent:
    case ConnectionState::kRepSent:
    case ConnectionState::kMraRepReceived:
    case ConnectionState::kRepReceived:
    case ConnectionState::kMraRepSent:
      send_reject(RejReason::kConsumerReject, {});
      break;
    case ConnectionState::kEstablished:
      send_disconnect();
      break;
    case ConnectionState::kDreqReceived:
      send_disconnect_reply();
      break;
    case ConnectionState::kSidrReqReceived:
      send_sidr_reply(SidrStatus::kRejectedByServiceProvider, 0, 0, {});
      break;
    default:
      break;
  }
  manager_.remove(*this);
}

template <class Message>
ib::ManagementDatagram Connection::datagram_of(const Message& message) const {
  ib::ManagementDatagram datagram = towards_peer_;
  datagram.mad = encode(message, transaction_);
  return datagram;
}

std::uint32_t Connection::remote_qpn() const {
  switch (state_) {
    case ConnectionState::kIdle:
    case ConnectionState::kReqSent:
    case ConnectionState::kMraReqReceived:
    case ConnectionState::kTimeWait:
    case ConnectionState::kSidrReqSent:
    case ConnectionState::kSidrReqReceived:
      return 0;
    default:
      return negotiated_.remote_qpn;
  }
}

// Adds both communication identifiers.
template <class Message>
ib::ManagementDatagram Connection::named(Message message) const {
  message.local_comm_id = local_id_;
  message.remote_comm_id = remote_id_;
  return datagram_of(message);
}

void Connection::notify_owner(ConnectionEvent event) {
  if (owner_ != nullptr) owner_->on_connection_event(*this, event);
}

void Connection::send_until_answered(ib::ManagementDatagram datagram, std::int64_t timeout_ms) {
  stop_retrying();
  manager_.port_.send(datagram);
  unanswered_ = std::move(datagram);
  tries_left_ = retries_;
  retry_ms_ = timeout_ms;
  timer_.schedule_after(std::chrono::milliseconds(timeout_ms));
}

void Connection::stop_retrying() {
  timer_.cancel();
  unanswered_.reset();
}

void Connection::on_timer() {
  if (state_ == ConnectionState::kTimeWait) {
    state_ = ConnectionState::kIdle;
    has_waited_ = true;
    return notify_owner(ConnectionEvent::Kind::kTimeWaitOver);
  }
  if (!unanswered_) return;
  if (tries_left_ > 0) {
    --tries_left_;
    manager_.port_.send(*unanswered_);
    timer_.schedule_after(std::chrono::milliseconds(retry_ms_));
    return;
  }
  unanswered_.reset();
  switch (state_) {
    case ConnectionState::kReqSent:
    case ConnectionState::kMraReqReceived:
    case ConnectionState::kSidrReqSent:
      state_ = ConnectionState::kIdle;
      return notify_owner(ConnectionEvent::Kind::kUnanswered);
    case ConnectionState::kRepSent:
    case ConnectionState::kMraRepReceived:
      state_ = ConnectionState::kIdle;
      return notify_owner(ConnectionEvent::Kind::kUnanswered);
    case ConnectionState::kDreqSent:
      enter_time_wait();
      return notify_owner(ConnectionEvent{.kind = ConnectionEvent::Kind::kDisconnected, .timed_out = true});
    default:
      return;
  }
}

// Lasts until no packet of the old connection can be in flight.
void Connection::enter_time_wait() {
  stop_retrying();
  state_ = ConnectionState::kTimeWait;
  timer_.schedule_after(std::chrono::milliseconds(management::milliseconds_of(negotiated_.ack_timeout)));
}

int Connection::send_request(const RequestParameters& parameters) {
  if (state_ != ConnectionState::kIdle || parameters.private_data.size() > request_.private_data.size()) return EINVAL;
  path_ = parameters.path;
  towards_peer_ = path_.datagram();
  transaction_ = std::uint64_t{local_id_} << 8 | 1;
  Req& request = request_;
  request.local_comm_id = local_id_;
  request.service_id = parameters.service_id;
  request.local_ca_guid = manager_.guid();
  request.local_qpn = parameters.qpn;
  request.vendor_id = parameters.ece_vendor;
  request.ece_options = parameters.ece_options;
  request.responder_resources = parameters.responder_resources;
  request.initiator_depth = parameters.initiator_depth;
  request.remote_cm_response_timeout = kResponseTimeout;
  request.transport_service_type = parameters.transport;
  request.end_to_end_flow_control = parameters.flow_control;
  request.starting_psn = parameters.starting_psn;
  request.local_cm_response_timeout = kResponseTimeout;
  request.retry_count = parameters.retry_count;
  request.pkey = path_.pkey;
  request.path_mtu = path_.mtu;
  request.rnr_retry_count = parameters.rnr_retry_count;
  request.max_cm_retries = kMaxRetries;
  request.srq = parameters.srq;
  PathInfo& primary = request.primary;
  constexpr std::uint16_t kPermissive = 0xffff;  // IBA 12.7.11: on Ethernet
  primary.local_lid = path_.slid.value != 0 ? path_.slid.value : kPermissive;
  primary.remote_lid = path_.dlid.value != 0 ? path_.dlid.value : kPermissive;
  primary.local_gid = path_.sgid;
  primary.remote_gid = path_.dgid;
  primary.flow_label = path_.flow_label;
  primary.packet_rate = path_.rate;
  primary.traffic_class = path_.traffic_class;
  primary.hop_limit = path_.hop_limit;
  primary.sl = path_.service_level;
  primary.subnet_local = path_.hop_limit <= 1;
  primary.local_ack_timeout = ack_timeout_of(manager_.ack_delay(), path_.packet_life_time);
  fill(request.private_data, parameters.private_data);
  negotiated_.receive_psn = parameters.starting_psn;
  negotiated_.retry_count = parameters.retry_count;
  negotiated_.responder_resources = parameters.responder_resources;
  negotiated_.initiator_depth = parameters.initiator_depth;
  negotiated_.ack_timeout = primary.local_ack_timeout;
  negotiated_.mtu = path_.mtu;
  timeout_ms_ = 2 * management::milliseconds_of(path_.packet_life_time) + management::milliseconds_of(kResponseTimeout);
  retries_ = kMaxRetries;
  state_ = ConnectionState::kReqSent;
  send_until_answered(datagram_of(request), timeout_ms_);
  return 0;
}

void Connection::begin_as_responder(const Req& request, const ib::ManagementDatagram& from) {
  request_ = request;
  is_responder_ = true;
  remote_id_ = request.local_comm_id;
  remote_guid_ = request.local_ca_guid;
  transaction_ = mad::header_of(from.mad).transaction_id;
  manager_.add_remote(*this);
  towards_peer_ = from;
  if (towards_peer_.grh) std::swap(towards_peer_.grh->source, towards_peer_.grh->destination);
  // The reverse path. Its LIDs are those of the packet, which are valid within the subnet.
  const PathInfo& primary = request.primary;
  path_.sgid = primary.remote_gid;
  path_.dgid = primary.local_gid;
  constexpr std::uint16_t kPermissive = 0xffff;
  const auto lid = [](std::uint16_t value) { return ib::Lid{value == kPermissive ? std::uint16_t{0} : value}; };
  path_.slid = lid(primary.remote_lid);
  path_.dlid = lid(primary.local_lid);
  path_.flow_label = primary.flow_label;
  path_.pkey = request.pkey;
  path_.hop_limit = primary.hop_limit;
  path_.traffic_class = primary.traffic_class;
  path_.service_level = primary.sl;
  path_.mtu = request.path_mtu;
  path_.rate = primary.packet_rate;
  path_.packet_life_time = static_cast<std::uint8_t>(std::max(primary.local_ack_timeout - 1, 0));
  negotiated_.remote_qpn = request.local_qpn;
  negotiated_.send_psn = request.starting_psn;
  negotiated_.responder_resources = request.initiator_depth;
  negotiated_.initiator_depth = request.responder_resources;
  negotiated_.retry_count = request.retry_count;
  negotiated_.rnr_retry_count = request.rnr_retry_count;
  negotiated_.ack_timeout = primary.local_ack_timeout;
  negotiated_.mtu = request.path_mtu;
  timeout_ms_ = management::milliseconds_of(request.local_cm_response_timeout);
  retries_ = request.max_cm_retries;
  state_ = ConnectionState::kReqReceived;
}

// IBA 12.9.8.3.2, 12.9.8.7: a duplicate request is answered by an MRA, or by the earlier answer.
void Connection::on_duplicate_request() {
  if (state_ == ConnectionState::kReqReceived || state_ == ConnectionState::kMraReqSent) {
    Mra mra{};
    mra.message = MessageMra::kReq;
    mra.service_timeout = kMraTimeout;
    manager_.port_.send(named(mra));
    state_ = ConnectionState::kMraReqSent;
  } else if (last_answer_ && state_ == ConnectionState::kSidrReqReceived) {
    manager_.port_.send(*last_answer_);
  } else if (state_ == ConnectionState::kTimeWait) {
    Rej reject{};
    reject.message_rejected = MessageRejected::kReq;
    reject.reason = RejReason::kStaleConnection;
    manager_.port_.send(named(reject));
  }
}

int Connection::send_reply(const ReplyParameters& parameters) {
  const bool may = state_ == ConnectionState::kReqReceived || state_ == ConnectionState::kMraReqSent;
  if (!may || parameters.private_data.size() > reply_.private_data.size()) return EINVAL;
  Rep& reply = reply_;
  reply.local_comm_id = local_id_;
  reply.remote_comm_id = remote_id_;
  reply.local_qpn = parameters.qpn;
  for (std::size_t i = 0; i < reply.vendor_id.size(); ++i)
    reply.vendor_id[i] = static_cast<std::uint8_t>(parameters.ece_vendor >> (16 - 8 * i));
  reply.ece_options = parameters.ece_options;
  reply.starting_psn = parameters.starting_psn;
  reply.responder_resources = parameters.responder_resources;
  reply.initiator_depth = parameters.initiator_depth;
  reply.target_ack_delay = manager_.ack_delay();
  reply.end_to_end_flow_control = parameters.flow_control;
  reply.rnr_retry_count = parameters.rnr_retry_count;
  reply.srq = parameters.srq;
  reply.local_ca_guid = manager_.guid();
  fill(reply.private_data, parameters.private_data);
  negotiated_.receive_psn = parameters.starting_psn;
  negotiated_.responder_resources = parameters.responder_resources;
  negotiated_.initiator_depth = parameters.initiator_depth;
  state_ = ConnectionState::kRepSent;
  send_until_answered(datagram_of(reply), timeout_ms_);
  return 0;
}

void Connection::on_reply(const Rep& reply) {
  if (state_ == ConnectionState::kEstablished && last_answer_ && reply.local_comm_id == remote_id_)
    return manager_.port_.send(*last_answer_);  // the RTU was lost
  if (!awaits_reply()) return;
  stop_retrying();
  reply_ = reply;
  remote_id_ = reply.local_comm_id;
  remote_guid_ = reply.local_ca_guid;
  negotiated_.remote_qpn = reply.local_qpn;
  negotiated_.send_psn = reply.starting_psn;
  negotiated_.responder_resources = reply.initiator_depth;
  negotiated_.initiator_depth = reply.responder_resources;
  negotiated_.rnr_retry_count = reply.rnr_retry_count;
  negotiated_.ack_timeout = ack_timeout_of(reply.target_ack_delay, static_cast<std::uint8_t>(negotiated_.ack_timeout - 1));
  state_ = ConnectionState::kRepReceived;
  notify_owner({.kind = ConnectionEvent::Kind::kReply, .private_data = all_of(reply.private_data)});
}

int Connection::send_ready(const PrivateData& private_data) {
  Rtu ready{};
  const bool may = state_ == ConnectionState::kRepReceived || state_ == ConnectionState::kMraRepSent;
  if (!may || private_data.size() > ready.private_data.size()) return EINVAL;
  fill(ready.private_data, private_data);
  last_answer_ = named(ready);
  manager_.port_.send(*last_answer_);
  state_ = ConnectionState::kEstablished;
  return 0;
}

void Connection::on_ready(const Rtu& ready) {
  if (state_ != ConnectionState::kRepSent && state_ != ConnectionState::kMraRepReceived) return;
  stop_retrying();
  state_ = ConnectionState::kEstablished;
  notify_owner({.kind = ConnectionEvent::Kind::kReady, .private_data = all_of(ready.private_data)});
}

int Connection::note_established() {
  if (state_ == ConnectionState::kEstablished) return EISCONN;
  if (state_ != ConnectionState::kRepSent && state_ != ConnectionState::kMraRepReceived) return EINVAL;
  stop_retrying();
  state_ = ConnectionState::kEstablished;
  notify_owner(ConnectionEvent::Kind::kReady);
  return 0;
}

// The peer needs more time for its answer.
void Connection::on_mra(const Mra& mra) {
  const bool of_request = state_ == ConnectionState::kReqSent && mra.message == MessageMra::kReq;
  const bool of_reply = state_ == ConnectionState::kRepSent && mra.message == MessageMra::kRep;
  if ((!of_request && !of_reply) || !unanswered_) return;
  if (of_request) remote_id_ = mra.local_comm_id;
  state_ = of_request ? ConnectionState::kMraReqReceived : ConnectionState::kMraRepReceived;
  retry_ms_ = management::milliseconds_of(mra.service_timeout) + management::milliseconds_of(negotiated_.ack_timeout);
  timer_.cancel();
  timer_.schedule_after(std::chrono::milliseconds(retry_ms_));
}

int Connection::send_reject(RejReason reason, const PrivateData& private_data) {
  Rej reject{};
  if (private_data.size() > reject.private_data.size()) return EINVAL;
  reject.reason = reason;
  fill(reject.private_data, private_data);
  switch (state_) {
    case ConnectionState::kReqSent:
    case ConnectionState::kMraReqReceived:
    case ConnectionState::kReqReceived:
    case ConnectionState::kMraReqSent:
      reject.message_rejected = MessageRejected::kReq;
      break;
    case ConnectionState::kRepReceived:
    case ConnectionState::kMraRepSent:
      reject.message_rejected = MessageRejected::kRep;
      break;
    case ConnectionState::kRepSent:
    case ConnectionState::kMraRepReceived:
      reject.message_rejected = MessageRejected::kOther;
      break;
    default:
      return EINVAL;
  }
  stop_retrying();
  manager_.port_.send(named(reject));
  state_ = ConnectionState::kIdle;
  return 0;
}

void Connection::on_reject(const Rej& reject) {
  switch (state_) {
    case ConnectionState::kReqSent:
    case ConnectionState::kMraReqReceived:
    case ConnectionState::kRepSent:
    case ConnectionState::kMraRepReceived:
    case ConnectionState::kReqReceived:
    case ConnectionState::kMraReqSent:
    case ConnectionState::kRepReceived:
    case ConnectionState::kMraRepSent:
    case ConnectionState::kEstablished:
      stop_retrying();
      if (reject.reason == RejReason::kStaleConnection) manager_.remove_remote(*this);
      if (state_ == ConnectionState::kEstablished || reject.reason == RejReason::kStaleConnection) {
        enter_time_wait();
      } else {
        state_ = ConnectionState::kIdle;
      }
      break;
    case ConnectionState::kDreqSent:
      enter_time_wait();
      break;
    default:
      return;
  }
  notify_owner({.kind = ConnectionEvent::Kind::kRejected,
                .reason = static_cast<std::uint32_t>(reject.reason),
                .private_data = all_of(reject.private_data)});
}

int Connection::send_disconnect() {
  if (state_ != ConnectionState::kEstablished) return EINVAL;
  Dreq request{};
  request.remote_qpn = negotiated_.remote_qpn;
  transaction_ = std::uint64_t{local_id_} << 8 | 2;
  state_ = ConnectionState::kDreqSent;
  send_until_answered(named(request), timeout_ms_);
  return 0;
}

void Connection::on_disconnect(const Dreq&) {
  switch (state_) {
    case ConnectionState::kRepSent:
    case ConnectionState::kMraRepReceived:
    case ConnectionState::kDreqSent:
    case ConnectionState::kEstablished:
    case ConnectionState::kRepReceived:
    case ConnectionState::kMraRepSent:
      stop_retrying();
      state_ = ConnectionState::kDreqReceived;
      return notify_owner(ConnectionEvent::Kind::kDisconnect);
    case ConnectionState::kTimeWait:
      if (last_answer_) manager_.port_.send(*last_answer_);
      return;
    default:
      return;
  }
}

int Connection::send_disconnect_reply() {
  if (state_ != ConnectionState::kDreqReceived) return EINVAL;
  last_answer_ = named(Drep{});
  manager_.port_.send(*last_answer_);
  enter_time_wait();
  return 0;
}

void Connection::on_disconnect_reply(const Drep&) {
  if (state_ != ConnectionState::kDreqSent && state_ != ConnectionState::kDreqReceived) return;
  enter_time_wait();
  notify_owner(ConnectionEvent::Kind::kDisconnected);
}

int Connection::send_sidr_request(const Path& path, std::uint64_t service_id, const PrivateData& private_data) {
  SidrReq& request = sidr_request_;
  if (state_ != ConnectionState::kIdle || private_data.size() > request.private_data.size()) return EINVAL;
  path_ = path;
  towards_peer_ = path_.datagram();
  transaction_ = std::uint64_t{local_id_} << 8 | 1;
  request.request_id = local_id_;
  request.pkey = path.pkey;
  request.service_id = service_id;
  fill(request.private_data, private_data);
  retries_ = kMaxRetries;
  state_ = ConnectionState::kSidrReqSent;
  send_until_answered(datagram_of(request), management::milliseconds_of(kResponseTimeout));
  return 0;
}

void Connection::begin_as_sidr_responder(const SidrReq& request, const ib::ManagementDatagram& from) {
  sidr_request_ = request;
  remote_id_ = request.request_id;
  remote_guid_ = ConnectionManager::sender_of(from);
  transaction_ = mad::header_of(from.mad).transaction_id;
  manager_.add_remote(*this);
  towards_peer_ = from;
  if (towards_peer_.grh) std::swap(towards_peer_.grh->source, towards_peer_.grh->destination);
  path_.dlid = from.lid;
  path_.service_level = from.service_level.value;
  path_.pkey = request.pkey;
  if (from.grh) {
    path_.sgid = from.grh->destination;
    path_.dgid = from.grh->source;
    path_.hop_limit = from.grh->hop_limit;
    path_.traffic_class = from.grh->traffic_class;
  }
  state_ = ConnectionState::kSidrReqReceived;
}

int Connection::send_sidr_reply(SidrStatus status, std::uint32_t qpn, std::uint32_t qkey, const PrivateData& private_data) {
  SidrRep reply{};
  if (state_ != ConnectionState::kSidrReqReceived || last_answer_) return EINVAL;
  if (private_data.size() > reply.private_data.size()) return EINVAL;
  reply.request_id = remote_id_;
  reply.status = status;
  reply.qpn = qpn;
  reply.qkey = qkey;
  reply.service_id = sidr_request_.service_id;
  fill(reply.private_data, private_data);
  last_answer_ = datagram_of(reply);
  manager_.port_.send(*last_answer_);
  return 0;
}

void Connection::on_sidr_reply(const SidrRep& reply) {
  if (state_ != ConnectionState::kSidrReqSent) return;
  stop_retrying();
  state_ = ConnectionState::kIdle;
  notify_owner({.kind = ConnectionEvent::Kind::kSidrReply,
                .reason = static_cast<std::uint32_t>(reply.status),
                .private_data = all_of(reply.private_data),
                .sidr = reply});
}

}  // namespace verbatim::cm
