// sendmsg(2) and related calls: bytes, names, credentials and descriptors.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/core/check.h"
#include "sim/supervisor/kernel/socket_calls.h"
#include "sim/supervisor/kernel/transfers.h"
#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/spec/kernel_time.h"

namespace verbatim::supervisor {

namespace {
constexpr std::uint64_t kMaxControl = 4096;
constexpr std::size_t kMaxPassed = 253;  // SCM_MAX_FD
constexpr std::uint64_t kMaxMessages = 1024;
constexpr std::size_t kMaxChunk = 1 << 20;

// Descriptors received in messages, in order. `real[i]`: descriptor i is a real file, which waits in the
// passage.
struct Received {
  std::vector<int> numbers;
  std::vector<bool> real;
};

// Reads the header at `address` and its vector of buffers; nullopt and -errno. A name that is too long is cut
// off.
std::optional<Buffers> load_message(CallContext& call, std::uint64_t address, msghdr& header, int* error) {
  constexpr std::size_t kMostParts = 1024;  // UIO_MAXIOV
  const auto loaded = call.load_argument<msghdr>(address);
  *error = -EFAULT;
  if (!loaded) return std::nullopt;
  header = *loaded;
  *error = -EINVAL;
  if (header.msg_name != nullptr && static_cast<std::int32_t>(header.msg_namelen) < 0) return std::nullopt;
  header.msg_namelen = std::min<socklen_t>(header.msg_namelen, sizeof(sockaddr_storage));
  *error = -EMSGSIZE;
  if (header.msg_iovlen > kMostParts) return std::nullopt;
  *error = -EFAULT;
  return load_vector(call, reinterpret_cast<std::uint64_t>(header.msg_iov), header.msg_iovlen);
}

// Reading the queue of errors (IP_RECVERR) never waits.
bool reads_queue_of_errors(const Socket& socket, std::int64_t flags) {
  return (flags & MSG_ERRQUEUE) != 0 && (socket.family() == AF_INET || socket.family() == AF_INET6);
}

// The open file `fd` for SCM_RIGHTS; nullopt and -errno if there is none.
std::optional<PassedFile> file_to_pass(CallContext& call, RealDescriptors& descriptors, int fd, int* error) {
  if (VirtualFilePtr file = call.process.files().at(fd)) return PassedFile(std::move(file));
  *error = -EBADF;
  if (!call.process.files().natively_open(fd)) return std::nullopt;
  const int copy = descriptors.take(call.process, call.process.calling_thread(), fd), cause = errno;
  if (copy >= 0) return PassedFile(std::make_shared<const RealFile>(copy));
  *error = -ETOOMANYREFS;
  call.warn(fmt::format("descriptor {} cannot be passed over a socket ({}); the program got ETOOMANYREFS", fd,
                        std::strerror(cause)));
  return std::nullopt;
}

std::optional<Sending> load_sending(CallContext& call, RealDescriptors& descriptors, const msghdr& header,
                                    int flags, int* error) {
  if (const auto* made = std::any_cast<Sending>(&call.copies.made)) {
    *error = 0;
    return *made;
  }
  Sending sending;
  sending.flags = flags;
  if (header.msg_name != nullptr && header.msg_namelen > 0) {
    auto name = load_name(call, reinterpret_cast<std::uint64_t>(header.msg_name), header.msg_namelen, error);
    if (!name) return std::nullopt;
    *error = error_of_socket_name(call, *name, false);
    if (*error != 0) return std::nullopt;
    sending.to = std::move(*name);
  }
  std::vector<std::byte> control(std::min<std::uint64_t>(header.msg_controllen, kMaxControl));
  *error = -EFAULT;
  if (!control.empty() && !call.read_argument(reinterpret_cast<std::uint64_t>(header.msg_control), control)) {
    return std::nullopt;
  }
  *error = -EINVAL;
  for (std::size_t at = 0; at + sizeof(cmsghdr) <= control.size();) {
    cmsghdr part;
    std::memcpy(&part, control.data() + at, sizeof part);
    if (part.cmsg_len < sizeof part || part.cmsg_len > control.size() - at) return std::nullopt;
    const std::size_t count = (part.cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (part.cmsg_level == SOL_SOCKET && part.cmsg_type == SCM_RIGHTS) {
      if (sending.files.size() + count > kMaxPassed) return std::nullopt;
      for (std::size_t i = 0; i < count; ++i) {
        int fd;
        std::memcpy(&fd, control.data() + at + CMSG_LEN(0) + i * sizeof fd, sizeof fd);
        auto passed = file_to_pass(call, descriptors, fd, error);
        if (!passed) return std::nullopt;
        sending.files.push_back(std::move(*passed));
      }
    }
    at += CMSG_ALIGN(part.cmsg_len);
  }
  *error = 0;
  call.copies.made = sending;
  return sending;
}

// Assigns a number to a received file; returns it or -errno.
int receive_file(CallContext& call, RealDescriptors& descriptors, const PassedFile& passed,
                 Received& received) {
  const bool real = passed.file() == nullptr;
  const int fd = call.process.files().lowest_free_number(0, received.numbers);
  if (fd < 0) return fd;
  if (real && fd >= own_descriptors().later) {
    call.warn(
        fmt::format(
            "the machine lets no call.process have more than {} descriptors of real files (ulimit -Hn); the program got "
            "MSG_CTRUNC",
            fd),
        true);
    return -EMFILE;
  }
  if (real) {
    if (std::ranges::find(received.real, true) == received.real.end()) descriptors.passage().clear();
    if (!descriptors.passage().put(*passed.real())) {
      call.warn("Linux has no room for more descriptors in messages; the program got MSG_CTRUNC");
      return -ETOOMANYREFS;
    }
  } else {
    call.process.files().install_at(fd, passed.file());
  }
  received.numbers.push_back(fd);
  received.real.push_back(real);
  return fd;
}

// Control data of SO_TIMESTAMP and SO_TIMESTAMPNS: its type, 0 if there is none, and microseconds or nanoseconds.
std::pair<int, timespec> timestamp_of(const CallContext& call, const IncomingMessage& message) {
  const int option = message.timestamp_option;
  if (option == 0) return {0, {}};
  const std::int64_t ns = call.epoch_ns() + to_ps(message.arrival) / 1000;
  const bool is_us = option == SO_TIMESTAMP_OLD || option == SO_TIMESTAMP_NEW;
  return {option, {ns / 1'000'000'000, ns % 1'000'000'000 / (is_us ? 1000 : 1)}};
}

void store_control(CallContext& call, RealDescriptors& descriptors, msghdr& header,
                   const IncomingMessage& message, Received& received) {
  const std::size_t room = header.msg_controllen;
  std::vector<std::byte> control;
  const auto add = [&](int level, int type, const void* data, std::size_t size) {
    const std::size_t at = control.size();
    control.resize(at + CMSG_SPACE(size));
    cmsghdr part{};
    part.cmsg_len = CMSG_LEN(size);
    part.cmsg_level = level;
    part.cmsg_type = type;
    std::memcpy(control.data() + at, &part, sizeof part);
    std::memcpy(control.data() + at + CMSG_LEN(0), data, size);
  };
  // A part that does not fit is left out; only the last part's padding may be cut off.
  const auto add_if_it_fits = [&](int level, int type, const void* data, std::size_t size) {
    if (control.size() + CMSG_LEN(size) <= room)
      add(level, type, data, size);
    else
      header.msg_flags |= MSG_CTRUNC;
  };
  const auto [option, time] = timestamp_of(call, message);
  if (option != 0) add_if_it_fits(SOL_SOCKET, option, &time, sizeof time);
  for (const auto& [level, type, bytes] : message.control) add_if_it_fits(level, type, bytes.data(), bytes.size());
  if (message.wants_sender) add_if_it_fits(SOL_SOCKET, SCM_CREDENTIALS, &message.sender, sizeof(ucred));
  std::vector<int> fds;
  for (const PassedFile& passed : message.files) {
    const std::size_t needed = control.size() + CMSG_LEN((fds.size() + 1) * sizeof(int));
    const int fd = needed <= room ? receive_file(call, descriptors, passed, received) : -EMFILE;
    if (fd < 0) {
      header.msg_flags |= MSG_CTRUNC;
      break;
    }
    fds.push_back(fd);
  }
  if (!fds.empty()) add(SOL_SOCKET, SCM_RIGHTS, fds.data(), fds.size() * sizeof(int));
  control.resize(std::min(control.size(), room));
  header.msg_controllen = control.size();
  if (!control.empty())
    call.process.memory().put(reinterpret_cast<std::uint64_t>(header.msg_control), control);
}

// Stores the outputs of recvmsg(2) except the bytes: sender's name, flags, control data. `asked`: the
// header at the start of the call. Only output fields of the header in memory are changed. False: the
// header is no longer mapped.
bool store_message(CallContext& call, RealDescriptors& descriptors, std::uint64_t address,
                   const msghdr& asked, const IncomingMessage& message, std::int64_t flags,
                   Received& received) {
  auto there = call.process.memory().load<msghdr>(address);
  if (!there) return false;
  msghdr header = asked;
  header.msg_namelen = there->msg_namelen;  // the only field that Linux reads at the end
  header.msg_flags = static_cast<int>(flags & MSG_CMSG_CLOEXEC) | message.flags;
  if (message.length > message.bytes.size()) header.msg_flags |= MSG_TRUNC;
  if (header.msg_name != nullptr) {
    const std::size_t n = std::min<std::size_t>(header.msg_namelen, message.from.size());
    call.process.memory().put(reinterpret_cast<std::uint64_t>(header.msg_name),
                              std::span(message.from).first(n));
    header.msg_namelen = static_cast<socklen_t>(message.from.size());
  }
  store_control(call, descriptors, header, message, received);
  there->msg_namelen = header.msg_namelen;
  there->msg_controllen = header.msg_controllen;
  there->msg_flags = header.msg_flags;
  return call.process.memory().store(address, *there);
}

// `answer`, which also makes the runtime install the received descriptors.
Answer with_descriptors(CallContext& call, const Answer& answer, const Received& received) {
  if (received.numbers.empty()) return answer;
  std::vector<std::int32_t> numbers = received.numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (received.real[i]) numbers[i] = ~numbers[i];
  }
  const auto mailbox = call.process.region().mailbox(call.thread.slot());
  const auto bytes = std::as_bytes(std::span(numbers));
  CHECK(bytes.size() <= mailbox.size());
  std::ranges::copy(bytes, mailbox.begin());
  return {answer.result, protocol::Action::kTakeFds, {static_cast<std::int64_t>(numbers.size()), 0}};
}

CallOutcome receive(CallContext& call, CallFailures& failures, const std::shared_ptr<Socket>& socket,
                    const Buffers& to, int flags, IncomingMessage& message) {
  const bool dont_wait = (flags & MSG_DONTWAIT) != 0 || socket->nonblocking();
  const bool peek = (flags & MSG_PEEK) != 0;
  const bool whole = (flags & MSG_WAITALL) != 0 && !peek && !dont_wait && !socket->keeps_boundaries();
  std::uint64_t& done = call.transferred;
  const std::size_t wanted = std::min<std::uint64_t>(to.length - done, kMaxChunk);
  const std::size_t limit =
      peek ? wanted : failures.readable_now(call.thread, *socket, wanted, dont_wait, whole);
  if (limit < wanted && limit == 0) return Answer{-EAGAIN};
  const IoResult n = socket->receive(limit, peek, message);
  if (!n) return call.wait_or_give_up({socket}, dont_wait, socket->read_timeout, "recv");
  if (*n < 0 || (*n == 0 && done > 0)) return Answer{done > 0 ? static_cast<std::int64_t>(done) : *n};
  if (!scatter(call.process, to.behind(done), message.bytes)) return Answer{-EFAULT};
  done += static_cast<std::uint64_t>(*n);
  if (whole && *n > 0 && done < to.length && message.files.empty()) {
    return call.wait_or_give_up({socket}, false, socket->read_timeout, "recv");
  }
  if ((flags & MSG_TRUNC) != 0 && socket->keeps_boundaries())
    return Answer{static_cast<std::int64_t>(message.length)};
  return Answer{static_cast<std::int64_t>(done)};
}

CallOutcome receive_error(CallContext& call, const std::shared_ptr<Socket>& socket, const Buffers& to, IncomingMessage& message) {
  const IoResult n = socket->receive_error(std::min<std::uint64_t>(to.length, kMaxChunk), message);
  if (!n) return Answer{-EAGAIN};
  return Answer{scatter(call.process, to, message.bytes) ? *n : -EFAULT};
}

}  // namespace

CallOutcome sys_sendto(CallContext& call, const std::shared_ptr<Socket>& socket,
                       CallFailures& failures, RealDescriptors& descriptors) {
  const auto& a = call.arguments;
  if ((call.flags(3) & MSG_OOB) != 0) {
    call.warn("urgent data (MSG_OOB) is not simulated; the program got EOPNOTSUPP");
    return Answer{-EOPNOTSUPP};
  }
  msghdr header{};
  header.msg_name = reinterpret_cast<void*>(a[4]);
  header.msg_namelen = static_cast<socklen_t>(a[5]);
  int error;
  const auto sending = load_sending(call, descriptors, header, call.as_int(3), &error);
  if (!sending) return Answer{error};
  return send_from(call, failures, socket, Buffers(call.address(1), call.length(2)), *sending);
}

CallOutcome sys_recvfrom(CallContext& call, const std::shared_ptr<Socket>& socket, CallFailures& failures) {
  const auto& a = call.arguments;
  const bool reads_errors = reads_queue_of_errors(*socket, call.flags(3));
  if (!reads_errors && (call.flags(3) & MSG_OOB) != 0) return Answer{-EINVAL};
  IncomingMessage message;
  const Buffers to(call.address(1), call.length(2));
  const CallOutcome outcome = reads_errors ? receive_error(call, socket, to, message)
                                           : receive(call, failures, socket, to, call.as_int(3), message);
  if (outcome && outcome->result >= 0 && a[4] != 0) {
    const int error = store_name(call.process, message.from, call.address(4), call.address(5));
    if (error != 0) return Answer{error};
  }
  return outcome;
}

CallOutcome sys_sendmsg(CallContext& call, const std::shared_ptr<Socket>& socket, CallFailures& failures,
                        RealDescriptors& descriptors) {
  int error;
  msghdr header;
  const auto buffers = load_message(call, call.address(1), header, &error);
  if (!buffers) return Answer{error};
  if ((call.flags(2) & MSG_OOB) != 0) return Answer{-EOPNOTSUPP};
  const auto sending = load_sending(call, descriptors, header, call.as_int(2), &error);
  if (!sending) return Answer{error};
  return send_from(call, failures, socket, *buffers, *sending);
}

CallOutcome sys_recvmsg(CallContext& call, const std::shared_ptr<Socket>& socket,
                        CallFailures& failures, RealDescriptors& descriptors) {
  const auto& a = call.arguments;
  const auto address = call.address(1);
  int error;
  msghdr header;
  const auto buffers = load_message(call, address, header, &error);
  if (!buffers) return Answer{error};
  const bool reads_errors = reads_queue_of_errors(*socket, call.flags(2));
  if (!reads_errors && (call.flags(2) & MSG_OOB) != 0) return Answer{-EINVAL};
  IncomingMessage message;
  const CallOutcome outcome = reads_errors ? receive_error(call, socket, *buffers, message)
                                           : receive(call, failures, socket, *buffers, call.as_int(2), message);
  if (!outcome || outcome->result < 0) return outcome;
  Received received;
  if (!store_message(call, descriptors, address, header, message, a[2], received)) return Answer{-EFAULT};
  return with_descriptors(call, *outcome, received);
}

// `transferred`: number of messages sent, including one that a stream has taken in part. If the rest would
// block, or the call is interrupted, that message counts as sent (___sys_sendmsg).
CallOutcome sys_sendmmsg(CallContext& call, const std::shared_ptr<Socket>& socket, RealDescriptors& descriptors) {
  Process& process = call.process;
  const std::uint64_t count = std::min(static_cast<std::uint64_t>(call.flags(2) & 0xffffffff), kMaxMessages);
  const bool dont_wait = (call.flags(3) & MSG_DONTWAIT) != 0 || socket->nonblocking();
  std::uint64_t& done = call.transferred;
  std::uint64_t& moved = call.copies.moved;
  while (done < count || moved > 0) {
    const auto result = [&](std::int64_t error) {
      return Answer{done > 0 ? static_cast<std::int64_t>(done) : error};
    };
    const std::uint64_t at = call.address(1) + (moved > 0 ? done - 1 : done) * sizeof(mmsghdr);
    int error;
    msghdr header;
    const auto buffers = load_message(call, at, header, &error);
    if (!buffers) return result(error);
    const auto sending = load_sending(call, descriptors, header, call.as_int(3), &error);
    if (!sending) return result(error);
    const Buffers rest = buffers->behind(moved);
    std::vector<std::byte> bytes;
    if (!gather(call, rest, std::min<std::uint64_t>(rest.length, kMaxChunk), bytes)) return result(-EFAULT);
    OutgoingMessage message{bytes, sending->to, {}, nullptr, (call.flags(3) & MSG_MORE) != 0};
    if (moved == 0) message.files = sending->files;
    const IoResult n = socket->send(process, message);
    if (!n) return call.wait_or_give_up({socket}, dont_wait, socket->write_timeout, "sendmmsg");
    if (*n < 0) return result(*n);
    const auto sent = static_cast<std::uint64_t>(*n);
    const bool is_part = sent > 0 && sent < rest.length && !socket->keeps_boundaries();
    if (moved == 0) ++done;
    if (!process.memory().store(at + offsetof(mmsghdr, msg_len), static_cast<unsigned>(moved + sent))) return result(-EFAULT);
    if (!is_part) {
      call.copies.forget();
    } else if (dont_wait) {
      return result(0);
    } else {
      moved += sent;
    }
  }
  return Answer{static_cast<std::int64_t>(done)};
}

CallOutcome sys_recvmmsg(CallContext& call, const std::shared_ptr<Socket>& socket, RealDescriptors& descriptors) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const std::uint64_t count = std::min(static_cast<std::uint64_t>(call.flags(2) & 0xffffffff), kMaxMessages);
  std::uint64_t& done = call.transferred;
  Duration timeout = socket->read_timeout;
  if (!call.is_retry() && a[4] != 0) {
    const auto limit = process.memory().load<timespec>(call.address(4));
    if (!limit || !valid(*limit)) return Answer{limit ? -EINVAL : -EFAULT};
    timeout = Duration(std::max<std::int64_t>(to_ns(*limit), 1) * 1000);
  }
  Received received;
  int error = 0;
  while (done < count && error == 0) {
    const std::uint64_t at = call.address(1) + done * sizeof(mmsghdr);
    msghdr header;
    const auto buffers = load_message(call, at, header, &error);
    if (!buffers) break;
    error = -EFAULT;
    IncomingMessage message;
    const std::size_t limit = std::min<std::uint64_t>(buffers->length, kMaxChunk);
    const bool reads_errors = reads_queue_of_errors(*socket, call.flags(3));
    const IoResult n = reads_errors ? socket->receive_error(limit, message).value_or(-EAGAIN)
                                    : socket->receive(limit, (call.flags(3) & MSG_PEEK) != 0, message);
    if (!n) {
      // Received descriptor numbers are reserved only until the call returns.
      if (!received.numbers.empty()) break;
      const bool enough = done > 0 && (call.flags(3) & MSG_WAITFORONE) != 0;
      const bool dont_wait = enough || (call.flags(3) & MSG_DONTWAIT) != 0 || socket->nonblocking();
      return call.wait_or_give_up({socket}, dont_wait, timeout, "recvmmsg");
    }
    if (*n >= 0 && !scatter(process, *buffers, message.bytes)) break;
    error = static_cast<int>(std::min<std::int64_t>(*n, 0));
    if (error != 0) break;
    const bool stored = store_message(call, descriptors, at, header, message, a[3], received) &&
                        process.memory().store(at + offsetof(mmsghdr, msg_len), static_cast<unsigned>(*n));
    call.copies.forget();
    if (!stored) error = -EFAULT;
    done += stored ? 1 : 0;
  }
  return with_descriptors(call, {done > 0 ? static_cast<std::int64_t>(done) : error}, received);
}

}  // namespace verbatim::supervisor
