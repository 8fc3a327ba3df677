// Socket options. Options without a visible effect in the simulation are stored and returned; unknown options
// are refused.
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sim/supervisor/kernel/socket_calls.h"
#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/spec/kernel_time.h"

namespace verbatim::supervisor {

namespace {

constexpr int kLeastBuffer = 4608, kMostBuffer = 425'984;  // twice net.core.wmem_max, as Linux counts

// Stored, without an effect of their own.
bool is_plain(int option) {
  switch (option) {
    case SO_KEEPALIVE:
    case SO_BROADCAST:
    case SO_DONTROUTE:
    case SO_OOBINLINE:
    case SO_PRIORITY:
    case SO_RCVLOWAT:
    case SO_REUSEPORT:
    case SO_MARK:
    case SO_BUSY_POLL:
    case SO_ZEROCOPY:
      return true;
    default:
      return false;
  }
}

// Whether options of the level can be read. AF_INET6 answers other levels as unknown options (ENOPROTOOPT).
bool has_level(const Socket& socket, int level) {
  if (level == SOL_SOCKET) return true;
  if (socket.family() == AF_UNIX) return false;
  if (socket.family() != AF_INET || level == IPPROTO_IP) return true;
  const int of_type = socket.type() == SOCK_STREAM ? IPPROTO_TCP : socket.type() == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_RAW;
  return level == of_type;
}

bool is_timestamp(int option) {
  return option == SO_TIMESTAMP_OLD || option == SO_TIMESTAMPNS_OLD || option == SO_TIMESTAMP_NEW || option == SO_TIMESTAMPNS_NEW;
}

// An int, or for options of ip(7) also one byte. nullopt: neither, or unreadable.
std::optional<int> load_option(Process& process, int level, std::uint64_t address, std::uint64_t length) {
  if (length >= sizeof(int)) return process.memory().load<int>(address);
  if (level != IPPROTO_IP || length == 0) return std::nullopt;
  return process.memory().load<std::uint8_t>(address);
}

// SO_BINDTODEVICE. `length`: of a name, which need not end with 0.
int bind_to_interface(CallContext& call, Socket& socket, std::uint64_t address, std::uint64_t length) {
  std::array<char, IFNAMSIZ> text{};
  const std::span<char> given(text.data(), std::min<std::uint64_t>(length, text.size() - 1));
  if (!call.process.memory().read(address, std::as_writable_bytes(given))) return -EFAULT;
  const std::string name = text.data();
  const auto all = interfaces_of(call.process.host());
  const auto named = std::ranges::find_if(all, [&](const Interface& one) { return one.has_name(name); });
  if (!name.empty() && named == all.end()) return -ENODEV;
  socket.interface = name;
  return 0;
}

}  // namespace

CallOutcome sys_setsockopt(CallContext& call, const std::shared_ptr<Socket>& socket) {
  Process& process = call.process;
  const auto level = call.as_int(1), option = call.as_int(2);
  const auto length = call.length(4);
  const auto address = call.address(3);
  if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO)) {
    if (length < sizeof(timeval)) return Answer{-EINVAL};
    const auto timeout = process.memory().load<timeval>(address);
    if (!timeout) return Answer{-EFAULT};
    if (timeout->tv_usec < 0 || timeout->tv_usec >= 1'000'000) return Answer{-EDOM};
    (option == SO_RCVTIMEO ? socket->read_timeout : socket->write_timeout) =
        from_ns(to_ns({std::max<std::int64_t>(timeout->tv_sec, 0), 0}) + timeout->tv_usec * 1000);
    return Answer{0};
  }
  if (level == SOL_SOCKET && option == SO_BINDTODEVICE) return Answer{bind_to_interface(call, *socket, address, length)};
  if (level != SOL_SOCKET && socket->family() == AF_UNIX) return Answer{-EOPNOTSUPP};
  if (level != SOL_SOCKET) {
    constexpr std::size_t kLongest = sizeof(group_req);
    std::array<std::byte, kLongest> value;
    const std::span<std::byte> bytes(value.data(), std::min<std::uint64_t>(length, kLongest));
    if (!process.memory().read(address, bytes)) return Answer{-EFAULT};
    if (const auto error = socket->set_structured_option(level, option, bytes)) return Answer{*error};
  }
  const auto loaded = load_option(process, level, address, length);
  if (!loaded) return Answer{length == 0 || (level != IPPROTO_IP && length < sizeof(int)) ? -EINVAL : -EFAULT};
  const int value = *loaded;
  int error = 0;
  if (level != SOL_SOCKET) {
    error = socket->set_option(level, option, value);
  } else if (is_plain(option)) {
    socket->plain_options[option] =
        option == SO_PRIORITY || option == SO_MARK || option == SO_RCVLOWAT ? value : value != 0;
    if (option == SO_REUSEPORT)
      socket->reuse_address = value != 0 || socket->plain_options[SO_REUSEADDR] != 0;
  } else if (is_timestamp(option) && socket->stamps_arrivals()) {
    socket->timestamp_option = value != 0 ? option : 0;
  } else {
    switch (option) {
      case SO_REUSEADDR:
        socket->plain_options[option] = value != 0;
        socket->reuse_address = value != 0 || socket->plain_options[SO_REUSEPORT] != 0;
        break;
      case SO_SNDBUF:
      case SO_RCVBUF:
        (option == SO_SNDBUF ? socket->send_buffer : socket->receive_buffer) =
            std::clamp(value, kLeastBuffer / 2, kMostBuffer / 2) * 2;
        break;
      case SO_SNDBUFFORCE:
      case SO_RCVBUFFORCE:
        error = -EPERM;  // requires CAP_NET_ADMIN
        break;
      case SO_PASSCRED:
        socket->pass_credentials = value != 0;
        break;
      case SO_LINGER: {
        const auto linger = process.memory().load<::linger>(address);
        if (length < sizeof(::linger) || !linger) return Answer{-EINVAL};
        socket->linger = *linger;
        break;
      }
      default:
        error = -ENOPROTOOPT;
    }
  }
  // Linux refuses it, too.
  const bool is_control_only = level == IPPROTO_IPV6 && option == IPV6_HOPLIMIT;
  if (error == -ENOPROTOOPT && !is_control_only) {
    call.warn(fmt::format("socket option {} of level {} is not simulated; the program got ENOPROTOOPT",
                          option, level));
  }
  return Answer{error};
}

