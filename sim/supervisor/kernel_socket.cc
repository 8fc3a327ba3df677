// TCP over IPv4 between simulated hosts. Other families and types are refused by name.
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/kernel.h"
#include "sim/supervisor/plain_sockets.h"

namespace verbatim::supervisor {

namespace {

// A descriptor that is not ours is a file or closed: the kernel says which (ENOTSOCK or EBADF).
std::shared_ptr<TcpSocket> tcp_socket(Process& process, std::int64_t fd, Answer* refusal) {
  const VirtualFilePtr file = process.file(fd);
  *refusal = file == nullptr ? Answer{0, protocol::Action::kNative} : Answer{-ENOTSOCK};
  return std::dynamic_pointer_cast<TcpSocket>(file);
}

}  // namespace

std::optional<Endpoint> Kernel::load_endpoint(Process& process, std::uint64_t address, std::uint64_t length,
                                              int* error) {
  if (length < sizeof(sockaddr_in)) {
    *error = -EINVAL;
    return std::nullopt;
  }
  const auto name = process.memory().load<sockaddr_in>(address);
  if (!name) {
    *error = -EFAULT;
    return std::nullopt;
  }
  if (name->sin_family != AF_INET) {
    *error = -EAFNOSUPPORT;
    return std::nullopt;
  }
  return Endpoint{ntohl(name->sin_addr.s_addr), ntohs(name->sin_port)};
}

bool Kernel::store_endpoint(Process& process, const Endpoint& endpoint, std::uint64_t address,
                            std::uint64_t length_address) {
  if (address == 0) return true;
  const auto room = process.memory().load<socklen_t>(length_address);
  if (!room) return false;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(endpoint.address);
  name.sin_port = htons(endpoint.port);
  const auto bytes = std::as_bytes(std::span(&name, 1));
  return process.memory().write(address, bytes.first(std::min<std::size_t>(*room, bytes.size()))) &&
         process.memory().store(length_address, static_cast<socklen_t>(sizeof name));
}

Kernel::Outcome Kernel::sys_socket(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const auto family = static_cast<int>(a[0]);
  const int type = static_cast<int>(a[1]) & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  const bool nonblocking = (a[1] & SOCK_NONBLOCK) != 0;
  if (family == AF_INET6) return Answer{-EAFNOSUPPORT};  // the simulated hosts have no IPv6
  if (family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET)) {
    return install(process, std::make_shared<UnixSocket>(), nonblocking);
  }
  if (family == AF_INET && type == SOCK_DGRAM) {
    return install(process, std::make_shared<DatagramSocket>(), nonblocking);
  }
  // Libraries that look for address changes do without netlink.
  if (family == AF_NETLINK) return Answer{-EAFNOSUPPORT};
  if (family != AF_INET || type != SOCK_STREAM) {
    warn_(process, fmt::format("socket(family {}, type {}) is not simulated; the program got EAFNOSUPPORT", family, type));
    return Answer{-EAFNOSUPPORT};
  }
  if (a[2] != 0 && a[2] != IPPROTO_TCP) return Answer{-EPROTONOSUPPORT};
  return install(process, std::make_shared<TcpSocket>(network_, process.host_index()), nonblocking);
}

Kernel::Outcome Kernel::sys_bind(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  int error;
  const auto local = load_endpoint(thread.process(), static_cast<std::uint64_t>(a[1]),
                                   static_cast<std::uint64_t>(a[2]), &error);
  return Answer{local ? socket->bind(*local) : error};
}

Kernel::Outcome Kernel::sys_listen(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  return socket == nullptr ? bad : Answer{socket->listen(static_cast<int>(a[1]))};
}

// Name services that are not there (nscd) are looked for by every program; any other path is worth a word.
Kernel::Outcome Kernel::connect_unix(Process& process, std::uint64_t address, std::uint64_t length) {
  sockaddr_un name{};
  const auto bytes = std::as_writable_bytes(std::span(&name, 1));
  if (length > sizeof name || !process.memory().read(address, bytes.first(length))) return Answer{-EINVAL};
  name.sun_path[sizeof name.sun_path - 1] = '\0';
  const std::string path = name.sun_path;
  if (path != "/var/run/nscd/socket") {
    warn_(process, fmt::format("AF_UNIX sockets are not simulated; connecting to {} got ENOENT", path));
  }
  return Answer{-ENOENT};
}

Kernel::Outcome Kernel::connect_datagram(Process& process, DatagramSocket& socket, std::uint64_t address,
                                         std::uint64_t length) {
  int error;
  const auto remote = load_endpoint(process, address, length, &error);
  if (!remote) return Answer{error};
  const int host = network_.host_of(remote->address, process.host_index());
  if (host < 0) return Answer{-ENETUNREACH};
  socket.remote = *remote;
  socket.local.address = remote->address >> 24 == 127 ? 0x7f000001 : process.host().address;
  if (socket.local.port == 0) socket.local.port = network_.ephemeral_port(process.host_index());
  return Answer{0};
}

