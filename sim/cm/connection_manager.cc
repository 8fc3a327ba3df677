#include "sim/cm/connection_manager.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "sim/cm/freedom.h"

namespace verbatim::cm {

using namespace mad::cm;

ConnectionManager::ConnectionManager(Engine& engine, Choices& choices, ComponentId source, ib::ManagementPort& port,
                                     std::uint64_t guid, std::uint8_t ack_delay, Rng random)
    : engine_(engine),
      choices_(choices),
      source_(source),
      port_(port),
      guid_(guid),
      ack_delay_(ack_delay),
      random_(random),
      ids_(static_cast<std::uint32_t>(random_.below(1u << 31)) + 1, std::numeric_limits<std::uint32_t>::max()) {}

ConnectionManager::~ConnectionManager() = default;

std::uint32_t ConnectionManager::add(Connection& connection) {
  const std::uint32_t id = ids_.take([this](std::uint32_t taken) { return connections_.contains(taken); },
                                     choose_number(freedom::kCommunicationId));
  connections_[id] = &connection;
  return id;
}

std::uint32_t ConnectionManager::draw_psn() {
  constexpr std::uint32_t kPsns = 1 << 24;
  const auto random = static_cast<std::uint32_t>(random_.below(kPsns));
  switch (static_cast<freedom::PsnChoice>(choices_.choose(freedom::kStartingPsn, source_, freedom::kPsnChoices))) {
    case freedom::PsnChoice::kRandom:
      return last_psn_ = random;
    case freedom::PsnChoice::kBeforeWrap:
      return last_psn_ = kPsns - 1 - choices_.choose(freedom::kPsnDistance, source_, freedom::kPsnDistances);
    case freedom::PsnChoice::kSameAgain:
      return last_psn_;
    case freedom::PsnChoice::kZero:
      return last_psn_ = 0;
  }
  return random;
}

void ConnectionManager::remove(Connection& connection) {
  connections_.erase(connection.local_id_);
  if (connection.has_nothing_under_way()) ids_.give_back(connection.local_id_);
  remove_remote(connection);
}

void ConnectionManager::remove_remote(Connection& connection) {
  const auto remote = remote_ends_.find({connection.remote_guid_, connection.remote_id_});
  if (remote != remote_ends_.end() && remote->second == &connection) remote_ends_.erase(remote);
}

void ConnectionManager::add_remote(Connection& connection) {
  remote_ends_[{connection.remote_guid_, connection.remote_id_}] = &connection;
}

// The message contains both identifiers; `remote_id` is not compared while the peer's identifier is unknown.
Connection* ConnectionManager::find(std::uint32_t local_id, std::uint32_t remote_id) const {
  const auto found = connections_.find(local_id);
  if (found == connections_.end()) return nullptr;
  Connection& connection = *found->second;
  return connection.remote_id_ == 0 || connection.remote_id_ == remote_id ? &connection : nullptr;
}

template <class Message>
void ConnectionManager::answer(const ib::ManagementDatagram& datagram, Message message) {
  ib::ManagementDatagram back = datagram;
  if (back.grh) std::swap(back.grh->source, back.grh->destination);
  back.mad = encode(message, mad::header_of(datagram.mad).transaction_id);
  port_.send(back);
}

void ConnectionManager::on_datagram(const ib::ManagementDatagram& datagram) {
  const ib::Mad& mad = datagram.mad;
  const auto to = [&](std::uint32_t local_id, std::uint32_t remote_id, auto handler, const auto& message) {
    Connection* connection = find(local_id, remote_id);
    if (connection != nullptr) (connection->*handler)(message);
    return connection != nullptr;
  };
  if (const auto request = decode<Req>(mad)) {
    on_request(*request, datagram);
  } else if (const auto reply = decode<Rep>(mad)) {
    on_reply(*reply, datagram);
  } else if (const auto ready = decode<Rtu>(mad)) {
    to(ready->remote_comm_id, ready->local_comm_id, &Connection::on_ready, *ready);
  } else if (const auto reject = decode<Rej>(mad)) {
    // The sender of a REJ to a REQ may have no identifier of its own.
    Connection* connection = find(reject->remote_comm_id, reject->local_comm_id);
    if (connection != nullptr) connection->on_reject(*reject);
  } else if (const auto mra = decode<Mra>(mad)) {
    to(mra->remote_comm_id, mra->local_comm_id, &Connection::on_mra, *mra);
  } else if (const auto disconnect = decode<Dreq>(mad)) {
    if (to(disconnect->remote_comm_id, disconnect->local_comm_id, &Connection::on_disconnect, *disconnect)) return;
    // IBA 12.9.8.3.1: the connection has ended here, and the DREP lets the peer end it.
    Drep reply{};
    reply.local_comm_id = disconnect->remote_comm_id;
    reply.remote_comm_id = disconnect->local_comm_id;
    answer(datagram, reply);
  } else if (const auto disconnected = decode<Drep>(mad)) {
    to(disconnected->remote_comm_id, disconnected->local_comm_id, &Connection::on_disconnect_reply, *disconnected);
  } else if (const auto sidr_request = decode<SidrReq>(mad)) {
    on_sidr_request(*sidr_request, datagram);
  } else if (const auto sidr_reply = decode<SidrRep>(mad)) {
    const auto found = connections_.find(sidr_reply->request_id);
    if (found != connections_.end()) found->second->on_sidr_reply(*sidr_reply);
  } else if (const auto load = decode<Lap>(mad)) {
    on_load_alternate(*load, datagram);
  }
}

// IBA 12.8.1: alternate paths are refused. librdmacm neither supports nor requests them.
void ConnectionManager::on_load_alternate(const Lap& request, const ib::ManagementDatagram& datagram) {
  Apr reply{};
  reply.local_comm_id = request.remote_comm_id;
  reply.remote_comm_id = request.local_comm_id;
  const Connection* connection = find(request.remote_comm_id, request.local_comm_id);
  if (connection == nullptr || connection->state() != ConnectionState::kEstablished) {
    reply.status = AprStatus::kInvalidCommId;
  } else {
    reply.status = connection->local_qpn() == request.remote_qpn ? AprStatus::kUnsupported : AprStatus::kInvalidQpn;
  }
  answer(datagram, reply);
}

// IBA 12.9.8.3.1: a request of the peer's queue pair for another connection means that the peer no longer has
// the one known at this end.
bool ConnectionManager::reject_as_stale(std::uint64_t remote_guid, std::uint32_t remote_qpn, Rej reject,
                                        const ib::ManagementDatagram& datagram) {
  if (remote_qpn == 0) return false;  // the management queue pair is never connected
  const auto stale = std::find_if(connections_.begin(), connections_.end(), [&](const auto& one) {
    return one.second->remote_guid_ == remote_guid && one.second->remote_qpn() == remote_qpn;
  });
  if (stale == connections_.end()) return false;
  reject.reason = RejReason::kStaleConnection;
  answer(datagram, reject);
  stale->second->send_disconnect();
  return true;
}

// The sender of a REJ for a stale connection continues to send its REQ, as Linux does, and may then get
// another REP.
void ConnectionManager::on_reply(const Rep& reply, const ib::ManagementDatagram& datagram) {
  Connection* connection = find(reply.remote_comm_id, reply.local_comm_id);
  if (connection == nullptr) return;
  Rej reject{};
  reject.local_comm_id = reply.remote_comm_id;
  reject.remote_comm_id = reply.local_comm_id;
  reject.message_rejected = MessageRejected::kRep;
  if (connection->awaits_reply() && reject_as_stale(reply.local_ca_guid, reply.local_qpn, reject, datagram)) return;
  connection->on_reply(reply);
}

void ConnectionManager::on_request(const Req& request, const ib::ManagementDatagram& datagram) {
  const auto known = remote_ends_.find({request.local_ca_guid, request.local_comm_id});
  if (known != remote_ends_.end()) return known->second->on_duplicate_request();
  Rej reject{};
  reject.remote_comm_id = request.local_comm_id;
  reject.message_rejected = MessageRejected::kReq;
  if (reject_as_stale(request.local_ca_guid, request.local_qpn, reject, datagram)) return;
  auto connection = std::make_unique<Connection>(*this, nullptr);
  connection->begin_as_responder(request, datagram);
  const auto refusal = listener_ != nullptr ? listener_->on_request(connection) : RejReason::kInvalidServiceId;
  if (refusal && connection != nullptr) connection->send_reject(*refusal, {});
}

void ConnectionManager::on_sidr_request(const SidrReq& request, const ib::ManagementDatagram& datagram) {
  const auto known = remote_ends_.find({sender_of(datagram), request.request_id});
  if (known != remote_ends_.end()) return known->second->on_duplicate_request();
  auto connection = std::make_unique<Connection>(*this, nullptr);
  connection->begin_as_sidr_responder(request, datagram);
  const auto refusal = listener_ != nullptr ? listener_->on_sidr_request(connection) : SidrStatus::kServiceIdNotSupported;
  if (refusal && connection != nullptr) connection->send_sidr_reply(*refusal, 0, 0, {});
}

// Identifies the sender of requests without a communication identifier.
std::uint64_t ConnectionManager::sender_of(const ib::ManagementDatagram& datagram) {
  std::uint64_t name = datagram.lid.value;
  if (!datagram.grh) return name;
  name = 0;
  for (int i = 8; i < 16; ++i) name = name << 8 | datagram.grh->source.raw[i];
  return name;
}

}  // namespace verbatim::cm
