#include "sim/supervisor/net/udp.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace verbatim::supervisor {

namespace {
constexpr std::size_t kMostBytes = 65'507;  // IPv4 limit
constexpr std::size_t kOverhead = 42;       // Ethernet, IPv4 and UDP headers
constexpr std::size_t kBookkeeping =
    768;  // receive buffer charge per datagram, as Linux accounts for small ones
}  // namespace

// One direction between two hosts. Datagrams arrive in order, except those that a fault delays.
class UdpNetwork::Link {
 public:
  Link(UdpNetwork& network, std::size_t from, std::size_t to, Duration latency)
      : network_(network),
        from_(from),
        to_(to),
        latency_(latency),
        timer_(Timer::of<&Link::on_arrival>(network.network_.engine(), network.network_.host(from).component,
                                            EventClass::kSupervisor, this)) {}

  void send(const Endpoint& from, const Endpoint& to, std::vector<std::byte> bytes, bool unreachable) {
    const Instant now = network_.network_.engine().now();
    const auto byte_time = byte_time_of(network_.network_.spec().bits_per_second);
    free_at_ = std::max(now, free_at_) + byte_time.time_for(bytes.size() + kOverhead);
    const NetworkFate fate =
        unreachable ? NetworkFate{} : network_.network_.fate_of(NetworkProtocol::kUdp, from_, to_, free_at_);
    if (fate.is_lost) return;
    const Instant arrival = free_at_ + latency_ + fate.delay;
    const auto behind = std::ranges::upper_bound(flights_, arrival, {}, &Flight::arrival);
    flights_.insert(behind, {arrival, from, to, std::move(bytes), unreachable});
    if (!timer_.scheduled() || flights_.front().arrival < timer_.when()) {
      timer_.reschedule_at(flights_.front().arrival);
    }
  }

 private:
  struct Flight {
    Instant arrival;
    Endpoint from, to;
    std::vector<std::byte> bytes;
    bool unreachable;
  };
  void on_arrival() {
    Flight flight = std::move(flights_.front());
    flights_.pop_front();
    if (!flights_.empty()) timer_.schedule_at(flights_.front().arrival);
    network_.deliver(to_, flight.from, flight.to, from_, std::move(flight.bytes), flight.unreachable);
  }

  UdpNetwork& network_;
  std::size_t from_, to_;
  Duration latency_;
  Instant free_at_{};
  std::deque<Flight> flights_;
  Timer timer_;
};

UdpNetwork::UdpNetwork(TcpNetwork& network) : network_(network) {}
UdpNetwork::~UdpNetwork() = default;

UdpNetwork::Link& UdpNetwork::link(std::size_t from, std::size_t to) {
  auto& link = links_[{from, to}];
  if (link == nullptr) link = std::make_unique<Link>(*this, from, to, network_.latency(from, to));
  return *link;
}

bool UdpNetwork::port_in_use(std::size_t host, const Binding& wanted, const UdpSocket* self,
                             bool reuse) const {
  const auto it = bound_.find(host);
  if (it == bound_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [&](const UdpSocket* other) {
    return other != self && wanted.overlaps(other->binding()) && !(reuse && other->reuse_address);
  });
}

std::uint16_t UdpNetwork::ephemeral_port(std::size_t host) {
  return ephemeral_.next(host, [&](std::uint16_t port) {
    return port_in_use(host, {{IpAddress(), port}, false}, nullptr, false);
  });
}

UdpSocket* UdpNetwork::receiver(std::size_t host, const Endpoint& to, const Endpoint& from) const {
  const auto it = bound_.find(host);
  if (it == bound_.end()) return nullptr;
  std::vector<UdpSocket*> best;
  int best_score = 0;
  for (UdpSocket* socket : it->second) {
    const Binding binding = socket->binding();
    if (binding.local.port != to.port || !binding.accepts(to.address) || !socket->hears(from)) continue;
    const int score = 1 + (binding.local.address == to.address ? 2 : 0) + (socket->connected() ? 4 : 0);
    if (score > best_score) best.clear();
    if (score >= best_score) best.push_back(socket);
    best_score = std::max(score, best_score);
  }
  if (best.empty()) return nullptr;
  if (!best.front()->reuses_port()) return best.front();
  std::erase_if(best, [](const UdpSocket* socket) { return !socket->reuses_port(); });
  return best[share_of(from, best.size())];
}