Kernel::Outcome Kernel::sys_connect(Thread& thread) {
  const auto& a = thread.call().arguments;
  const auto name = static_cast<std::uint64_t>(a[1]);
  const auto name_length = static_cast<std::uint64_t>(a[2]);
  const VirtualFilePtr file = thread.process().file(a[0]);
  if (dynamic_cast<UnixSocket*>(file.get()) != nullptr) return connect_unix(thread.process(), name, name_length);
  if (auto* datagram = dynamic_cast<DatagramSocket*>(file.get())) {
    return connect_datagram(thread.process(), *datagram, name, name_length);
  }
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  if (!thread.retried()) {
    int error;
    const auto remote = load_endpoint(thread.process(), name, name_length, &error);
    if (!remote) return Answer{error};
    const int result = socket->connect(*remote);
    if (result != -EINPROGRESS || socket->nonblocking()) return Answer{result};
  }
  if (socket->state() == TcpSocket::State::kConnecting) return wait_for(thread, {socket}, kNever, "connect");
  return Answer{-socket->take_error()};
}

Kernel::Outcome Kernel::sys_accept(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Answer bad;
  const auto listener = tcp_socket(thread.process(), a[0], &bad);
  if (listener == nullptr) return bad;
  if (listener->state() != TcpSocket::State::kListening) return Answer{-EINVAL};
  const auto socket = listener->accept();
  if (socket == nullptr) {
    if (listener->nonblocking()) return Answer{-EAGAIN};
    return wait_for(thread, {listener}, kNever, "accept");
  }
  if (!store_endpoint(thread.process(), socket->remote(), static_cast<std::uint64_t>(a[1]),
                      static_cast<std::uint64_t>(a[2]))) {
    return Answer{-EFAULT};
  }
  return install(thread.process(), socket, call.number == SYS_accept4 && (a[3] & SOCK_NONBLOCK) != 0);
}

Kernel::Outcome Kernel::sys_sendto(Thread& thread) {
  const auto& a = thread.call().arguments;
  if (dynamic_cast<DatagramSocket*>(thread.process().file(a[0]).get()) != nullptr) {
    warn_(thread.process(), "sending UDP datagrams is not simulated; the program got EOPNOTSUPP");
    return Answer{-EOPNOTSUPP};
  }
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  if ((a[3] & MSG_OOB) != 0) return Answer{-EOPNOTSUPP};
  Buffers from;
  from.length = static_cast<std::uint64_t>(a[2]);
  from.parts.push_back({static_cast<std::uint64_t>(a[1]), from.length});
  return write_from(thread, socket, from, (a[3] & MSG_DONTWAIT) != 0, (a[3] & MSG_NOSIGNAL) != 0);
}

Kernel::Outcome Kernel::sys_recvfrom(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  if ((a[3] & MSG_OOB) != 0) return Answer{-EINVAL};
  const auto length = static_cast<std::uint64_t>(a[2]);
  const bool whole = (a[3] & MSG_WAITALL) != 0 && (a[3] & (MSG_PEEK | MSG_DONTWAIT)) == 0 && !socket->nonblocking();
  std::uint64_t& done = thread.call().transferred;
  std::vector<std::byte> bytes;
  const IoResult n = socket->receive(length - done, (a[3] & MSG_PEEK) != 0, bytes);
  if (!n) {
    if ((a[3] & MSG_DONTWAIT) != 0 || socket->nonblocking()) return Answer{-EAGAIN};
    return wait_for(thread, {socket}, kNever, "recv");
  }
  if (*n <= 0) return Answer{done > 0 ? static_cast<std::int64_t>(done) : *n};
  if (!thread.process().memory().write(static_cast<std::uint64_t>(a[1]) + done, bytes)) return Answer{-EFAULT};
  done += static_cast<std::uint64_t>(*n);
  if (whole && done < length) return wait_for(thread, {socket}, kNever, "recv");
  return Answer{static_cast<std::int64_t>(done)};
}

Kernel::Outcome Kernel::sys_message(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  auto header = thread.process().memory().load<msghdr>(static_cast<std::uint64_t>(a[1]));
  if (!header) return Answer{-EFAULT};
  const auto buffers =
      load_vector(thread.process(), reinterpret_cast<std::uint64_t>(header->msg_iov), header->msg_iovlen);
  if (!buffers) return Answer{-EFAULT};
  const bool dont_wait = (a[2] & MSG_DONTWAIT) != 0;
  if (call.number == SYS_sendmsg) {
    return write_from(thread, socket, *buffers, dont_wait, (a[2] & MSG_NOSIGNAL) != 0);
  }
  const Outcome outcome = read_into(thread, socket, *buffers, dont_wait);
  if (outcome && outcome->result >= 0) {
    header->msg_namelen = 0;
    header->msg_controllen = 0;
    header->msg_flags = 0;
    if (!thread.process().memory().store(static_cast<std::uint64_t>(a[1]), *header)) return Answer{-EFAULT};
  }
  return outcome;
}

