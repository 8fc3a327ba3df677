// Reading, writing and the life of descriptors; opening files that every host has to have of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "sim/supervisor/kernel.h"
#include "sim/supervisor/tcp.h"
#include "sim/supervisor/virtual_paths.h"

namespace verbatim::supervisor {

namespace {
constexpr std::uint64_t kMaxTransfer = 0x7ffff000;  // as Linux limits one call
constexpr std::uint64_t kMaxVector = 1024;
constexpr std::size_t kChunk = 1 << 20;             // bytes moved by one try of a read or write

template <class Buffers>
Buffers behind(const Buffers& buffers, std::uint64_t offset) {
  Buffers rest;
  rest.length = buffers.length - offset;
  for (auto part : buffers.parts) {
    const std::uint64_t skipped = std::min(part.length, offset);
    offset -= skipped;
    part.address += skipped;
    part.length -= skipped;
    rest.parts.push_back(part);
  }
  return rest;
}
}  // namespace

std::optional<Kernel::Buffers> Kernel::load_vector(Process& process, std::uint64_t address, std::uint64_t count) {
  Buffers buffers;
  if (count > kMaxVector) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto part = process.memory().load<Buffers::Part>(address + i * sizeof(iovec));
    if (!part) return std::nullopt;
    buffers.parts.push_back(*part);
    buffers.length += std::min(part->length, kMaxTransfer);
  }
  buffers.length = std::min(buffers.length, kMaxTransfer);
  return buffers;
}

bool Kernel::gather(Process& process, const Buffers& from, std::uint64_t limit, std::vector<std::byte>& bytes) {
  for (const Buffers::Part& part : from.parts) {
    const std::uint64_t n = std::min(part.length, limit - bytes.size());
    const std::size_t at = bytes.size();
    bytes.resize(at + n);
    if (n > 0 && !process.memory().read(part.address, std::span(bytes).subspan(at, n))) return false;
  }
  return true;
}

bool Kernel::scatter(Process& process, const Buffers& to, std::span<const std::byte> bytes) {
  for (const Buffers::Part& part : to.parts) {
    const std::size_t n = std::min<std::uint64_t>(part.length, bytes.size());
    if (n > 0 && !process.memory().write(part.address, bytes.first(n))) return false;
    bytes = bytes.subspan(n);
  }
  return true;
}

Kernel::Outcome Kernel::read_into(Thread& thread, const VirtualFilePtr& file, const Buffers& to, bool dont_wait) {
  std::vector<std::byte> bytes;
  const IoResult n = file->read(std::min<std::uint64_t>(to.length, kChunk), bytes);
  if (!n) {
    if (dont_wait || file->nonblocking()) return Answer{-EAGAIN};
    return wait_for(thread, {file}, kNever, "read");
  }
  if (*n > 0 && !scatter(thread.process(), to, bytes)) return Answer{-EFAULT};
  return Answer{*n};
}

Kernel::Outcome Kernel::write_from(Thread& thread, const VirtualFilePtr& file, const Buffers& from, bool dont_wait,
                                   bool no_signal) {
  std::uint64_t& done = thread.call().transferred;
  const Buffers rest = behind(from, done);
  std::vector<std::byte> bytes;
  if (!gather(thread.process(), rest, std::min<std::uint64_t>(rest.length, kChunk), bytes)) return Answer{-EFAULT};
  if (const auto* output = dynamic_cast<const OutputFile*>(file.get())) {
    output_(thread.process(), output->number(), bytes);
    return Answer{static_cast<std::int64_t>(bytes.size())};
  }
  const IoResult n = file->write(bytes);
  if (!n) {
    if (dont_wait || file->nonblocking()) return Answer{-EAGAIN};
    return wait_for(thread, {file}, kNever, "write");
  }
  if (*n < 0 && done > 0) return Answer{static_cast<std::int64_t>(done)};
  if (*n > 0) {
    done += static_cast<std::uint64_t>(*n);
    // A blocking write comes back when everything has been taken.
    if (done < from.length && !dont_wait && !file->nonblocking()) return wait_for(thread, {file}, kNever, "write");
    return Answer{static_cast<std::int64_t>(done)};
  }
  if (*n == -EPIPE && !no_signal) return Answer{*n, protocol::Action::kRaise, {SIGPIPE, 0}};
  return Answer{*n};
}

Kernel::Outcome Kernel::sys_read(Thread& thread) {
  const PendingCall& call = thread.call();
  const VirtualFilePtr file = thread.process().file(call.arguments[0]);
  if (file == nullptr) return Answer{-EBADF};
  if (file->access_mode() == O_WRONLY) return Answer{-EBADF};
  Buffers to;
  if (call.number == SYS_readv) {
    const auto loaded = load_vector(thread.process(), static_cast<std::uint64_t>(call.arguments[1]),
                                    static_cast<std::uint64_t>(call.arguments[2]));
    if (!loaded) return Answer{-EFAULT};
    to = *loaded;
  } else {
    to.length = std::min(static_cast<std::uint64_t>(call.arguments[2]), kMaxTransfer);
    to.parts.push_back({static_cast<std::uint64_t>(call.arguments[1]), to.length});
  }
  return read_into(thread, file, to, false);
}

Kernel::Outcome Kernel::sys_write(Thread& thread) {
  const PendingCall& call = thread.call();
  const VirtualFilePtr file = thread.process().file(call.arguments[0]);
  if (file == nullptr || file->access_mode() == O_RDONLY) return Answer{-EBADF};
  Buffers from;
  if (call.number == SYS_writev) {
    const auto loaded = load_vector(thread.process(), static_cast<std::uint64_t>(call.arguments[1]),
                                    static_cast<std::uint64_t>(call.arguments[2]));
    if (!loaded) return Answer{-EFAULT};
    from = *loaded;
  } else {
    from.length = std::min(static_cast<std::uint64_t>(call.arguments[2]), kMaxTransfer);
    from.parts.push_back({static_cast<std::uint64_t>(call.arguments[1]), from.length});
  }
  return write_from(thread, file, from, false, false);
}

