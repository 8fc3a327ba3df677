#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/supervisor/net/tcp.h"

namespace verbatim::supervisor {

TcpSocket::TcpSocket(TcpNetwork& network, std::size_t host, int family,
                     std::shared_ptr<TcpConnection> connection)
    : Socket(family, SOCK_STREAM),
      network_(network),
      host_(host),
      state_(State::kConnected),
      local_(connection->endpoint(true)),
      remote_(connection->endpoint(false)),
      is_server_(true),
      connection_(std::move(connection)),
      was_connected_(true) {
  connection_->server_socket = this;
}

TcpSocket::~TcpSocket() { on_last_close(); }

TcpStream& TcpSocket::outgoing() const {
  return connection_->stream(is_server_ ? TcpConnection::kToClient : TcpConnection::kToServer);
}
TcpStream& TcpSocket::incoming() {
  return connection_->stream(is_server_ ? TcpConnection::kToServer : TcpConnection::kToClient);
}

std::uint32_t TcpSocket::readiness() const {
  std::uint32_t events = 0;
  switch (state_) {
    case State::kFresh:
    case State::kClosed:
      return POLLOUT | POLLHUP;
    case State::kListening:
      return accepted_.empty() ? 0 : POLLIN | POLLRDNORM;
    case State::kConnecting:
      return 0;
    case State::kFailed:
      return POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLERR | POLLHUP | POLLRDHUP;
    case State::kConnected:
      break;
  }
  if (!received_.empty() || fin_received_ || read_closed_) events |= POLLIN | POLLRDNORM;
  if (fin_received_ || read_closed_) events |= POLLRDHUP;
  if (fin_received_ && write_closed_) events |= POLLHUP;
  if (write_closed_ || connection_->stream(is_server_ ? 1 : 0).room() >= TcpStream::kWindow / 3) {
    events |= POLLOUT | POLLWRNORM;
  }
  return events;
}

std::optional<InternetState> TcpSocket::internet_state() const {
  const Endpoint none{any_address(family()), 0};
  switch (state_) {
    case State::kListening:
      return InternetState{local_, none, TCP_LISTEN, 0, accepted_.size()};
    case State::kConnecting:
      return InternetState{local_, remote_, TCP_SYN_SENT, 1, 0};
    case State::kConnected: {
      const int number = !write_closed_  ? (fin_received_ ? TCP_CLOSE_WAIT : TCP_ESTABLISHED)
                         : fin_received_ ? TCP_LAST_ACK
                                         : TCP_FIN_WAIT2;
      const std::size_t sent = connection_->stream(is_server_ ? 1 : 0).bytes_in_flight();
      return InternetState{local_, remote_, number, sent, received_.size() + (fin_received_ ? 1 : 0)};
    }
    default:
      return std::nullopt;
  }
}

std::string TcpSocket::describe() const {
  switch (state_) {
    case State::kFresh:
    case State::kClosed:
      return "unconnected TCP socket";
    case State::kListening:
      return "TCP socket listening on " + to_string(local_);
    case State::kConnecting:
      return "TCP socket connecting to " + to_string(remote_);
    default:
      return fmt::format("TCP connection {} to {}", to_string(local_), to_string(remote_));
  }
}

int TcpSocket::bind(Process&, Name name) {
  int error;
  const auto local = parse_endpoint(family(), name, &error);
  if (!local) return error;
  error = bind_to(*local);
  if (error == 0) named_ = *local;
  return error;
}

int TcpSocket::bind_to(Endpoint local) {
  if (bound_ || state_ != State::kFresh) return -EINVAL;
  if (network_.host_of(local.address, host_) != static_cast<int>(host_)) return -EADDRNOTAVAIL;
  if (local.port == 0) {
    local.port = network_.ephemeral_port(host_);
    if (local.port == 0) return -EADDRINUSE;
  } else if (network_.port_in_use(host_, {local, v6_only_}, reuse_address, reuses_port())) {
    return -EADDRINUSE;
  }
  local_ = local;
  bound_ = true;
  network_.bind(host_, this);
  return 0;
}

int TcpSocket::listen(Process&, int backlog) {
  if (state_ != State::kFresh && state_ != State::kListening) return -EINVAL;
  if (!bound_) {
    const int error = bind_to(Endpoint{any_address(family()), 0});
    if (error != 0) return error;
  }
  const TcpSocket* other = network_.listener(host_, local_, local_);
  const bool is_shared = other != nullptr && reuses_port() && other->reuses_port();
  if (other != nullptr && other != this && other->local() == local_ && !is_shared) return -EADDRINUSE;
  state_ = State::kListening;
  backlog_ = std::clamp(backlog, 0, kLongestBacklog) + 1;  // as Linux counts
  return 0;
}

IoResult TcpSocket::connect(Process&, Name name, bool again, VirtualFilePtr& wait_for) {
  wait_for = shared_from_this();
  if (again) {
    if (state_ == State::kConnecting) return std::nullopt;
    has_unreported_success_ = false;
    const int failure = take_error();
    if (failure != 0) disconnect();  // as in Linux: the socket may connect again
    return -failure;
  }
  sa_family_t named = AF_UNSPEC;
  if (name.size() >= sizeof named) std::memcpy(&named, name.data(), sizeof named);
  if (named == AF_UNSPEC && name.size() >= sizeof named) {
    disconnect();
    return 0;
  }
  int error;
  const auto remote = parse_endpoint(family(), name, &error);
  if (!remote) return error;
  const int result = start(*remote);
  const bool waits = result == -EINPROGRESS || (result == -EALREADY && state_ == State::kConnecting);
  if (waits && !nonblocking()) return std::nullopt;
  return result;
}

int TcpSocket::start(const Endpoint& remote) {
  switch (state_) {
    case State::kListening:
      return -EISCONN;
    case State::kConnecting:
      return -EALREADY;
    case State::kConnected:
      // As in Linux: after a nonblocking connect(), the next one reports the success.
      return std::exchange(has_unreported_success_, false) ? 0 : -EISCONN;
    case State::kFailed:
    case State::kClosed: {
      if (was_connected_) return -EISCONN;
      const int failure = take_error();
      disconnect();
      return failure != 0 ? -failure : -ECONNABORTED;
    }
    case State::kFresh:
      break;
  }
  if (!network_.has_route(remote.address, host_)) return -ENETUNREACH;
  if (v6_only_ && remote.address.is_v4()) return -ENETUNREACH;
  if (!bound_) {
    const int error = bind_to(Endpoint{any_address(family()), 0});
    if (error != 0) return error;
  }
  remote_ = remote;
  const IpAddress source = network_.source_for(remote.address, host_);
  if (remote_.address.any()) remote_.address = source;
  if (local_.address.any()) local_.address = source;
  state_ = State::kConnecting;
  has_unreported_success_ = nonblocking();
  connection_ = network_.connect(host_, local_, remote_, *this);
  return -EINPROGRESS;
}

std::shared_ptr<Socket> TcpSocket::accept() {
  if (accepted_.empty()) return nullptr;
  auto socket = std::move(accepted_.front());
  accepted_.pop_front();
  --pending_;
  return socket;
}

int TcpSocket::name(bool peer, std::vector<std::byte>& bytes) const {
  if (peer && state_ != State::kConnected) return -ENOTCONN;
  bytes = name_of(family(), peer ? remote_ : local_);
  return 0;
}

// Options without a visible effect are stored or ignored; options that would change the stream's semantics
// are refused.
int TcpSocket::set_option(int level, int option, int value) {
  if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY && family() == AF_INET6) {
    if (bound_) return -EINVAL;
    v6_only_ = value != 0;
    return 0;
  }
  if (level == IPPROTO_IPV6 && option == IPV6_ADDRFORM) return value == AF_INET ? use_ipv4_form() : -EINVAL;
  if (level == IPPROTO_IP || level == IPPROTO_IPV6) return options_.set(*this, level, option, value);
  if (level != IPPROTO_TCP) return -ENOPROTOOPT;
  switch (option) {
    case TCP_NODELAY:
      no_delay_ = value != 0;
      return 0;
    case TCP_QUICKACK:
    case TCP_CORK:
    case TCP_KEEPIDLE:
    case TCP_KEEPINTVL:
    case TCP_KEEPCNT:
    case TCP_USER_TIMEOUT:
    case TCP_DEFER_ACCEPT:
    case TCP_LINGER2:
    case TCP_SYNCNT:
    case TCP_MAXSEG:
    case TCP_WINDOW_CLAMP:
      return 0;
    default:
      return -ENOPROTOOPT;
  }
}