void UdpNetwork::send(std::size_t from_host, const Endpoint& from, const Endpoint& to,
                      std::vector<std::byte> bytes) {
  const int host = network_.host_of(to.address, from_host);
  if (host < 0) return;  // no host has the address: the datagram is lost
  link(from_host, static_cast<std::size_t>(host)).send(from, to, std::move(bytes), false);
}

void UdpNetwork::deliver(std::size_t host, const Endpoint& from, const Endpoint& to, std::size_t from_host,
                         std::vector<std::byte> bytes, bool unreachable) {
  UdpSocket* socket = receiver(host, to, from);
  network_.tracer().report_contact(network_.host(from_host).component, network_.host(host).component,
                                 network_.engine().now() - network_.latency(from_host, host));
  if (unreachable) {
    if (socket != nullptr) socket->on_unreachable();
    return;
  }
  if (socket == nullptr) {
    link(host, from_host).send(to, from, {}, true);
    return;
  }
  network_.tracer().record(network_.host(host).component, TraceEvent::kSocketData, 0, bytes.size(), 0, 0,
                           bytes);
  socket->on_datagram(from, std::move(bytes));
}

UdpSocket::~UdpSocket() { on_last_close(); }

std::uint32_t UdpSocket::readiness() const {
  std::uint32_t events = POLLOUT | POLLWRNORM;
  if (!queue_.empty() || read_closed_) events |= POLLIN | POLLRDNORM;
  if (read_closed_) events |= POLLRDHUP;
  if (read_closed_ && write_closed_) events |= POLLHUP;
  if (error_ != 0) events |= POLLERR;
  return events;
}

int UdpSocket::bind(Process&, Name name) {
  int error;
  const auto local = parse_endpoint(family(), name, &error);
  return local ? bind_to(*local) : error;
}

int UdpSocket::bind_to(Endpoint local) {
  if (bound_) return -EINVAL;
  if (local.address.multicast() ||
      network_.hosts().host_of(local.address, host_) != static_cast<int>(host_)) {
    return -EADDRNOTAVAIL;
  }
  if (local.port == 0) {
    local.port = network_.ephemeral_port(host_);
    if (local.port == 0) return -EADDRINUSE;
  } else if (network_.port_in_use(host_, {local, v6_only_}, this, reuse_address)) {
    return -EADDRINUSE;
  }
  local_ = local;
  bound_ = true;
  network_.bind(host_, this);
  return 0;
}

IoResult UdpSocket::connect(Process&, Name name, bool, VirtualFilePtr&) {
  sa_family_t named = AF_UNSPEC;
  if (name.size() >= sizeof named) std::memcpy(&named, name.data(), sizeof named);
  if (named == AF_UNSPEC) {
    connected_ = false;
    remote_ = {};
    return 0;
  }
  int error;
  const auto remote = parse_endpoint(family(), name, &error);
  if (!remote) return error;
  if (remote->address.multicast()) return -ENETUNREACH;
  if (!bound_) {
    if (const int failure = bind_to({any_address(family()), 0})) return failure;
  }
  const IpAddress source = network_.hosts().source_for(remote->address, host_);
  remote_ = *remote;
  if (remote_.address.any()) remote_.address = source;
  if (local_.address.any()) local_.address = source;
  connected_ = true;
  return 0;
}

IoResult UdpSocket::append(std::span<const std::byte> bytes, bool is_continued) {
  if (corked_->bytes.size() + bytes.size() > kMostBytes) {
    corked_.reset();
    return -EMSGSIZE;
  }
  corked_->bytes.insert(corked_->bytes.end(), bytes.begin(), bytes.end());
  if (!is_continued && !is_corked_) {
    network_.send(host_, corked_->from, corked_->to, std::move(corked_->bytes));
    corked_.reset();
  }
  return static_cast<std::int64_t>(bytes.size());
}

