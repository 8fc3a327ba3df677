#include "sim/supervisor/net/tcp.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sim/supervisor/net/interfaces.h"

namespace verbatim::supervisor {

namespace {
constexpr Duration kLoopbackLatency{5'000'000};
constexpr int kSynTries = 6;
constexpr Duration kSynRetry{1'000'000'000'000};  // first retransmission of a SYN; doubles each time
constexpr Duration kLeastTimeout{200'000'000'000}, kLongestTimeout{120'000'000'000'000};
constexpr int kDataTries = 15;  // net.ipv4.tcp_retries2
constexpr std::size_t kSegmentOverhead = 66;  // Ethernet, IPv4 and TCP headers with timestamps

ib::Gid gid_of(const IpAddress& address) {
  ib::Gid gid;
  std::ranges::copy(address.bytes(), gid.raw);
  return gid;
}
}  // namespace

int TcpNetwork::host_of(const IpAddress& address, std::size_t from) const {
  if (address.any() || address.loopback()) return static_cast<int>(from);
  const ib::Gid ip = gid_of(address);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const auto has = [&](const ib::IpInterface& interface) { return interface.has(ip); };
    if (has(ib::IpInterface::of_first(hosts_[i].address)) || std::ranges::any_of(hosts_[i].further_interfaces, has))
      return static_cast<int>(i);
  }
  return -1;
}

Duration TcpNetwork::latency(std::size_t from, std::size_t to) const {
  return from == to ? kLoopbackLatency : spec_.latency;
}

bool TcpNetwork::has_route(const IpAddress& remote, std::size_t host) const {
  if (remote.multicast()) return false;
  return remote.any() || remote.loopback() || host_of(remote, host) >= 0 ||
         ib::find_route(routes_of(hosts_[host]), gid_of(remote)).has_value();
}

IpAddress TcpNetwork::source_for(const IpAddress& remote, std::size_t host) const {
  if (remote.any()) return remote.is_v4() ? IpAddress::v4(INADDR_LOOPBACK) : IpAddress::v6_loopback();
  if (host_of(remote, host) == static_cast<int>(host)) return remote;
  const std::size_t adapter = ib::find_route(routes_of(hosts_[host]), gid_of(remote)).value_or(0);
  const ib::IpInterface own = addresses_of(hosts_[host])[adapter];
  return IpAddress::v6(remote.is_v4() ? own.v4().raw : own.v6().raw);
}

bool TcpNetwork::port_in_use(std::size_t host, const Binding& wanted, bool reuse, bool reuse_port) const {
  const auto it = bound_.find(host);
  if (it == bound_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [&](const TcpSocket* other) {
    if (!wanted.overlaps(other->binding()) || (reuse_port && other->reuses_port())) return false;
    const bool both_reuse = reuse && other->reuse_address;
    return !both_reuse || other->listening();
  });
}

std::uint16_t TcpNetwork::ephemeral_port(std::size_t host) {
  return ephemeral_.next(host, [&](std::uint16_t port) {
    return port_in_use(host, {{IpAddress(), port}, false}, false, false);
  });
}

TcpSocket* TcpNetwork::listener(std::size_t host, const Endpoint& destination, const Endpoint& source) const {
  const auto it = bound_.find(host);
  if (it == bound_.end()) return nullptr;
  std::vector<TcpSocket*> best;
  int best_rank = 0;
  for (TcpSocket* socket : it->second) {
    if (!socket->listening() || socket->local().port != destination.port) continue;
    if (!socket->binding().accepts(destination.address)) continue;
    // An exact address has precedence over an unspecified one of its family, and that over a dual-stack one.
    const bool same_family = socket->local().address.is_v4() == destination.address.is_v4();
    const int rank = socket->local().address == destination.address ? 3 : same_family ? 2 : 1;
    if (rank > best_rank) best.clear();
    if (rank >= best_rank) best.push_back(socket);
    best_rank = std::max(rank, best_rank);
  }
  if (best.empty()) return nullptr;
  if (!best.front()->reuses_port()) return best.front();
  std::erase_if(best, [](const TcpSocket* socket) { return !socket->reuses_port(); });
  return best[share_of(source, best.size())];
}

std::shared_ptr<TcpConnection> TcpNetwork::connect(std::size_t from, const Endpoint& local,
                                                   const Endpoint& remote, TcpSocket& client) {
  const int to = host_of(remote.address, from);
  const std::size_t server_host = to < 0 ? from : static_cast<std::size_t>(to);
  auto connection = std::make_shared<TcpConnection>(*this, from, server_host, local, remote);
  connection->client_socket = &client;
  hold(connection);
  connection->stream(TcpConnection::kToServer).send(TcpStream::Kind::kSyn, {}, to < 0 ? EHOSTUNREACH : 0);
  return connection;
}

void TcpNetwork::hold(std::shared_ptr<TcpConnection> connection) {
  const std::uint64_t number = connection->number();
  held_[number] = std::move(connection);
}

void TcpNetwork::let_go(const TcpConnection& connection) { held_.erase(connection.number()); }

TcpStream::TcpStream(TcpNetwork& network, TcpConnection& connection, int direction, ComponentId sender, ComponentId receiver)
    : network_(network),
      connection_(connection),
      direction_(direction),
      arrival_timer_(
          Timer::of<&TcpStream::on_arrival>(network.engine(), sender, EventClass::kSupervisor, this)),
      credit_timer_(
          Timer::of<&TcpStream::on_credit>(network.engine(), receiver, EventClass::kSupervisor, this)) {}

std::optional<Duration> TcpStream::held_up(Kind kind, Instant when, Duration* waited) const {
  const bool to_server = direction_ == TcpConnection::kToServer;
  const std::size_t from = connection_.host(!to_server), to = connection_.host(to_server);
  if (kind == Kind::kReset) return Duration::zero();
  const bool handshake = kind == Kind::kSyn || kind == Kind::kSynAck || kind == Kind::kAck;
  Duration timeout = handshake ? kSynRetry : kLeastTimeout;
  for (int tries = handshake ? kSynTries : kDataTries; tries >= 0; --tries) {
    const NetworkFate fate = network_.fate_of(NetworkProtocol::kTcp, from, to, when + *waited);
    if (!fate.is_lost) return *waited + fate.delay;
    *waited += timeout;
    timeout = std::min(timeout * 2, kLongestTimeout);
  }
  return std::nullopt;
}

void TcpStream::send(Kind kind, std::vector<std::byte> bytes, int error, Duration extra) {
  if (given_up_) return;
  const Instant now = network_.engine().now();
  const Instant start = std::max(now, free_at_);
  free_at_ = start + byte_time_of(network_.spec().bits_per_second).time_for(bytes.size() + kSegmentOverhead);
  outstanding_ += bytes.size();
  const bool to_server = direction_ == TcpConnection::kToServer;
  network_.count_payload(connection_.host(!to_server), connection_.host(to_server), bytes.size());
  Duration waited = extra;
  const auto held = held_up(kind, free_at_, &waited);
  if (!held) {
    given_up_ = true;
    kind = Kind::kGivenUp;
    error = ETIMEDOUT;
  }
  Instant arrival = free_at_ + (held ? connection_.latency() + *held : waited);
  if (!segments_.empty()) arrival = std::max(arrival, segments_.back().arrival);
  segments_.push_back({arrival, kind, error, std::move(bytes)});
  ++connection_.segments_in_flight;
  if (!arrival_timer_.scheduled()) arrival_timer_.schedule_at(arrival);
}

std::size_t TcpStream::bytes_in_flight() const {
  std::size_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.bytes.size();
  return sum;
}

void TcpStream::on_arrival() {
  Segment segment = std::move(segments_.front());
  segments_.pop_front();
  if (!segments_.empty()) arrival_timer_.schedule_at(segments_.front().arrival);
  const auto keep = connection_.shared_from_this();
  keep->deliver(direction_, segment.kind, segment.error, std::move(segment.bytes));
  --keep->segments_in_flight;
  keep->release_if_idle();
}

void TcpStream::consumed(std::size_t bytes) {
  const Instant arrival = network_.engine().now() + connection_.latency();
  credits_.push_back({arrival, bytes});
  ++connection_.segments_in_flight;
  if (!credit_timer_.scheduled()) credit_timer_.schedule_at(arrival);
}

void TcpStream::on_credit() {
  const Credit credit = credits_.front();
  credits_.pop_front();
  if (!credits_.empty()) credit_timer_.schedule_at(credits_.front().arrival);
  const auto keep = connection_.shared_from_this();
  outstanding_ -= credit.bytes;
  keep->credit_arrived(direction_);
  --keep->segments_in_flight;
  keep->release_if_idle();
}

TcpConnection::TcpConnection(TcpNetwork& network, std::size_t client_host, std::size_t server_host,
                             const Endpoint& client, const Endpoint& server)
    : network_(network),
      client_host_(client_host),
      server_host_(server_host),
      client_(client),
      server_(server),
      number_(network.next_connection()),
      to_server_(network, *this, kToServer, network.host(client_host).component, network.host(server_host).component),
      to_client_(network, *this, kToClient, network.host(server_host).component, network.host(client_host).component) {}

Duration TcpConnection::latency() const { return network_.latency(client_host_, server_host_); }

void TcpConnection::release_if_idle() {
  if (segments_in_flight == 0 && client_socket == nullptr && server_socket == nullptr) network_.let_go(*this);
}

void TcpConnection::on_syn(int error) {
  TcpSocket* listener = error == 0 ? network_.listener(server_host_, server_, client_) : nullptr;
  if (listener == nullptr) {
    to_client_.send(TcpStream::Kind::kReset, {}, error == 0 ? ECONNREFUSED : error);
  } else if (listener->has_backlog_room()) {
    listener->add_pending();
    to_client_.send(TcpStream::Kind::kSynAck);
  } else if (++syn_tries_ > kSynTries) {
    to_client_.send(TcpStream::Kind::kReset, {}, ETIMEDOUT);
  } else {
    // Dropped: the client retransmits it after 1, 2, 4, … seconds.
    to_server_.send(TcpStream::Kind::kSyn, {}, 0, kSynRetry * (1 << (syn_tries_ - 1)));
  }
}

void TcpConnection::deliver(int direction, TcpStream::Kind kind, int error, std::vector<std::byte> bytes) {
  TcpSocket* receiver = direction == kToServer ? server_socket : client_socket;
  const ComponentId client = network_.host(client_host_).component, server = network_.host(server_host_).component;
  const auto [from, to] = direction == kToServer ? std::pair(client, server) : std::pair(server, client);
  network_.tracer().report_contact(from, to, network_.engine().now() - latency());
  switch (kind) {
    case TcpStream::Kind::kSyn:
      on_syn(error);
      return;
    case TcpStream::Kind::kSynAck:
      to_server_.send(TcpStream::Kind::kAck);
      if (receiver != nullptr) {
        receiver->on_connected();
      } else {
        to_server_.send(TcpStream::Kind::kFin);
      }
      return;
    case TcpStream::Kind::kAck:
      if (TcpSocket* listener = network_.listener(server_host_, server_, client_)) {
        listener->on_established(
            std::make_shared<TcpSocket>(network_, server_host_, listener->family(), shared_from_this()));
      } else {
        to_client_.send(TcpStream::Kind::kReset, {}, ECONNRESET);
      }
      return;
    case TcpStream::Kind::kData:
      network_.tracer().record(network_.host(direction == kToServer ? server_host_ : client_host_).component,
                               TraceEvent::kSocketData, number_, bytes.size(), 0, 0, bytes);
      if (receiver != nullptr) {
        receiver->on_data(std::move(bytes));
      } else {
        stream(1 - direction).send(TcpStream::Kind::kReset, {}, ECONNRESET);
      }
      return;
    case TcpStream::Kind::kFin:
      if (receiver != nullptr) receiver->on_fin();
      return;
    case TcpStream::Kind::kReset:
      if (receiver != nullptr) receiver->on_failed(error);
      return;
    case TcpStream::Kind::kGivenUp:
      if (TcpSocket* sender = direction == kToServer ? client_socket : server_socket) {
        sender->on_failed(error);
      } else if (client_socket != nullptr && client_socket->state() == TcpSocket::State::kConnecting) {
        client_socket->on_failed(error);  // no response to its SYN
      }
      return;
  }
}

void TcpConnection::credit_arrived(int direction) {
  TcpSocket* sender = direction == kToServer ? client_socket : server_socket;
  if (sender != nullptr) sender->on_credit();
}

}  // namespace verbatim::supervisor
