// Sockets: TCP and UDP between simulated hosts, AF_UNIX within a host, rtnetlink. Other families and types
// are refused by name.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/net/netlink_socket.h"
#include "sim/supervisor/net/udp.h"
#include "sim/supervisor/net/unix_socket.h"

namespace verbatim::supervisor {

// A descriptor that is not virtual is a real file or closed.
std::shared_ptr<Socket> Kernel::socket_of(Process& process, std::int64_t fd, Answer* refusal) {
  const VirtualFilePtr file = process.file(fd);
  *refusal = Answer{file != nullptr || process.natively_open(static_cast<int>(fd)) ? -ENOTSOCK : -EBADF};
  return std::dynamic_pointer_cast<Socket>(file);
}

std::optional<std::vector<std::byte>> Kernel::load_name(Thread& thread, std::uint64_t address,
                                                        std::uint64_t length, int* error) {
  if (length > sizeof(sockaddr_storage)) {
    *error = -EINVAL;
    return std::nullopt;
  }
  std::vector<std::byte> name(length);
  if (length > 0 && !read_argument(thread, address, name)) {
    *error = -EFAULT;
    return std::nullopt;
  }
  return name;
}

int Kernel::store_name(Process& process, std::span<const std::byte> name, std::uint64_t address, std::uint64_t length_address) {
  const auto room = process.memory().load<std::int32_t>(length_address);
  if (!room) return -EFAULT;
  if (*room < 0) return -EINVAL;
  const auto shown = name.first(std::min<std::size_t>(static_cast<std::size_t>(*room), name.size()));
  const bool stored = (shown.empty() || process.memory().put(address, shown)) &&
                      process.memory().store(length_address, static_cast<socklen_t>(name.size()));
  return stored ? 0 : -EFAULT;
}

Kernel::Outcome Kernel::sys_socket(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const auto family = static_cast<int>(a[0]);
  const int type = static_cast<int>(a[1]) & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  const auto protocol = static_cast<int>(a[2]);
  const bool nonblocking = (a[1] & SOCK_NONBLOCK) != 0;
  const std::size_t host = process.host_index();
  const bool internet = family == AF_INET || family == AF_INET6;
  if (family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET)) {
    if (protocol != 0 && protocol != AF_UNIX) return Answer{-EPROTONOSUPPORT};
    return install(process, std::make_shared<UnixSocket>(*unix_, process, type), nonblocking);
  }
  if (internet && type == SOCK_DGRAM) {
    if (protocol != 0 && protocol != IPPROTO_UDP) return Answer{-EPROTONOSUPPORT};
    return install(process, std::make_shared<UdpSocket>(*udp_, host, family), nonblocking);
  }
  if (internet && type == SOCK_STREAM) {
    if (protocol != 0 && protocol != IPPROTO_TCP) return Answer{-EPROTONOSUPPORT};
    return install(process, std::make_shared<TcpSocket>(network_, host, family), nonblocking);
  }
  if (family == AF_NETLINK) {
    constexpr int kRoute = 0;
    if (protocol != kRoute || (type != SOCK_RAW && type != SOCK_DGRAM)) return Answer{-EPROTONOSUPPORT};
    return install(process, std::make_shared<NetlinkSocket>(process.host(), type), nonblocking);
  }
  warn(process, fmt::format("socket(family {}, type {}) is not simulated; the program got EAFNOSUPPORT",
                            family, type));
  return Answer{-EAFNOSUPPORT};
}

Kernel::Outcome Kernel::sys_socketpair(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const int type = static_cast<int>(a[1]) & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (a[0] != AF_UNIX) return Answer{a[0] == AF_INET || a[0] == AF_INET6 ? -EOPNOTSUPP : -EAFNOSUPPORT};
  if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET) return Answer{-ESOCKTNOSUPPORT};
  if (a[2] != 0 && a[2] != AF_UNIX) return Answer{-EPROTONOSUPPORT};
  const auto first = std::make_shared<UnixSocket>(*unix_, process, type);
  const auto second = std::make_shared<UnixSocket>(*unix_, process, type);
  UnixSocket::connect_pair(*first, *second);
  return install_pair(process, first, second, (a[1] & SOCK_NONBLOCK) != 0, static_cast<std::uint64_t>(a[3]));
}

Kernel::Outcome Kernel::sys_bind(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = socket_of(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  int error;
  const auto name =
      load_name(thread, static_cast<std::uint64_t>(a[1]), static_cast<std::uint64_t>(a[2]), &error);
  if (!name) return Answer{error};
  if (const int refusal = error_of_socket_name(thread, *name, true); refusal != 0) return Answer{refusal};
  const auto result = socket->bind(thread.process(), *name);
  if (result == 0) own_socket_file(thread, *name);
  deliver_file_events(thread.process().host_index());  // bind creates a name in a folder
  return Answer{result};
}

Kernel::Outcome Kernel::sys_listen(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = socket_of(thread.process(), a[0], &bad);
  return socket == nullptr ? bad : Answer{socket->listen(thread.process(), static_cast<int>(a[1]))};
}

Kernel::Outcome Kernel::sys_connect(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = socket_of(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  int error;
  const auto name =
      load_name(thread, static_cast<std::uint64_t>(a[1]), static_cast<std::uint64_t>(a[2]), &error);
  if (!name) return Answer{error};
  if (const int refusal = error_of_socket_name(thread, *name, false); refusal != 0) return Answer{refusal};
  VirtualFilePtr blocker;
  const IoResult result = socket->connect(thread.process(), *name, thread.retried(), blocker);
  if (result) return Answer{*result};
  return wait_for(thread, {blocker}, kNever, "connect");
}

Kernel::Outcome Kernel::sys_accept(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Answer bad;
  const auto listener = socket_of(thread.process(), a[0], &bad);
  if (listener == nullptr) return bad;
  if (listener->keeps_boundaries() && listener->type() == SOCK_DGRAM) return Answer{-EOPNOTSUPP};
  if (!listener->listening()) return Answer{-EINVAL};
  const auto socket = listener->accept();
  if (socket == nullptr) {
    return wait_or_give_up(thread, {listener}, listener->nonblocking(), listener->read_timeout, "accept");
  }
  if (a[1] != 0) {
    std::vector<std::byte> name;
    socket->name(true, name);
    const int error = store_name(thread.process(), name, static_cast<std::uint64_t>(a[1]), static_cast<std::uint64_t>(a[2]));
    if (error != 0) return Answer{error};
  }
  return install(thread.process(), socket, call.number == SYS_accept4 && (a[3] & SOCK_NONBLOCK) != 0);
}

Kernel::Outcome Kernel::sys_shutdown(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = socket_of(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  if (a[1] < SHUT_RD || a[1] > SHUT_RDWR) return Answer{-EINVAL};
  return Answer{socket->shutdown(static_cast<int>(a[1]))};
}

Kernel::Outcome Kernel::sys_socket_name(Thread& thread) {
  const PendingCall& call = thread.call();
  Answer bad;
  const auto socket = socket_of(thread.process(), call.arguments[0], &bad);
  if (socket == nullptr) return bad;
  std::vector<std::byte> name;
  if (const int error = socket->name(call.number == SYS_getpeername, name)) return Answer{error};
  return Answer{store_name(thread.process(), name, static_cast<std::uint64_t>(call.arguments[1]),
                           static_cast<std::uint64_t>(call.arguments[2]))};
}

}  // namespace verbatim::supervisor
