#include "sim/supervisor/net/ping_socket.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include <algorithm>
#include <cerrno>

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kIpHeaders = 34;  // Ethernet and IPv4
constexpr std::size_t kMostIcmpBytes = 65'507 + sizeof(icmphdr);
constexpr std::size_t kType = 0, kCode = 1, kChecksum = 2, kIdentifier = 4;  // places in the ICMP header

void set_16(std::vector<std::byte>& bytes, std::size_t at, std::uint16_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8);
  bytes[at + 1] = static_cast<std::byte>(value & 0xff);
}

// RFC 1071. `sum`: of the preceding words.
std::uint32_t sum_of(std::span<const std::byte> bytes, std::uint32_t sum) {
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  return sum;
}

// Includes the pseudo header of RFC 8200 for IPv6.
void set_checksum(IpPacket& packet) {
  set_16(packet.bytes, kChecksum, 0);
  std::uint32_t sum = 0;
  if (!packet.to.address.is_v4()) {
    for (const Endpoint* end : {&packet.from, &packet.to}) sum = sum_of(std::as_bytes(std::span(end->address.bytes())), sum);
    sum += static_cast<std::uint32_t>(packet.bytes.size()) + IPPROTO_ICMPV6;
  }
  sum = sum_of(packet.bytes, sum);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  set_16(packet.bytes, kChecksum, static_cast<std::uint16_t>(~sum));
}

}  // namespace

PingNetwork::PingNetwork(TcpNetwork& network)
    : network_(network), links_(network, NetworkProtocol::kIcmp, [this](std::size_t from, std::size_t to, IpPacket packet) {
        deliver(from, to, std::move(packet));
      }) {}

PingSocket* PingNetwork::socket_with(std::size_t host, std::uint16_t identifier) const {
  const auto sockets = bound_.find(host);
  if (sockets == bound_.end()) return nullptr;
  const auto found = std::ranges::find_if(
      sockets->second, [=](const PingSocket* socket) { return socket->binding().local.port == identifier; });
  return found != sockets->second.end() ? *found : nullptr;
}

std::uint16_t PingNetwork::identifier(std::size_t host, std::uint16_t wanted) {
  if (wanted != 0) return socket_with(host, wanted) == nullptr ? wanted : 0;
  std::uint16_t& last = last_[host];
  for (std::uint32_t tries = 0; tries <= UINT16_MAX; ++tries) {
    if (++last != 0 && socket_with(host, last) == nullptr) return last;
  }
  return 0;
}

void PingNetwork::send(std::size_t from_host, IpPacket request) {
  set_checksum(request);
  const int host = network_.host_of(request.to.address, from_host);
  if (host >= 0) links_.send(from_host, static_cast<std::size_t>(host), std::move(request), kIpHeaders);
}

void PingNetwork::deliver(std::size_t from_host, std::size_t host, IpPacket packet) {
  if (packet.kind == IpPacket::Kind::kData) {
    IpPacket reply{IpPacket::Kind::kEchoReply, packet.to, packet.from, std::move(packet.bytes)};
    reply.traffic_class = packet.traffic_class;
    reply.bytes[kType] = static_cast<std::byte>(reply.to.address.is_v4() ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY);
    set_checksum(reply);
    links_.send(host, from_host, std::move(reply), kIpHeaders);
    return;
  }
  PingSocket* const socket = socket_with(host, packet.to.port);
  if (socket == nullptr) return;
  network_.tracer().record(network_.host(host).component, TraceEvent::kSocketData, 0, packet.bytes.size(), 0, 0, packet.bytes);
  packet.from.port = 0;
  socket->on_packet(std::move(packet));
}

PingSocket::~PingSocket() { on_last_close(); }

int PingSocket::protocol() const { return family() == AF_INET ? int{IPPROTO_ICMP} : int{IPPROTO_ICMPV6}; }

int PingSocket::bind_to(Endpoint local) {
  if (is_bound()) return -EINVAL;
  if (local.address.multicast() || !is_own(local.address)) return -EADDRNOTAVAIL;
  local.port = network_.identifier(host(), local.port);
  if (local.port == 0) return -EADDRINUSE;
  set_bound(local);
  network_.bind(host(), this);
  return 0;
}

IoResult PingSocket::send(Process&, OutgoingMessage& message) {
  if (!message.files.empty()) return -EINVAL;
  return send_to(message.bytes, message.to);
}

// Linux sets the identifier and the checksum.
IoResult PingSocket::send_to(std::span<const std::byte> bytes, Name to) {
  if (const int error = refusal_to_send()) return error;
  if (bytes.size() > kMostIcmpBytes) return -EMSGSIZE;
  const auto request = static_cast<std::byte>(family() == AF_INET ? ICMP_ECHO : ICMP6_ECHO_REQUEST);
  if (bytes.size() < sizeof(icmphdr) || bytes[kType] != request || bytes[kCode] != std::byte{0}) return -EINVAL;
  int error = 0;
  std::optional<IpPacket> packet = packet_to(to, &error);
  if (!packet) return error;
  if (packet->to.address.is_v4() != (family() == AF_INET)) return -EINVAL;
  packet->bytes.assign(bytes.begin(), bytes.end());
  if ((error = refusal_of_length(*packet, bytes.size())) != 0) return error;
  set_16(packet->bytes, kIdentifier, packet->from.port);
  network_.send(host(), std::move(*packet));
  return static_cast<std::int64_t>(bytes.size());
}

void PingSocket::on_last_close() {
  if (unbind()) network_.unbind(host(), this);
}

}  // namespace verbatim::supervisor