CallOutcome sys_getsockopt(CallContext& call, const std::shared_ptr<Socket>& socket) {
  const auto level = call.as_int(1), option = call.as_int(2);
  if (!has_level(*socket, level)) return Answer{-EOPNOTSUPP};
  auto& memory = call.process.memory();
  const auto room = memory.load<socklen_t>(call.address(4));
  if (!room) return Answer{-EFAULT};
  if (static_cast<int>(*room) < 0) return Answer{-EINVAL};
  std::vector<std::byte> bytes;
  const auto answer = [&bytes](const auto& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes.assign(raw.begin(), raw.end());
  };
  if (bytes = socket->structured_option(level, option); !bytes.empty()) {
    // Nothing else to do.
  } else if (level != SOL_SOCKET) {
    int value = 0;
    if (const int error = socket->get_option(level, option, &value)) return Answer{error};
    if (level == IPPROTO_IP && *room < sizeof value && value >= 0 && value <= UINT8_MAX)
      answer(static_cast<std::uint8_t>(value));
    else
      answer(value);
  } else if (option == SO_BINDTODEVICE) {
    if (!socket->interface.empty()) {
      if (*room < IFNAMSIZ) return Answer{-EINVAL};
      const auto name = std::as_bytes(std::span(socket->interface.c_str(), socket->interface.size() + 1));
      bytes.assign(name.begin(), name.end());
    }
  } else if (is_timestamp(option)) {
    answer(int{socket->timestamp_option == option});
  } else if (is_plain(option) || option == SO_REUSEADDR) {
    answer(socket->plain_options[option]);
  } else {
    switch (option) {
      case SO_ERROR:
        answer(socket->take_error());
        break;
      case SO_TYPE:
        answer(socket->type());
        break;
      case SO_DOMAIN:
        answer(socket->family());
        break;
      case SO_PROTOCOL:
        answer(socket->protocol());
        break;
      case SO_ACCEPTCONN:
        answer(int{socket->listening()});
        break;
      case SO_SNDBUF:
        answer(socket->send_buffer);
        break;
      case SO_RCVBUF:
        answer(socket->receive_buffer);
        break;
      case SO_PASSCRED:
        answer(int{socket->pass_credentials});
        break;
      case SO_LINGER:
        answer(socket->linger);
        break;
      case SO_PEERCRED:
        answer(socket->peer());
        break;
      case SO_RCVTIMEO:
      case SO_SNDTIMEO: {
        const std::int64_t us =
            to_ps(option == SO_RCVTIMEO ? socket->read_timeout : socket->write_timeout) / 1'000'000;
        answer(timeval{us / 1'000'000, us % 1'000'000});
        break;
      }
      default:
        return Answer{-ENOPROTOOPT};
    }
  }
  const std::size_t n = std::min<std::size_t>(*room, bytes.size());
  const bool stored = memory.put(call.address(3), std::span(bytes).first(n)) &&
                      memory.store(call.address(4), static_cast<socklen_t>(n));
  return Answer{stored ? 0 : -EFAULT};
}

}  // namespace verbatim::supervisor