// An IPv6 socket with an IPv4 peer becomes an IPv4 socket.
int TcpSocket::use_ipv4_form() {
  if (family() != AF_INET6) return -ENOPROTOOPT;
  if (state_ != State::kConnected) return -ENOTCONN;
  if (v6_only_ || !remote_.address.is_v4()) return -EADDRNOTAVAIL;
  set_family(AF_INET);
  return 0;
}

int TcpSocket::get_option(int level, int option, int* value) const {
  if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY && family() == AF_INET6) {
    *value = v6_only_;
  } else if (level == IPPROTO_TCP && option == TCP_MAXSEG) {
    *value = TcpStream::kSegmentBytes;
  } else if (level == IPPROTO_TCP && option == TCP_NODELAY) {
    *value = no_delay_;
  } else {
    return options_.get(*this, level, option, value);
  }
  return 0;
}

std::vector<std::byte> TcpSocket::structured_option(int level, int option) const {
  const auto bytes_of = [](const auto& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    return std::vector<std::byte>(raw.begin(), raw.end());
  };
  if (level != IPPROTO_TCP) return {};
  if (option == TCP_CONGESTION) {
    constexpr char kName[16] = "cubic";  // Linux' default; the management network has no congestion
    return bytes_of(kName);
  }
  if (option != TCP_INFO) return {};
  tcp_info info{};
  info.tcpi_state = TCP_CLOSE;
  if (state_ == State::kListening) info.tcpi_state = TCP_LISTEN;
  if (state_ == State::kConnecting) info.tcpi_state = TCP_SYN_SENT;
  if (state_ == State::kConnected) info.tcpi_state = fin_received_ ? TCP_CLOSE_WAIT : TCP_ESTABLISHED;
  info.tcpi_snd_mss = info.tcpi_rcv_mss = info.tcpi_advmss = TcpStream::kSegmentBytes;
  info.tcpi_pmtu = 1500;
  info.tcpi_rcv_space = TcpStream::kWindow;
  info.tcpi_snd_ssthresh = info.tcpi_rcv_ssthresh = 0x7fffffff;
  info.tcpi_snd_cwnd = TcpStream::kWindow / TcpStream::kSegmentBytes;
  if (connection_ != nullptr) {
    const auto latency_us = static_cast<std::uint32_t>(to_ps(connection_->latency()) / 1'000'000);
    info.tcpi_rtt = info.tcpi_rcv_rtt = 2 * latency_us;
    info.tcpi_rto = 200'000;  // Linux's least
    const std::size_t segments =
        (outgoing().outstanding() + TcpStream::kSegmentBytes - 1) / TcpStream::kSegmentBytes;
    info.tcpi_unacked = static_cast<std::uint32_t>(segments);
  }
  return bytes_of(info);
}