Kernel::Outcome Kernel::sys_shutdown(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  if (a[1] < SHUT_RD || a[1] > SHUT_RDWR) return Answer{-EINVAL};
  return Answer{socket->shutdown(static_cast<int>(a[1]))};
}

Kernel::Outcome Kernel::sys_socket_name(Thread& thread) {
  const PendingCall& call = thread.call();
  const bool peer = call.number == SYS_getpeername;
  const VirtualFilePtr file = thread.process().file(call.arguments[0]);
  if (const auto* datagram = dynamic_cast<const DatagramSocket*>(file.get())) {
    if (peer && datagram->remote.port == 0) return Answer{-ENOTCONN};
    const bool stored = store_endpoint(thread.process(), peer ? datagram->remote : datagram->local,
                                       static_cast<std::uint64_t>(call.arguments[1]),
                                       static_cast<std::uint64_t>(call.arguments[2]));
    return Answer{stored ? 0 : -EFAULT};
  }
  Answer bad;
  const auto socket = tcp_socket(thread.process(), call.arguments[0], &bad);
  if (socket == nullptr) return bad;
  if (peer && socket->state() != TcpSocket::State::kConnected) return Answer{-ENOTCONN};
  const bool stored = store_endpoint(thread.process(), peer ? socket->remote() : socket->local(),
                                     static_cast<std::uint64_t>(call.arguments[1]),
                                     static_cast<std::uint64_t>(call.arguments[2]));
  return Answer{stored ? 0 : -EFAULT};
}

// Options that change nothing a program can see here are accepted; what would change the stream's meaning is not.
Kernel::Outcome Kernel::sys_setsockopt(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  const auto value = a[4] >= static_cast<std::int64_t>(sizeof(int))
                         ? thread.process().memory().load<int>(static_cast<std::uint64_t>(a[3]))
                         : std::optional<int>();
  if (a[1] == SOL_SOCKET) {
    switch (a[2]) {
      case SO_REUSEADDR:
      case SO_REUSEPORT:
        if (!value) return Answer{-EINVAL};
        socket->reuse_address = *value != 0;
        return Answer{0};
      case SO_KEEPALIVE:
      case SO_SNDBUF:
      case SO_RCVBUF:
      case SO_PRIORITY:
      case SO_LINGER:
      case SO_DONTROUTE:
        return Answer{0};
      default:
        return Answer{-ENOPROTOOPT};
    }
  }
  if (a[1] == IPPROTO_TCP) {
    switch (a[2]) {
      case TCP_NODELAY:
      case TCP_QUICKACK:
      case TCP_CORK:
      case TCP_KEEPIDLE:
      case TCP_KEEPINTVL:
      case TCP_KEEPCNT:
      case TCP_USER_TIMEOUT:
        return Answer{0};
      default:
        return Answer{-ENOPROTOOPT};
    }
  }
  return Answer{a[1] == IPPROTO_IP ? 0 : -ENOPROTOOPT};
}

Kernel::Outcome Kernel::sys_getsockopt(Thread& thread) {
  const auto& a = thread.call().arguments;
  Answer bad;
  const auto socket = tcp_socket(thread.process(), a[0], &bad);
  if (socket == nullptr) return bad;
  int value = 0;
  if (a[1] == SOL_SOCKET) {
    switch (a[2]) {
      case SO_ERROR:
        value = socket->take_error();
        break;
      case SO_TYPE:
        value = SOCK_STREAM;
        break;
      case SO_DOMAIN:
        value = AF_INET;
        break;
      case SO_PROTOCOL:
        value = IPPROTO_TCP;
        break;
      case SO_REUSEADDR:
        value = socket->reuse_address;
        break;
      case SO_ACCEPTCONN:
        value = socket->state() == TcpSocket::State::kListening;
        break;
      case SO_SNDBUF:
      case SO_RCVBUF:
        value = TcpStream::kWindow;
        break;
      default:
        return Answer{-ENOPROTOOPT};
    }
  } else if (a[1] == IPPROTO_TCP && a[2] == TCP_MAXSEG) {
    value = 1448;
  } else if (a[1] == IPPROTO_TCP && a[2] == TCP_NODELAY) {
    value = 1;
  } else {
    return Answer{-ENOPROTOOPT};
  }
  auto& memory = thread.process().memory();
  const auto room = memory.load<socklen_t>(static_cast<std::uint64_t>(a[4]));
  if (!room) return Answer{-EFAULT};
  const auto bytes = std::as_bytes(std::span(&value, 1));
  const std::size_t n = std::min<std::size_t>(*room, bytes.size());
  const bool stored = memory.write(static_cast<std::uint64_t>(a[3]), bytes.first(n)) &&
                      memory.store(static_cast<std::uint64_t>(a[4]), static_cast<socklen_t>(n));
  return Answer{stored ? 0 : -EFAULT};
}

}  // namespace verbatim::supervisor
