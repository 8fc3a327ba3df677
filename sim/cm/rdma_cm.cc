#include "sim/cm/rdma_cm.h"

#include <cerrno>
#include <utility>

#include "sim/cm/multicast_member.h"
#include "sim/cm/private_header.h"
#include "sim/core/check.h"
#include "sim/ib/group_address.h"
#include "sim/ib/types.h"
#include "sim/management/path_record.h"

namespace verbatim::cm {

namespace {

constexpr std::uint16_t kFirstEphemeral = 32768, kLastEphemeral = 60999;
constexpr std::uint32_t kMostBacklog = 1024;

// IBA 12.7.12, from an ibv_qp_type.
std::uint8_t transport_code(std::uint8_t qp_type) {
  constexpr std::uint8_t kReliable = 0, kUnreliable = 1, kExtended = 3;
  if (qp_type == static_cast<std::uint8_t>(ib::QpType::kUc)) return kUnreliable;
  return qp_type >= static_cast<std::uint8_t>(ib::QpType::kXrcSend) ? kExtended : kReliable;
}

}  // namespace

RdmaCm::RdmaCm(Engine& engine, ComponentId source, const AddressBook& addresses, const std::vector<AdapterSide>& adapters)
    : engine_(engine), source_(source), addresses_(addresses) {
  CHECK(!adapters.empty());
  for (const AdapterSide& side : adapters) {
    adapters_.push_back(std::make_unique<Adapter>(*this, adapters_.size(), side));
    side.connections.set_listener(*adapters_.back());
  }
}

std::unique_ptr<RdmaId> RdmaCm::create(PortSpace space, std::uint8_t qp_type, EventSink* sink) {
  return std::make_unique<RdmaId>(*this, space, qp_type, sink);
}

// Chooses the port space of an AF_IB address from those of the identifier, as far as the mask constrains it
// (cma_select_ib_ps in Linux). False: none matches.
bool RdmaCm::select_service(PortSpace space, Address& own) {
  for (const PortSpace candidate : {PortSpace::kIb, PortSpace::kTcp, PortSpace::kUdp}) {
    if (space != PortSpace::kIb && space != candidate) continue;
    const std::uint64_t base = ip_service_id(candidate, 0), mask = own.service_mask & ~std::uint64_t{0xffff};
    if ((own.service_id & mask) != (base & mask)) continue;
    own.service_id = base | (own.service_id & own.service_mask & 0xffff);
    own.service_mask = ~std::uint64_t{0};
    return true;
  }
  return false;
}

// Two identifiers may share a service if both permit it, or if they have different addresses (cma_check_port
// in Linux).
int RdmaCm::take_port(RdmaId& id) {
  Address& own = id.source_;
  const bool is_ib = own.family == Family::kIb;
  if (is_ib && !select_service(id.space_, own)) return -EPROTONOSUPPORT;
  if ((is_ib ? own.service_id & 0xffff : own.port) == 0) {
    const std::uint64_t base = is_ib ? own.service_id : 0;
    std::uint16_t port = kFirstEphemeral;
    while (port <= kLastEphemeral && bound_.contains({id.space_, base | port})) ++port;
    if (port > kLastEphemeral) return -EADDRNOTAVAIL;
    if (is_ib) own.service_id = base | port;
    else own.port = port;
  }
  const auto key = std::pair(id.space_, own.family == Family::kIb ? own.service_id : own.port);
  std::vector<RdmaId*>& owners = bound_[key];
  for (const RdmaId* other : owners) {
    if (id.reuse_ && other->reuse_) continue;
    const bool apart = own.family != other->source_.family && id.v6_only_ && other->v6_only_;
    if (apart) continue;
    if (own.is_any() || other->source_.is_any()) return -EADDRNOTAVAIL;
    if (own.ip == other->source_.ip) return -EADDRINUSE;
  }
  owners.push_back(&id);
  id.has_port_ = true;
  return 0;
}

void RdmaCm::release_port(RdmaId& id) {
  if (!id.has_port_) return;
  id.has_port_ = false;
  const Address& own = id.source_;
  const auto found = bound_.find({id.space_, own.family == Family::kIb ? own.service_id : own.port});
  std::erase(found->second, &id);
  if (found->second.empty()) bound_.erase(found);
}

// A listener on the exact address takes precedence over a wildcard. A request for an IP service without IP
// addresses has an AF_IB sender, and is for an AF_IB listener (cma_get_net_dev, cma_match_net_dev in Linux).
RdmaId* RdmaCm::find_listener(std::uint64_t service_id, const Address& destination, const Adapter& adapter) const {
  RdmaId* any = nullptr;
  for (const auto& [key, owners] : bound_) {
    for (RdmaId* id : owners) {
      if (id->state_ != RdmaId::State::kListen || id->service_id() != service_id) continue;
      if (id->adapter_ != nullptr && id->adapter_ != &adapter) continue;
      if (id->source_.family == Family::kIb) return id;
      if (destination.family == Family::kNone && is_ip_service(service_id)) continue;
      if (destination.family == Family::kNone) return id;
      const bool v4_on_v6 = destination.family == Family::kIpv4 && id->source_.family == Family::kIpv6 && !id->v6_only_;
      if (id->source_.is_any() && (id->source_.family == destination.family || v4_on_v6)) any = id;
      if (id->source_.family == destination.family && id->source_.ip == destination.ip) return id;
    }
  }
  return any;
}

std::optional<mad::cm::RejReason> RdmaCm::on_request(Adapter& adapter, std::unique_ptr<Connection>& connection) {
  using mad::cm::RejReason;
  const std::uint64_t service = connection->request().service_id;
  const auto header = is_ip_service(service) ? PrivateHeader::decode(connection->request().private_data) : std::nullopt;
  Address own, peer;
  if (header) {
    own = header->destination;
    own.port = static_cast<std::uint16_t>(service);
    peer = header->source;
  }
  RdmaId* listener = find_listener(service, own, adapter);
  if (listener == nullptr) return RejReason::kInvalidServiceId;
  if (listener->pending_requests_ >= listener->backlog_) return RejReason::kConsumerReject;
  ++listener->pending_requests_;
  auto id = create(listener->space_, listener->qp_type_, nullptr);
  const mad::cm::Req& request = connection->request();
  Event event{.type = EventType::kConnectRequest};
  ConnectionParameters& parameters = event.parameters;
  const std::size_t offset = header ? PrivateHeader::kBytes : 0;
  parameters.private_data.assign(request.private_data.begin() + static_cast<std::ptrdiff_t>(offset), request.private_data.end());
  parameters.qpn = request.local_qpn;
  parameters.ece_vendor = request.vendor_id;
  parameters.ece_options = request.ece_options;
  parameters.srq = request.srq;
  parameters.responder_resources = request.initiator_depth;
  parameters.initiator_depth = request.responder_resources;
  parameters.flow_control = request.end_to_end_flow_control;
  parameters.retry_count = request.retry_count;
  parameters.rnr_retry_count = request.rnr_retry_count;
  const Path path = connection->path();
  id->take(adapter, std::move(connection), path, own, peer);
  event.request = std::move(id);
  listener->emit(std::move(event));
  return std::nullopt;
}

std::optional<mad::cm::SidrStatus> RdmaCm::on_sidr_request(Adapter& adapter, std::unique_ptr<Connection>& connection) {
  using mad::cm::SidrStatus;
  const mad::cm::SidrReq& request = connection->sidr_request();
  const auto header = is_ip_service(request.service_id) ? PrivateHeader::decode(request.private_data) : std::nullopt;
  Address own, peer;
  if (header) {
    own = header->destination;
    own.port = static_cast<std::uint16_t>(request.service_id);
    peer = header->source;
  }
  RdmaId* listener = find_listener(request.service_id, own, adapter);
  if (listener == nullptr) return SidrStatus::kServiceIdNotSupported;
  if (listener->pending_requests_ >= listener->backlog_) return SidrStatus::kRejectedByServiceProvider;
  ++listener->pending_requests_;
  auto id = create(listener->space_, listener->qp_type_, nullptr);
  Event event{.type = EventType::kConnectRequest};
  const std::size_t offset = header ? PrivateHeader::kBytes : 0;
  event.parameters.private_data.assign(request.private_data.begin() + static_cast<std::ptrdiff_t>(offset),
                                       request.private_data.end());
  const Path path = connection->path();
  id->take(adapter, std::move(connection), path, own, peer);
  event.request = std::move(id);
  listener->emit(std::move(event));
  return std::nullopt;
}

RdmaId::RdmaId(RdmaCm& cm, PortSpace space, std::uint8_t qp_type, EventSink* sink)
    : cm_(cm),
      space_(space),
      qp_type_(qp_type),
      sink_(sink),
      sequence_(cm.adapters_.front()->connections.draw_psn()),
      timer_(Timer::of<&RdmaId::on_timer>(cm.engine_, cm.source_, EventClass::kSupervisor, this)) {}

RdmaId::~RdmaId() {
  side().queries.forget(*this);
  cm_.release_port(*this);
}

// The sink is nullptr once the program has exited.
void RdmaId::emit(Event event) {
  if (sink_ != nullptr) sink_->on_event(*this, std::move(event));
}

int RdmaId::bind(const Address& address) {
  if (address.family == Family::kNone) return -EAFNOSUPPORT;
  if (state_ != State::kIdle) return -EINVAL;
  std::optional<std::size_t> adapter;
  if (!address.is_any()) {
    if (address.is_link_local() && address.scope == 0) return -EINVAL;  // cma_check_linklocal in Linux
    if (const auto station = cm_.addresses_.find(address)) adapter = station->own;
    const bool is_gid = address.family == Family::kIb;
    if (!adapter || (is_gid && ib::is_multicast(address.ip))) return is_gid ? -ENODEV : -EADDRNOTAVAIL;
  }
  source_ = address;
  if (const int error = cm_.take_port(*this); error != 0) {
    source_ = {};
    return error;
  }
  state_ = State::kAddressBound;
  if (adapter) acquire_device(*adapter);
  return 0;
}

ib::Gid RdmaId::source_gid() const { return port().gids[gid_index()]; }

// The entry of the path's source GID, or of the address if there is no path; else 0.
std::uint8_t RdmaId::gid_index() const {
  const auto& gids = port().gids;
  const ib::Gid& own = path_ ? path_->sgid : source_.ip;
  const auto found = std::find(gids.begin(), gids.end(), own);
  return found == gids.end() ? 0 : static_cast<std::uint8_t>(found - gids.begin());
}

std::uint16_t RdmaId::pkey() const {
  if (path_) return path_->pkey;
  return port().pkeys.empty() ? 0xffff : port().pkeys.front();
}

int RdmaId::resolve_address(const Address& from, const Address& to, std::uint32_t timeout_ms) {
  if (to.family == Family::kNone) return -EAFNOSUPPORT;
  if (state_ == State::kIdle) {
    Address own = from;
    if (own.family == Family::kNone) own.family = to.family;
    if (own.family == Family::kIpv4 && from.family == Family::kNone) own.ip.raw[10] = own.ip.raw[11] = 0xff;
    if (from.family == Family::kNone) own.scope = to.scope;
    if (own.family == Family::kIb && from.family == Family::kNone) {
      own.pkey = to.pkey;
      own.service_id = to.service_id & ~std::uint64_t{0xffff};
      own.service_mask = to.service_mask;
    }
    if (const int error = bind(own); error != 0) return error;
  }
  if (state_ != State::kAddressBound) return -EINVAL;
  if (source_.family != to.family) return -EINVAL;
  destination_ = to;
  if (to.is_any()) destination_.ip = cm_.addresses_.own_for(to, device()).ip;
  if (!cm_.addresses_.reaches(destination_)) {
    destination_ = {};
    return -ENETUNREACH;
  }
  state_ = State::kAddressQuery;
  const auto station = cm_.addresses_.find(destination_);
  resolution_error_ = 0;
  Duration takes = station && station->own ? Duration::zero() : cm_.addresses_.round_trip();
  const Duration most = std::chrono::milliseconds(timeout_ms);
  if (!station) resolution_error_ = -ETIMEDOUT;
  if (!station || takes > most) takes = most;
  timer_.schedule_after(takes);
  return 0;
}

void RdmaId::on_timer() {
  if (state_ == State::kAddressQuery) return on_address_resolved();
  if (state_ == State::kRouteQuery) on_path(0, ethernet_path());
}

void RdmaId::on_address_resolved() {
  const auto station = cm_.addresses_.find(destination_);
  const std::size_t number = has_device() ? device() : cm_.addresses_.adapter_for(destination_);
  const Address own = source_.is_any() ? cm_.addresses_.own_for(destination_, number) : source_;
  const PortFacts& port = cm_.adapters_.at(number)->port;
  if (resolution_error_ == 0 && port.roce && destination_.family != Family::kIb) {
    if (std::find(port.gids.begin(), port.gids.end(), own.ip) == port.gids.end()) resolution_error_ = -ENODEV;
  }
  if (resolution_error_ != 0) {
    state_ = State::kAddressBound;
    return emit(EventType::kAddrError, resolution_error_);
  }
  source_.ip = own.ip;
  destination_gid_ = station->gid;
  state_ = State::kAddressResolved;
  acquire_device(number);
  emit(EventType::kAddrResolved);
}

int RdmaId::resolve_route(std::uint32_t timeout_ms) {
  if (state_ != State::kAddressResolved) return -EINVAL;
  state_ = State::kRouteQuery;
  if (port().roce) {
    timer_.schedule_after(Duration::zero());
  } else {
    const ib::Mad question = management::encode_path_question(source_gid(), destination_gid_, pkey());
    side().queries.ask(*this, question, std::max(timeout_ms, 1u));
  }
  return 0;
}

// As in Linux (cma_resolve_iboe_route).
Path RdmaId::ethernet_path() const {
  Path path;
  path.sgid = source_gid();
  path.dgid = destination_gid_;
  path.hop_limit = 64;
  path.traffic_class = type_of_service_;
  path.mtu = port().mtu;
  path.rate = port().rate;
  path.packet_life_time = 16;
  path.service_level = static_cast<std::uint8_t>(type_of_service_ >> 5);
  return path;
}

// RDMA_OPTION_IB_PATH of rdma_set_option(3): sets the route instead of a query (rdma_set_ib_path in Linux).
int RdmaId::set_path(const Path& path) {
  if (state_ != State::kAddressResolved) return -EINVAL;
  path_ = port().roce ? ethernet_path() : path;
  state_ = State::kRouteResolved;
  emit(EventType::kRouteResolved);
  return 0;
}

void RdmaId::on_answer(const ib::Mad* answer) {
  const auto route = answer != nullptr ? management::decode_path_answer(*answer) : std::nullopt;
  route ? on_path(route->error, route->path) : on_path(ETIMEDOUT, {});
}

void RdmaId::on_path(int error, const Path& path) {
  if (state_ != State::kRouteQuery) return;
  if (error != 0) {
    state_ = State::kAddressResolved;
    return emit(EventType::kRouteError, -error);
  }
  path_ = path;
  if (!port().roce) path_->traffic_class = type_of_service_;
  state_ = State::kRouteResolved;
  emit(EventType::kRouteResolved);
}

int RdmaId::listen(std::uint32_t backlog) {
  if (state_ == State::kIdle) {
    Address any;
    any.family = Family::kIpv4;
    any.ip.raw[10] = any.ip.raw[11] = 0xff;
    if (const int error = bind(any); error != 0) return error;
  }
  if (state_ != State::kAddressBound) return -EINVAL;
  if (reuse_) {  // one listener per address (cma_bind_listen)
    for (const RdmaId* other : cm_.bound_.at({space_, source_.family == Family::kIb ? source_.service_id : source_.port})) {
      const bool same = other->source_.is_any() || source_.is_any() || other->source_.ip == source_.ip;
      if (other != this && other->state_ == State::kListen && same) return -EADDRINUSE;
    }
  }
  backlog_ = backlog == 0 || backlog > kMostBacklog ? kMostBacklog : backlog;
  state_ = State::kListen;
  return 0;
}

std::uint64_t RdmaId::service_id() const {
  const Address& named = state_ == State::kListen ? source_ : destination_;
  if (named.family == Family::kIb) return named.service_id;
  return ip_service_id(space_, named.port);
}

PrivateData RdmaId::with_addresses(const PrivateData& own) const {
  PrivateData all;
  if (source_.family != Family::kIb) all = PrivateHeader{source_, destination_}.encode();
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

int RdmaId::connect(const ConnectionParameters& parameters) {
  if (state_ != State::kRouteResolved) return -EINVAL;
  if (is_datagram()) return connect_datagram(parameters);
  RequestParameters request;
  request.path = *path_;
  request.service_id = service_id();
  request.qpn = parameters.qpn;
  request.starting_psn = sequence_;
  request.transport = transport_code(qp_type_);
  request.srq = parameters.srq;
  request.flow_control = parameters.flow_control != 0;
  request.responder_resources = parameters.responder_resources;
  request.initiator_depth = parameters.initiator_depth;
  request.retry_count = std::min<std::uint8_t>(7, parameters.retry_count);
  request.rnr_retry_count = std::min<std::uint8_t>(7, parameters.rnr_retry_count);
  request.private_data = with_addresses(parameters.private_data);
  request.ece_vendor = parameters.ece_vendor;
  request.ece_options = parameters.ece_options;
  auto connection = std::make_unique<Connection>(side().connections, this);
  if (const int error = connection->send_request(request); error != 0) return -error;
  connection_ = std::move(connection);
  qpn_ = parameters.qpn;
  state_ = State::kConnect;
  return 0;
}

int RdmaId::connect_datagram(const ConnectionParameters& parameters) {
  auto connection = std::make_unique<Connection>(side().connections, this);
  const int error = connection->send_sidr_request(*path_, service_id(), with_addresses(parameters.private_data));
  if (error != 0) return -error;
  connection_ = std::move(connection);
  state_ = State::kConnect;
  return 0;
}

void RdmaId::take(RdmaCm::Adapter& adapter, std::unique_ptr<Connection> connection, const Path& path, const Address& own,
                  const Address& peer) {
  adapter_ = &adapter;
  connection_ = std::move(connection);
  connection_->set_owner(this);
  path_ = path;
  source_ = own;
  destination_ = peer;
  if (own.family == Family::kNone) {  // the request contains no IP addresses
    source_.family = destination_.family = Family::kIb;
    source_.ip = path.sgid;
    destination_.ip = path.dgid;
    source_.pkey = destination_.pkey = path.pkey;
  }
  destination_gid_ = path.dgid;
  state_ = State::kConnect;
}

int RdmaId::accept(const std::optional<ConnectionParameters>& parameters) {
  if (state_ != State::kConnect || connection_ == nullptr) return -EINVAL;
  int error = 0;
  if (is_datagram()) {
    constexpr std::uint32_t kUsualQkey = 0x0123'4567;  // RDMA_UDP_QKEY
    const ConnectionParameters given = parameters.value_or(ConnectionParameters{});
    qkey_ = given.qkey != 0 ? given.qkey : kUsualQkey;
    error = connection_->send_sidr_reply(mad::cm::SidrStatus::kSuccess, given.qpn, qkey_, given.private_data);
  } else if (!parameters) {
    error = connection_->send_ready({});
  } else {
    ReplyParameters reply;
    reply.qpn = qpn_ = parameters->qpn;
    reply.starting_psn = sequence_;
    reply.srq = parameters->srq;
    reply.flow_control = parameters->flow_control != 0;
    reply.responder_resources = parameters->responder_resources;
    reply.initiator_depth = parameters->initiator_depth;
    reply.rnr_retry_count = std::min<std::uint8_t>(7, parameters->rnr_retry_count);
    reply.private_data = parameters->private_data;
    reply.ece_vendor = parameters->ece_vendor;
    reply.ece_options = parameters->ece_options;
    error = connection_->send_reply(reply);
  }
  if (error != 0) reject(0, {});
  return -error;
}

int RdmaId::reject(std::uint8_t reason, const PrivateData& private_data) {
  if (connection_ == nullptr) return -EINVAL;
  if (is_datagram()) return -connection_->send_sidr_reply(mad::cm::SidrStatus::kRejectedByServiceProvider, 0, 0, private_data);
  const auto code = reason == 0 ? mad::cm::RejReason::kConsumerReject : static_cast<mad::cm::RejReason>(reason);
  return -connection_->send_reject(code, private_data);
}

int RdmaId::disconnect() {
  if (connection_ == nullptr) return -EINVAL;
  if (connection_->send_disconnect() != 0) connection_->send_disconnect_reply();
  return 0;
}

int RdmaId::notify_established() {
  if (connection_ == nullptr) return -EINVAL;
  return -connection_->note_established();
}

void RdmaId::on_connection_event(Connection& connection, const ConnectionEvent& event) {
  using Kind = ConnectionEvent::Kind;
  Event emitted{.type = EventType::kEstablished};
  emitted.parameters.private_data = event.private_data;
  switch (event.kind) {
    case Kind::kUnanswered:
      state_ = State::kDisconnect;
      emitted.type = EventType::kUnreachable;
      emitted.status = -ETIMEDOUT;
      break;
    case Kind::kReply: {
      emitted.type = EventType::kConnectResponse;
      const mad::cm::Rep& reply = connection.reply();
      emitted.parameters.qpn = reply.local_qpn;
      for (const std::uint8_t byte : reply.vendor_id) emitted.parameters.ece_vendor = emitted.parameters.ece_vendor << 8 | byte;
      emitted.parameters.ece_options = reply.ece_options;
      emitted.parameters.responder_resources = reply.initiator_depth;
      emitted.parameters.initiator_depth = reply.responder_resources;
      emitted.parameters.flow_control = reply.end_to_end_flow_control;
      emitted.parameters.rnr_retry_count = reply.rnr_retry_count;
      emitted.parameters.srq = reply.srq;
      break;
    }
    case Kind::kReady:
      emitted.parameters.private_data.clear();  // Linux does not report the private data of an RTU
      break;
    case Kind::kRejected:
      state_ = State::kDisconnect;
      emitted.type = EventType::kRejected;
      emitted.status = static_cast<std::int32_t>(event.reason);
      break;
    case Kind::kDisconnect:
    case Kind::kDisconnected:
      if (state_ != State::kConnect) return;
      state_ = State::kDisconnect;
      emitted.type = EventType::kDisconnected;
      if (event.timed_out) emitted.status = -ETIMEDOUT;
      break;
    case Kind::kTimeWaitOver:
      emitted.type = EventType::kTimeWaitExit;
      break;
    case Kind::kSidrReply:
      if (event.reason != 0) {
        emitted.type = EventType::kUnreachable;
        emitted.status = static_cast<std::int32_t>(event.reason);
        break;
      }
      emitted.parameters.qpn = event.sidr.qpn;
      emitted.parameters.qkey = qkey_ = event.sidr.qkey;
      emitted.datagram_path = *path_;
      break;
  }
  emit(std::move(emitted));
}

int RdmaId::qp_setup(std::uint32_t state, QpSetup& setup) const {
  constexpr std::uint32_t kInit = 1, kRtr = 2, kRts = 3;
  constexpr std::uint32_t kState = 1 << 0, kAccess = 1 << 3, kPkeyIndex = 1 << 4, kPort = 1 << 5, kQkey = 1 << 6, kAv = 1 << 7,
                          kMtu = 1 << 8, kTimeout = 1 << 9, kRetries = 1 << 10, kRnrRetries = 1 << 11, kRqPsn = 1 << 12,
                          kReadAtomic = 1 << 13, kRnrTimer = 1 << 15, kSqPsn = 1 << 16, kDestReadAtomic = 1 << 17,
                          kDestQpn = 1 << 20;
  constexpr std::uint32_t kRemoteWrite = 2, kRemoteRead = 4, kRemoteAtomic = 8, kUsualQkey = 0x0123'4567;
  if (!has_device()) return -EINVAL;
  const auto& pkeys = port().pkeys;
  const auto index = std::find(pkeys.begin(), pkeys.end(), pkey());
  setup.pkey_index = index == pkeys.end() ? 0 : static_cast<std::uint16_t>(index - pkeys.begin());
  setup.sgid_index = gid_index();
  if (connection_ == nullptr || is_datagram()) {
    setup.mask = kState | kPkeyIndex | kPort | (is_datagram() ? kQkey : kAccess);
    if (is_datagram()) setup.qkey = qkey_ != 0 ? qkey_ : kUsualQkey;
    return 0;
  }
  setup.negotiated = connection_->negotiated();
  setup.negotiated.receive_psn = sequence_;
  if (ack_timeout_) setup.negotiated.ack_timeout = *ack_timeout_;
  setup.path = connection_->path();
  const bool reliable = qp_type_ != static_cast<std::uint8_t>(ib::QpType::kUc);
  const bool asks = connection_->awaits_reply();
  switch (state) {
    case kInit:
      setup.mask = kState | kAccess | kPkeyIndex | kPort;
      setup.access_flags = kRemoteWrite;
      if (setup.negotiated.responder_resources != 0) setup.access_flags |= kRemoteRead | kRemoteAtomic;
      return 0;
    case kRtr:
      if (asks) return -EINVAL;
      setup.mask = kState | kAv | kMtu | kDestQpn | kRqPsn;
      if (reliable) setup.mask |= kDestReadAtomic | kRnrTimer;
      return 0;
    case kRts:
      if (asks) return -EINVAL;
      setup.mask = kState | kSqPsn;
      if (reliable) setup.mask |= kTimeout | kRetries | kRnrRetries | kReadAtomic;
      return 0;
    default:
      return -EINVAL;
  }
}

int RdmaId::join(std::uint32_t group, const Address& address) {
  if (!has_device() || (state_ != State::kAddressBound && state_ != State::kAddressResolved)) return -EINVAL;
  groups_[group] = std::make_unique<MulticastMember>(*this, group, address);
  return 0;
}

void RdmaId::leave(std::uint32_t group) { groups_.erase(group); }

int RdmaId::set_reuse(bool on) {
  if (state_ != State::kIdle && (state_ == State::kListen || !on)) return -EINVAL;
  reuse_ = on;
  return 0;
}

int RdmaId::set_v6_only(bool on) {
  if (state_ != State::kIdle && state_ != State::kAddressBound) return -EINVAL;
  v6_only_ = on;
  return 0;
}

int RdmaId::set_type_of_service(std::uint8_t value) {
  type_of_service_ = value;
  return 0;
}

int RdmaId::set_ack_timeout(std::uint8_t value) {
  if (value > 31) return -EINVAL;
  ack_timeout_ = value;
  return 0;
}

}  // namespace verbatim::cm
