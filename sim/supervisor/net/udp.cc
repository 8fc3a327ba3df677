#include "sim/supervisor/net/udp.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>

namespace verbatim::supervisor {

namespace {
constexpr std::size_t kMostBytes = 65'507;  // IPv4 limit
constexpr std::size_t kHeaders = 42;        // Ethernet, IPv4 and UDP, or Ethernet, IPv4 and ICMP
constexpr std::size_t kQuotedHeaders = 28;  // IPv4 and UDP of the datagram in an ICMP error
// Bytes of a datagram in an ICMP error: the message has at most 576 bytes by IPv4, 1280 by IPv6.
constexpr std::size_t kMostQuotedV4 = 576 - 28 - kQuotedHeaders, kMostQuotedV6 = 1280 - 48 - 48;
}  // namespace

UdpNetwork::UdpNetwork(TcpNetwork& network)
    : network_(network), links_(network, NetworkProtocol::kUdp, [this](std::size_t from, std::size_t to, IpPacket packet) {
        deliver(from, to, std::move(packet));
      }) {}

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

void UdpNetwork::send(std::size_t from_host, IpPacket datagram) {
  const int host = network_.host_of(datagram.to.address, from_host);
  if (host < 0) return;  // no host has the address: the datagram is lost
  links_.send(from_host, static_cast<std::size_t>(host), std::move(datagram), kHeaders);
}

void UdpNetwork::deliver(std::size_t from_host, std::size_t host, IpPacket packet) {
  UdpSocket* const socket = receiver(host, packet.to, packet.from);
  if (packet.kind == IpPacket::Kind::kUnreachable) {
    if (socket != nullptr) socket->on_unreachable(std::move(packet));
    return;
  }
  if (socket == nullptr) {
    packet.bytes.resize(std::min(packet.bytes.size(), packet.from.address.is_v4() ? kMostQuotedV4 : kMostQuotedV6));
    links_.send(host, from_host, {IpPacket::Kind::kUnreachable, packet.to, packet.from, std::move(packet.bytes)},
                kHeaders + kQuotedHeaders);
    return;
  }
  network_.tracer().record(network_.host(host).component, TraceEvent::kSocketData, 0, packet.bytes.size(), 0, 0, packet.bytes);
  socket->on_packet(std::move(packet));
}

UdpSocket::~UdpSocket() { on_last_close(); }

int UdpSocket::bind_to(Endpoint local) {
  if (is_bound()) return -EINVAL;
  if (local.address.multicast() || !is_own(local.address)) return -EADDRNOTAVAIL;
  if (local.port == 0) {
    local.port = udp_.ephemeral_port(host());
    if (local.port == 0) return -EADDRINUSE;
  } else if (udp_.port_in_use(host(), {local, binding().v6_only}, this, reuse_address)) {
    return -EADDRINUSE;
  }
  set_bound(local);
  udp_.bind(host(), this);
  return 0;
}

IoResult UdpSocket::append(std::span<const std::byte> bytes, bool is_continued) {
  if (const std::size_t whole = corked_->bytes.size() + bytes.size(); whole > kMostBytes) {
    refusal_of_length(*corked_, sizeof(udphdr) + whole);
    corked_.reset();
    return -EMSGSIZE;
  }
  corked_->bytes.insert(corked_->bytes.end(), bytes.begin(), bytes.end());
  if (!is_continued && !is_corked_) {
    IpPacket datagram = std::move(*corked_);
    corked_.reset();
    if (const int error = refusal_of_length(datagram, sizeof(udphdr) + datagram.bytes.size())) return error;
    udp_.send(host(), std::move(datagram));
  }
  return static_cast<std::int64_t>(bytes.size());
}

IoResult UdpSocket::send_to(std::span<const std::byte> bytes, Name to, bool is_continued) {
  if (const int error = refusal_to_send()) return error;
  if (bytes.size() > kMostBytes && family() == AF_INET) return -EMSGSIZE;
  if (corked_) return append(bytes, is_continued);  // to the address of the first part
  if (!to.empty()) {
    int error;
    const auto named = parse_endpoint(family(), to, &error);
    if (!named) return error;
    if (named->port == 0) return -EINVAL;
  }
  int error = 0;
  corked_ = packet_to(to, &error);
  return corked_ ? append(bytes, is_continued) : error;
}

IoResult UdpSocket::send(Process&, OutgoingMessage& message) {
  if (!message.files.empty()) return -EINVAL;
  return send_to(message.bytes, message.to, message.is_continued);
}

int UdpSocket::set_option(int level, int option, int value) {
  if (level != IPPROTO_UDP || option != UDP_CORK) return DatagramSocket::set_option(level, option, value);
  is_corked_ = value != 0;
  if (!is_corked_ && corked_) append({}, false);
  return 0;
}

int UdpSocket::get_option(int level, int option, int* value) const {
  if (level != IPPROTO_UDP || option != UDP_CORK) return DatagramSocket::get_option(level, option, value);
  *value = is_corked_;
  return 0;
}

void UdpSocket::on_last_close() {
  if (unbind()) udp_.unbind(host(), this);
}

}  // namespace verbatim::supervisor
