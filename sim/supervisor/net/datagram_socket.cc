#include "sim/supervisor/net/datagram_socket.h"

#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/supervisor/net/interfaces.h"

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kBookkeeping = 768;  // receive buffer charge per packet, as Linux accounts for small ones

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> joined(std::vector<std::byte> first, const std::vector<std::byte>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::uint32_t DatagramSocket::readiness() const {
  std::uint32_t events = POLLOUT | POLLWRNORM;
  if (!queue_.empty() || read_closed_) events |= POLLIN | POLLRDNORM;
  if (read_closed_) events |= POLLRDHUP;
  if (read_closed_ && write_closed_) events |= POLLHUP;
  if (error_ != 0 || !errors_.empty()) events |= POLLERR;
  return events;
}

int DatagramSocket::bind(Process&, Name name) {
  int error;
  const auto local = parse_endpoint(family(), name, &error);
  return local ? bind_to(*local) : error;
}

void DatagramSocket::set_bound(const Endpoint& local) {
  local_ = local;
  bound_ = true;
}

IoResult DatagramSocket::connect(Process&, Name name, bool, VirtualFilePtr&) {
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
  if (!network_.has_route(remote->address, host_)) return -ENETUNREACH;
  if (!bound_) {
    if (const int failure = bind_to({any_address(family()), 0})) return failure;
  }
  const IpAddress source = network_.source_for(remote->address, host_);
  remote_ = *remote;
  if (remote_.address.any()) remote_.address = source;
  if (local_.address.any()) local_.address = source;
  connected_ = true;
  return 0;
}

int DatagramSocket::refusal_to_send() {
  if (error_ != 0) return -take_error();
  return write_closed_ ? -EPIPE : 0;
}

std::optional<IpPacket> DatagramSocket::packet_to(Name to, int* error) {
  Endpoint remote = remote_;
  if (!to.empty()) {
    const auto named = parse_endpoint(family(), to, error);
    if (!named) return std::nullopt;
    remote = *named;
  } else if (!connected_) {
    *error = -EDESTADDRREQ;
    return std::nullopt;
  }
  *error = -ENETUNREACH;
  if (!network_.has_route(remote.address, host_)) return std::nullopt;
  if (!bound_) {
    if ((*error = bind_to({any_address(family()), 0})) != 0) return std::nullopt;
  }
  const IpAddress source = network_.source_for(remote.address, host_);
  if (remote.address.any()) remote.address = source;
  Endpoint local = local_;
  if (local.address.any()) local.address = source;
  const bool v4 = remote.address.is_v4();
  const int hops = v4 ? options_.at(IPPROTO_IP, IP_TTL) : options_.at(IPPROTO_IPV6, IPV6_UNICAST_HOPS);
  const int traffic_class = v4 ? options_.at(IPPROTO_IP, IP_TOS) : options_.at(IPPROTO_IPV6, IPV6_TCLASS);
  return IpPacket{IpPacket::Kind::kData, local, remote, {}, hops, traffic_class};
}

IoResult DatagramSocket::receive(std::size_t limit, bool peek, IncomingMessage& message) {
  if (error_ != 0) return -take_error();
  if (queue_.empty()) {
    if (read_closed_) return 0;
    return std::nullopt;
  }
  const Received& first = queue_.front();
  const std::vector<std::byte>& bytes = first.packet.bytes;
  const std::size_t n = std::min(limit, bytes.size());
  message.bytes.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
  message.length = bytes.size();
  message.from = name_of(family(), first.packet.from);
  add_control(first, message);
  if (!peek) {
    queued_bytes_ -= bytes.size() + kBookkeeping;
    queue_.pop_front();
  }
  return static_cast<std::int64_t>(n);
}

// The socket's error is that of the next queued message afterwards (sock_dequeue_err_skb).
IoResult DatagramSocket::receive_error(std::size_t limit, IncomingMessage& message) {
  if (errors_.empty()) return std::nullopt;
  const Received first = std::move(errors_.front());
  errors_.pop_front();
  error_ = errors_.empty() || errors_.front().mtu != 0 ? 0 : ECONNREFUSED;
  const IpPacket& packet = first.packet;
  const std::size_t n = std::min(limit, packet.bytes.size());
  message.bytes.assign(packet.bytes.begin(), packet.bytes.begin() + static_cast<std::ptrdiff_t>(n));
  message.length = packet.bytes.size();
  message.flags |= MSG_ERRQUEUE;
  message.from = name_of(family(), packet.from);
  const bool v4 = packet.from.address.is_v4(), six = family() == AF_INET6;
  sock_extended_err cause{};
  std::vector<std::byte> offender = name_of(family(), {packet.from.address, 0});
  if (first.mtu != 0) {
    cause.ee_errno = EMSGSIZE;
    cause.ee_origin = SO_EE_ORIGIN_LOCAL;
    cause.ee_info = static_cast<std::uint32_t>(first.mtu);
    std::ranges::fill(offender, std::byte{0});
  } else {
    add_control(first, message);
    cause.ee_errno = ECONNREFUSED;
    cause.ee_origin = v4 ? SO_EE_ORIGIN_ICMP : SO_EE_ORIGIN_ICMP6;
    cause.ee_type = v4 ? ICMP_DEST_UNREACH : ICMP6_DST_UNREACH;
    cause.ee_code = v4 ? ICMP_PORT_UNREACH : ICMP6_DST_UNREACH_NOPORT;
  }
  message.control.push_back(
      {six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_RECVERR : IP_RECVERR, joined(bytes_of(cause), offender)});
  return static_cast<std::int64_t>(n);
}

void DatagramSocket::add_control(const Received& received, IncomingMessage& message) const {
  message.arrival = received.arrival;
  message.timestamp_option = timestamp_option;
  add_packet_control(received.packet, message);
}

void DatagramSocket::add_packet_control(const IpPacket& packet, IncomingMessage& message) const {
  if (!options_.has_any()) return;
  const auto add = [&](int level, int type, std::vector<std::byte> bytes) {
    message.control.push_back({level, type, std::move(bytes)});
  };
  const auto wants = [this](int level, int option) { return options_.at(level, option) != 0; };
  const bool v4 = packet.from.address.is_v4();
  const auto index = [&] {
    if (is_own(packet.from.address)) return kLoopbackIndex;
    for (const Interface& one : interfaces_of(network_.host(host_))) {
      if (packet.to.address == one.v4 || packet.to.address == one.v6) return one.index;
    }
    return kEthernetIndex;
  };
  const auto add_info6 = [&](int type) {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, packet.to.address.bytes().data(), sizeof info.ipi6_addr);
    info.ipi6_ifindex = static_cast<unsigned>(index());
    add(IPPROTO_IPV6, type, bytes_of(info));
  };
  if (wants(IPPROTO_IPV6, IPV6_RECVPKTINFO)) add_info6(IPV6_PKTINFO);
  if (v4) {
    if (wants(IPPROTO_IP, IP_PKTINFO)) {
      const in_addr to{htonl(packet.to.address.as_v4())};
      add(IPPROTO_IP, IP_PKTINFO, bytes_of(in_pktinfo{index(), to, to}));
    }
    if (wants(IPPROTO_IP, IP_RECVTTL)) add(IPPROTO_IP, IP_TTL, bytes_of(packet.hops));
    if (wants(IPPROTO_IP, IP_RECVTOS)) add(IPPROTO_IP, IP_TOS, bytes_of(static_cast<std::uint8_t>(packet.traffic_class)));
    return;
  }
  if (wants(IPPROTO_IPV6, IPV6_RECVHOPLIMIT)) add(IPPROTO_IPV6, IPV6_HOPLIMIT, bytes_of(packet.hops));
  if (wants(IPPROTO_IPV6, IPV6_RECVTCLASS)) add(IPPROTO_IPV6, IPV6_TCLASS, bytes_of(packet.traffic_class));
  // The options of RFC 2292 have control data of their own.
  if (wants(IPPROTO_IPV6, IPV6_2292PKTINFO)) add_info6(IPV6_2292PKTINFO);
  if (wants(IPPROTO_IPV6, IPV6_2292HOPLIMIT)) add(IPPROTO_IPV6, IPV6_2292HOPLIMIT, bytes_of(packet.hops));
}

