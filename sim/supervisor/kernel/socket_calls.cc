// Sockets: TCP, UDP and ICMP echo between simulated hosts, AF_UNIX within a host, rtnetlink. Other families and types
// are refused by name.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/kernel/socket_calls.h"
#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/net/internet.h"
#include "sim/supervisor/net/netlink_socket.h"
#include "sim/supervisor/net/ping_socket.h"
#include "sim/supervisor/net/udp.h"
#include "sim/supervisor/net/unix_socket.h"

namespace verbatim::supervisor {

std::optional<std::vector<std::byte>> load_name(CallContext& call, std::uint64_t address,
                                                std::uint64_t length, int* error) {
  if (length > sizeof(sockaddr_storage)) {
    *error = -EINVAL;
    return std::nullopt;
  }
  std::vector<std::byte> name(length);
  if (length > 0 && !call.read_argument(address, name)) {
    *error = -EFAULT;
    return std::nullopt;
  }
  return name;
}

int store_name(Process& process, std::span<const std::byte> name, std::uint64_t address,
               std::uint64_t length_address) {
  const auto room = process.memory().load<std::int32_t>(length_address);
  if (!room) return -EFAULT;
  if (*room < 0) return -EINVAL;
  const auto shown = name.first(std::min<std::size_t>(static_cast<std::size_t>(*room), name.size()));
  const bool stored = (shown.empty() || process.memory().put(address, shown)) &&
                      process.memory().store(length_address, static_cast<socklen_t>(name.size()));
  return stored ? 0 : -EFAULT;
}

namespace {

int ping_protocol(int family) { return family == AF_INET ? int{IPPROTO_ICMP} : int{IPPROTO_ICMPV6}; }

// -errno of a kind of socket that Linux does not have, in the order of its checks; 0: it has this kind.
int error_of_socket_kind(int family, int type_and_flags, int protocol) {
  constexpr int kTypeMask = 0xf, kTypes = 11, kFamilies = 46,
                kInternetProtocols = 263;  // SOCK_MAX, AF_MAX, IPPROTO_MAX
  const int type = type_and_flags & kTypeMask;
  if ((type_and_flags & ~(kTypeMask | SOCK_NONBLOCK | SOCK_CLOEXEC)) != 0) return -EINVAL;
  if (family < 0 || family >= kFamilies) return -EAFNOSUPPORT;
  if (type >= kTypes) return -EINVAL;
  if (family == AF_UNIX) {
    if (protocol != 0 && protocol != AF_UNIX) return -EPROTONOSUPPORT;
    const bool exists =
        type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET || type == SOCK_RAW;
    return exists ? 0 : -ESOCKTNOSUPPORT;
  }
  if (family != AF_INET && family != AF_INET6) return 0;
  if (protocol < 0 || protocol >= kInternetProtocols) return -EINVAL;
  switch (type) {
    case SOCK_STREAM:
      return protocol == 0 || protocol == IPPROTO_TCP ? 0 : -EPROTONOSUPPORT;
    case SOCK_DGRAM:
      return protocol == 0 || protocol == IPPROTO_UDP || protocol == ping_protocol(family) ? 0 : -EPROTONOSUPPORT;
    case SOCK_RAW:
      return protocol != 0 ? 0 : -EPROTONOSUPPORT;
    case SOCK_SEQPACKET:  // SCTP
    case SOCK_DCCP:
    case SOCK_PACKET:
      return 0;
    default:
      return -ESOCKTNOSUPPORT;
  }
}

// A raw socket of AF_UNIX sends datagrams.
int type_of_unix_socket(int type) { return type == SOCK_RAW ? SOCK_DGRAM : type; }

}  // namespace

CallOutcome sys_socket(CallContext& call, Networks& networks) {
  Process& process = call.process;
  const auto family = call.as_int(0);
  const int type = call.as_int(1) & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  const auto protocol = call.as_int(2);
  if (const int error = error_of_socket_kind(family, call.as_int(1), protocol)) return Answer{error};
  const bool nonblocking = (call.flags(1) & SOCK_NONBLOCK) != 0;
  const std::size_t host = process.host_index();
  const bool internet = family == AF_INET || family == AF_INET6;
  if (family == AF_UNIX) {
    return call.install(
        std::make_shared<UnixSocket>(networks.unix_domain, process, type_of_unix_socket(type)), nonblocking);
  }
  if (internet && type == SOCK_DGRAM && protocol == ping_protocol(family)) {
    return call.install(std::make_shared<PingSocket>(networks.ping, host, family), nonblocking);
  }
  if (internet && type == SOCK_DGRAM) {
    return call.install(std::make_shared<UdpSocket>(networks.udp, host, family), nonblocking);
  }
  if (internet && type == SOCK_STREAM) {
    return call.install(std::make_shared<TcpSocket>(networks.tcp, host, family), nonblocking);
  }
  if (family == AF_NETLINK) {
    constexpr int kSimulated[] = {NETLINK_ROUTE, NETLINK_RDMA, NETLINK_KOBJECT_UEVENT, NETLINK_SOCK_DIAG};
    if (std::ranges::count(kSimulated, protocol) == 0) return Answer{-EPROTONOSUPPORT};
    if (type != SOCK_RAW && type != SOCK_DGRAM) return Answer{-EPROTONOSUPPORT};
    return call.install(std::make_shared<NetlinkSocket>(process.host(), type, protocol), nonblocking);
  }
  call.warn(
      fmt::format("socket(family {}, type {}) is not simulated; the program got EAFNOSUPPORT", family, type));
  return Answer{-EAFNOSUPPORT};
}

CallOutcome sys_socketpair(CallContext& call, Networks& networks) {
  Process& process = call.process;
  const auto family = call.as_int(0);
  const int type = type_of_unix_socket(call.as_int(1) & ~(SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (const int error = error_of_socket_kind(family, call.as_int(1), call.as_int(2))) return Answer{error};
  if (family != AF_UNIX) return Answer{family == AF_INET || family == AF_INET6 ? -EOPNOTSUPP : -EAFNOSUPPORT};
  const auto first = std::make_shared<UnixSocket>(networks.unix_domain, process, type);
  const auto second = std::make_shared<UnixSocket>(networks.unix_domain, process, type);
  UnixSocket::connect_pair(*first, *second);
  return call.install_pair(first, second, (call.flags(1) & SOCK_NONBLOCK) != 0, call.address(3));
}

// Ports below net.ipv4.ip_unprivileged_port_start (1024) need CAP_NET_BIND_SERVICE.
static bool is_reserved_port(const Socket& socket, std::span<const std::byte> name) {
  constexpr std::uint16_t kFirstFree = 1024;
  int error;
  if (socket.family() != AF_INET && socket.family() != AF_INET6) return false;
  const auto local = parse_endpoint(socket.family(), name, &error);
  return local && local->port != 0 && local->port < kFirstFree;
}

CallOutcome sys_bind(CallContext& call, const std::shared_ptr<Socket>& socket) {
  int error;
  const auto name = load_name(call, call.address(1), call.length(2), &error);
  if (!name) return Answer{error};
  if (const int refusal = error_of_socket_name(call, *name, true); refusal != 0) return Answer{refusal};
  if (!call.thread.credentials.may(kCapNetBindService) && is_reserved_port(*socket, *name)) return Answer{-EACCES};
  const auto result = socket->bind(call.process, *name);
  if (result == 0) own_socket_file(call, *name);
  call.host.file_watches->deliver_all();  // bind creates a name in a folder
  return Answer{result};
}

CallOutcome sys_listen(CallContext& call, const std::shared_ptr<Socket>& socket) {
  return Answer{socket->listen(call.process, call.as_int(1))};
}

CallOutcome sys_connect(CallContext& call, const std::shared_ptr<Socket>& socket) {
  int error;
  const auto name = load_name(call, call.address(1), call.length(2), &error);
  if (!name) return Answer{error};
  if (const int refusal = error_of_socket_name(call, *name, false); refusal != 0) return Answer{refusal};
  VirtualFilePtr blocker;
  const IoResult result = socket->connect(call.process, *name, call.is_retry(), blocker);
  if (result) return Answer{*result};
  return call.wait_for({blocker}, kNever, "connect");
}

CallOutcome sys_accept(CallContext& call, const std::shared_ptr<Socket>& listener) {
  const auto& a = call.arguments;
  if (call.number == SYS_accept4 && (call.as_int(3) & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != 0) return Answer{-EINVAL};
  if (listener->keeps_boundaries() && listener->type() == SOCK_DGRAM) return Answer{-EOPNOTSUPP};
  if (!listener->listening()) return Answer{-EINVAL};
  const auto socket = listener->accept();
  if (socket == nullptr) {
    return call.wait_or_give_up({listener}, listener->nonblocking(), listener->read_timeout, "accept");
  }
  if (a[1] != 0) {
    std::vector<std::byte> name;
    socket->name(true, name);
    const int error = store_name(call.process, name, call.address(1), call.address(2));
    if (error != 0) return Answer{error};
  }
  return call.install(socket, call.number == SYS_accept4 && (call.flags(3) & SOCK_NONBLOCK) != 0);
}

CallOutcome sys_shutdown(CallContext& call, const std::shared_ptr<Socket>& socket) {
  const auto& a = call.arguments;
  if (a[1] < SHUT_RD || a[1] > SHUT_RDWR) return Answer{-EINVAL};
  return Answer{socket->shutdown(call.as_int(1))};
}

CallOutcome sys_socket_name(CallContext& call, const std::shared_ptr<Socket>& socket) {
  std::vector<std::byte> name;
  if (const int error = socket->name(call.number == SYS_getpeername, name)) return Answer{error};
  return Answer{store_name(call.process, name, call.address(1), call.address(2))};
}

}  // namespace verbatim::supervisor