IoResult UdpSocket::send_to(std::span<const std::byte> bytes, Name to, bool is_continued) {
  if (error_ != 0) return -take_error();
  if (write_closed_) return -EPIPE;
  if (bytes.size() > kMostBytes) return -EMSGSIZE;
  if (corked_) return append(bytes, is_continued);  // to the address of the first part
  Endpoint remote = remote_;
  if (!to.empty()) {
    int error;
    const auto named = parse_endpoint(family(), to, &error);
    if (!named) return error;
    if (named->port == 0) return -EINVAL;
    remote = *named;
  } else if (!connected_) {
    return -EDESTADDRREQ;
  }
  if (remote.address.multicast()) return -ENETUNREACH;
  if (!bound_) {
    if (const int error = bind_to({any_address(family()), 0})) return error;
  }
  const IpAddress source = network_.hosts().source_for(remote.address, host_);
  if (remote.address.any()) remote.address = source;
  Endpoint local = local_;
  if (local.address.any()) local.address = source;
  corked_ = Corked{local, remote, {}};
  return append(bytes, is_continued);
}

IoResult UdpSocket::send(Process&, OutgoingMessage& message) {
  if (!message.files.empty()) return -EINVAL;
  return send_to(message.bytes, message.to, message.is_continued);
}

IoResult UdpSocket::receive(std::size_t limit, bool peek, IncomingMessage& message) {
  if (error_ != 0) return -take_error();
  if (queue_.empty()) {
    if (read_closed_) return 0;
    return std::nullopt;
  }
  const Datagram& first = queue_.front();
  const std::size_t n = std::min(limit, first.bytes.size());
  message.bytes.assign(first.bytes.begin(), first.bytes.begin() + static_cast<std::ptrdiff_t>(n));
  message.length = first.bytes.size();
  message.from = name_of(family(), first.from);
  if (!peek) {
    queued_bytes_ -= first.bytes.size() + kBookkeeping;
    queue_.pop_front();
  }
  return static_cast<std::int64_t>(n);
}

int UdpSocket::shutdown(int how) {
  if (!connected_) return -ENOTCONN;
  if (how != SHUT_WR) read_closed_ = true;
  if (how != SHUT_RD) write_closed_ = true;
  notify();
  return 0;
}

int UdpSocket::name(bool peer, std::vector<std::byte>& bytes) const {
  if (peer && !connected_) return -ENOTCONN;
  bytes = name_of(family(), peer ? remote_ : local_);
  return 0;
}

int UdpSocket::set_option(int level, int option, int value) {
  if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY && family() == AF_INET6) {
    if (bound_) return -EINVAL;
    v6_only_ = value != 0;
    return 0;
  }
  if (level == IPPROTO_UDP && option == UDP_CORK) {
    is_corked_ = value != 0;
    if (!is_corked_ && corked_) append({}, false);
    return 0;
  }
  return is_ip_option(family(), level, option) ? 0 : -ENOPROTOOPT;
}

int UdpSocket::get_option(int level, int option, int* value) const {
  if (level == IPPROTO_UDP && option == UDP_CORK) {
    *value = is_corked_;
    return 0;
  }
  if (level != IPPROTO_IPV6 || option != IPV6_V6ONLY || family() != AF_INET6) return -ENOPROTOOPT;
  *value = v6_only_;
  return 0;
}

int UdpSocket::take_error() {
  const int error = error_;
  error_ = 0;
  return error;
}

void UdpSocket::on_datagram(const Endpoint& from, std::vector<std::byte> bytes) {
  const std::size_t needed = bytes.size() + kBookkeeping;
  if (!queue_.empty() && queued_bytes_ + needed > static_cast<std::size_t>(receive_buffer)) return;
  queued_bytes_ += needed;
  queue_.push_back({from, std::move(bytes)});
  notify();
}

void UdpSocket::on_unreachable() {
  if (!connected_) return;
  error_ = ECONNREFUSED;
  notify();
}

void UdpSocket::on_last_close() {
  if (bound_) network_.unbind(host_, this);
  bound_ = false;
}

}  // namespace verbatim::supervisor