// MCAST_JOIN_GROUP and MCAST_LEAVE_GROUP alone work for TCP.
std::optional<int> TcpSocket::set_structured_option(int level, int option, std::span<const std::byte> value) {
  const bool is_v4 = level == IPPROTO_IP && (option == IP_ADD_MEMBERSHIP || option == IP_DROP_MEMBERSHIP);
  const bool is_v6 = level == IPPROTO_IPV6 && (option == IPV6_ADD_MEMBERSHIP || option == IPV6_DROP_MEMBERSHIP);
  if (is_v4 || is_v6) return -EPROTO;
  return memberships_.set_option(level, option, value, network_.host(host_));
}

IoResult TcpSocket::receive(std::size_t limit, bool peek, IncomingMessage& message) {
  if (state_ == State::kConnecting) return std::nullopt;
  if (state_ != State::kConnected && received_.empty()) {
    if (const int error = take_error()) return -error;
    return state_ == State::kFailed ? 0 : -ENOTCONN;
  }
  if (received_.empty()) {
    if (fin_received_ || read_closed_) return 0;
    return std::nullopt;
  }
  const std::size_t n = std::min(limit, received_.size());
  const auto end = received_.begin() + static_cast<std::ptrdiff_t>(n);
  message.bytes.assign(received_.begin(), end);
  message.length = n;
  if (!peek) {
    received_.erase(received_.begin(), end);
    if (connection_ != nullptr && n > 0) incoming().consumed(n);
  }
  return static_cast<std::int64_t>(n);
}