std::optional<InternetState> DatagramSocket::internet_state() const {
  if (!bound_) return std::nullopt;
  const Endpoint remote = connected_ ? remote_ : Endpoint{any_address(family()), 0};
  return InternetState{local_, remote, connected_ ? TCP_ESTABLISHED : TCP_CLOSE, 0,
                       queued_bytes_};
}

int DatagramSocket::shutdown(int how) {
  if (!connected_) return -ENOTCONN;
  if (how != SHUT_WR) read_closed_ = true;
  if (how != SHUT_RD) write_closed_ = true;
  notify();
  return 0;
}

int DatagramSocket::name(bool peer, std::vector<std::byte>& bytes) const {
  if (peer && !connected_) return -ENOTCONN;
  bytes = name_of(family(), peer ? remote_ : local_);
  return 0;
}

int DatagramSocket::set_option(int level, int option, int value) {
  if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY && family() == AF_INET6) {
    if (bound_) return -EINVAL;
    v6_only_ = value != 0;
    return 0;
  }
  const int error = options_.set(*this, level, option, value);
  if (!queues_errors()) errors_.clear();
  return error;
}

int DatagramSocket::get_option(int level, int option, int* value) const {
  const bool six = level == IPPROTO_IPV6 && family() == AF_INET6;
  if (six && option == IPV6_V6ONLY) {
    *value = v6_only_;
    return 0;
  }
  if ((level == IPPROTO_IP && option == IP_MTU) || (six && option == IPV6_MTU)) {
    if (!connected_) return -ENOTCONN;
    *value = mtu_to(remote_.address);
    return 0;
  }
  return options_.get(*this, level, option, value);
}