Kernel::Outcome Kernel::sys_close(Thread& thread) {
  const auto fd = static_cast<int>(thread.call().arguments[0]);
  if (!thread.process().close(fd)) return Answer{-EBADF};
  return Answer{0, protocol::Action::kReleaseFd, {fd, 0}};
}

// The shim closes the numbers in the kernel's table, its own excepted, before it asks.
Kernel::Outcome Kernel::sys_close_range(Thread& thread) {
  const auto& a = thread.call().arguments;
  if ((a[2] & ~std::int64_t{4}) != 0) return Answer{-EINVAL};  // only CLOSE_RANGE_CLOEXEC, which exec will honour
  const auto first = static_cast<std::uint32_t>(a[0]);
  const auto last = static_cast<std::uint32_t>(a[1]);
  if (first > last) return Answer{-EINVAL};
  if (a[2] != 0) return Answer{0};
  Process& process = thread.process();
  for (std::uint32_t fd = first; fd <= std::min<std::uint32_t>(last, protocol::kVirtualFdLast); ++fd) {
    process.close(static_cast<int>(fd));
  }
  return Answer{0};
}

Kernel::Outcome Kernel::sys_fcntl(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const VirtualFilePtr file = process.file(a[0]);
  if (file == nullptr) return Answer{-EBADF};
  switch (a[1]) {
    case F_GETFL:
      return Answer{file->access_mode() | (file->nonblocking() ? O_NONBLOCK : 0)};
    case F_SETFL:
      file->set_nonblocking((a[2] & O_NONBLOCK) != 0);
      return Answer{0};
    case F_GETFD:
    case F_SETFD:
      return Answer{0, protocol::Action::kNative};
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: {
      if (a[2] < 0 || a[2] >= protocol::kFdLimit) return Answer{-EINVAL};
      const int fd = process.install(file);
      if (fd < 0) return Answer{fd};
      return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
    }
    default:
      return Answer{-EINVAL};
  }
}

Kernel::Outcome Kernel::sys_ioctl(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const VirtualFilePtr file = process.file(a[0]);
  if (file == nullptr) return Answer{-EBADF};
  const auto argument = static_cast<std::uint64_t>(a[2]);
  switch (static_cast<unsigned long>(a[1])) {
    case FIONBIO: {
      const auto on = process.memory().load<int>(argument);
      if (!on) return Answer{-EFAULT};
      file->set_nonblocking(*on != 0);
      return Answer{0};
    }
    case FIONREAD: {
      const auto* socket = dynamic_cast<const TcpSocket*>(file.get());
      if (socket == nullptr) return Answer{-ENOTTY};
      const int n = static_cast<int>(socket->readable_bytes());
      return Answer{process.memory().store(argument, n) ? 0 : -EFAULT};
    }
    default:
      return Answer{-ENOTTY};
  }
}

Kernel::Outcome Kernel::sys_dup(Thread& thread) {
  const PendingCall& call = thread.call();
  Process& process = thread.process();
  const auto from = static_cast<int>(call.arguments[0]);
  const VirtualFilePtr file = process.file(from);
  if (call.number == SYS_dup) {
    if (file == nullptr) return Answer{0, protocol::Action::kNative};
    const int fd = process.install(file);
    if (fd < 0) return Answer{fd};
    return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
  }
  const auto to = static_cast<int>(call.arguments[1]);
  if (to < 0 || to >= protocol::kFdLimit) return Answer{-EBADF};
  if (from == to) return Answer{call.number == SYS_dup2 ? to : -EINVAL};
  if (to > protocol::kVirtualFdLast) return Answer{-EBADF};
  if (file == nullptr) {
    process.close(to);
    return Answer{0, protocol::Action::kNative};
  }
  process.install_at(to, file);
  return Answer{to, protocol::Action::kReserveFd, {to, 0}};
}

Kernel::Outcome Kernel::sys_seek(Thread& thread) {
  return Answer{thread.process().file(thread.call().arguments[0]) == nullptr ? -EBADF : -ESPIPE};
}

// The placeholder (or, for the standard streams, the pipe) answers for the descriptor.
Kernel::Outcome Kernel::native_on_placeholder(Thread&) { return Answer{0, protocol::Action::kNative}; }

Kernel::Outcome Kernel::sys_open(Thread& thread) {
  const PendingCall& call = thread.call();
  Process& process = thread.process();
  const auto address = static_cast<std::uint64_t>(call.arguments[call.number == SYS_openat ? 1 : 0]);
  const auto path = process.memory().load_string(address, 4096);
  if (!path) return Answer{0, protocol::Action::kNative};  // the kernel says what is wrong with it
  if (is_random_device(*path)) return install(process, std::make_shared<RandomFile>(process.random()), false);
  const auto content = virtual_content(*path, process, hosts_);
  if (!content) return Answer{0, protocol::Action::kNative};
  const auto mailbox = process.region().mailbox(thread.slot());
  const std::size_t n = std::min(content->size(), mailbox.size());
  std::copy_n(std::as_bytes(std::span(*content)).begin(), n, mailbox.begin());
  return Answer{0, protocol::Action::kOpenContent, {static_cast<std::int64_t>(n), 0}};
}

}  // namespace verbatim::supervisor