IoResult TcpSocket::send(Process&, OutgoingMessage& message) {
  if (!message.files.empty()) return -EINVAL;
  return write(message.bytes);
}

IoResult TcpSocket::write(std::span<const std::byte> bytes) {
  if (state_ == State::kConnecting) return std::nullopt;
  if (error_ != 0) return -take_error();
  if (state_ == State::kFailed || write_closed_) return -EPIPE;
  if (state_ != State::kConnected) return state_ == State::kListening ? -ENOTCONN : -EPIPE;
  const std::size_t n = std::min(bytes.size(), outgoing().room());
  if (n == 0 && !bytes.empty()) return std::nullopt;
  if (n > 0)
    outgoing().send(TcpStream::Kind::kData, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)});
  return static_cast<std::int64_t>(n);
}

int TcpSocket::shutdown(int how) {
  if (state_ == State::kListening && how != SHUT_WR) {
    state_ = State::kFresh;
    notify();
    return 0;
  }
  if (state_ != State::kConnected) return -ENOTCONN;
  if (how == SHUT_RD || how == SHUT_RDWR) read_closed_ = true;
  if ((how == SHUT_WR || how == SHUT_RDWR) && !write_closed_) {
    write_closed_ = true;
    outgoing().send(TcpStream::Kind::kFin);
  }
  notify();
  return 0;
}

int TcpSocket::take_error() {
  const int error = error_;
  error_ = 0;
  return error;
}

void TcpSocket::on_connected() {
  state_ = State::kConnected;
  was_connected_ = true;
  notify();
}

void TcpSocket::on_failed(int error) {
  state_ = State::kFailed;
  error_ = error;
  notify();
}

void TcpSocket::on_data(std::vector<std::byte> bytes) {
  received_.insert(received_.end(), bytes.begin(), bytes.end());
  notify();
}

void TcpSocket::on_fin() {
  fin_received_ = true;
  notify();
}

void TcpSocket::on_established(std::shared_ptr<TcpSocket> socket) {
  accepted_.push_back(std::move(socket));
  notify();
}

void TcpSocket::release(bool resets) {
  if (bound_) network_.unbind(host_, this);
  bound_ = false;
  accepted_.clear();  // each resets its peer
  if (connection_ == nullptr) return;
  const std::shared_ptr<TcpConnection> connection = std::move(connection_);
  (is_server_ ? connection->server_socket : connection->client_socket) = nullptr;
  TcpStream& out = connection->stream(is_server_ ? TcpConnection::kToClient : TcpConnection::kToServer);
  if (state_ == State::kConnected && resets) {
    out.send(TcpStream::Kind::kReset, {}, ECONNRESET);
  } else if (state_ == State::kConnected && !write_closed_) {
    out.send(TcpStream::Kind::kFin);
  }
  connection->release_if_idle();
}

void TcpSocket::disconnect() {
  if (state_ == State::kFresh) return;
  const bool is_over = state_ == State::kConnected && fin_received_ && write_closed_;
  if (state_ == State::kConnecting || (state_ == State::kConnected && !is_over)) error_ = ECONNRESET;
  release(!is_over);
  state_ = State::kFresh;
  local_.address = named_.address.any() ? any_address(family()) : named_.address;  // getsockname() still shows the port
  remote_ = {};
  if (named_.port != 0 && !std::exchange(bound_, true)) network_.bind(host_, this);
  received_.clear();
  pending_ = 0;
  fin_received_ = read_closed_ = write_closed_ = was_connected_ = has_unreported_success_ = is_server_ = false;
  notify();
}

void TcpSocket::on_last_close() {
  const bool abandons = linger.l_onoff != 0 && linger.l_linger == 0;  // SO_LINGER with 0: close with RST
  release(!received_.empty() || abandons);
  state_ = State::kClosed;
}

}  // namespace verbatim::supervisor