int DatagramSocket::refusal_of_length(const IpPacket& packet, std::size_t length) {
  const bool v4 = packet.to.address.is_v4();
  const int discovery = v4 ? options_.at(IPPROTO_IP, IP_MTU_DISCOVER) : options_.at(IPPROTO_IPV6, IPV6_MTU_DISCOVER);
  if (discovery != IP_PMTUDISC_DO && discovery != IP_PMTUDISC_PROBE) return 0;
  const int mtu = mtu_to(packet.to.address);
  const std::size_t ip_header = v4 ? sizeof(iphdr) : sizeof(ip6_hdr);
  if (length + ip_header <= static_cast<std::size_t>(mtu)) return 0;
  if (queues_errors()) {
    errors_.push_back({{IpPacket::Kind::kUnreachable, packet.to, packet.from, {}}, network_.engine().now(), mtu});
    notify();
  }
  return -EMSGSIZE;
}

int DatagramSocket::mtu_to(const IpAddress& address) const {
  const std::vector<Interface> all = interfaces_of(network_.host(host_));
  const IpAddress source = network_.source_for(address, host_);
  const auto leaves_by = [&](const Interface& one) { return !is_own(address) && (one.v4 == source || one.v6 == source); };
  const auto found = std::ranges::find_if(all, leaves_by);
  const auto mtu = static_cast<int>((found != all.end() ? *found : all.front()).mtu);  // the first is lo
  return address.is_v4() ? std::min<int>(mtu, IP_MAXPACKET) : mtu;
}

bool DatagramSocket::queues_errors() const {
  return options_.at(IPPROTO_IP, IP_RECVERR) != 0 || options_.at(IPPROTO_IPV6, IPV6_RECVERR) != 0;
}

void DatagramSocket::on_packet(IpPacket packet) {
  const std::size_t needed = packet.bytes.size() + kBookkeeping;
  if (!queue_.empty() && queued_bytes_ + needed > static_cast<std::size_t>(receive_buffer)) return;
  queued_bytes_ += needed;
  queue_.push_back({std::move(packet), network_.engine().now()});
  notify();
}

void DatagramSocket::on_unreachable(IpPacket error) {
  if (!connected_ && !queues_errors()) return;
  if (queues_errors()) errors_.push_back({std::move(error), network_.engine().now()});
  error_ = ECONNREFUSED;
  notify();
}

}  // namespace verbatim::supervisor
