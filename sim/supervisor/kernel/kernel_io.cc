// read, write, close and other calls on descriptors.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sim/supervisor/files/pipe.h"
#include "sim/supervisor/kernel/file_calls.h"
#include "sim/supervisor/kernel/file_signal_calls.h"
#include "sim/supervisor/kernel/terminals.h"

namespace verbatim::supervisor {

namespace {

// The second and third argument: a buffer, or a vector of buffers. nullopt: the vector is not mapped.
std::optional<Buffers> buffers_of(CallContext& call, bool has_vector) {
  if (has_vector) return load_vector(call, call.address(1), call.length(2));
  return Buffers(call.address(1), std::min(call.length(2), kMaxTransfer));
}

}  // namespace

CallOutcome sys_read(CallContext& call, CallFailures& failures) {
  const VirtualFilePtr file = call.file(0);
  if (file == nullptr) return Answer{-EBADF};
  if (file->access_mode() == O_WRONLY) return Answer{-EBADF};
  const auto to = buffers_of(call, call.number == SYS_readv);
  return to ? read_into(call, failures, file, *to) : Answer{-EFAULT};
}

CallOutcome sys_write(CallContext& call, CallFailures& failures, const ProgramOutput& output) {
  const VirtualFilePtr file = call.file(0);
  if (file == nullptr || file->access_mode() == O_RDONLY) return Answer{-EBADF};
  const auto from = buffers_of(call, call.number == SYS_writev);
  return from ? write_from(call, failures, output, file, *from) : Answer{-EFAULT};
}

CallOutcome sys_close(CallContext& call) {
  const auto fd = call.as_int(0);
  if (!call.process.files().close(fd)) return Answer{-EBADF};
  return Answer{0, protocol::Action::kReleaseFd, {fd, 0}};
}

// The shim closes the numbers in the kernel's table, except its own, before this call.
CallOutcome sys_close_range(CallContext& call) {
  const auto& a = call.arguments;
  if ((call.flags(2) & ~std::int64_t{4}) != 0)
    return Answer{-EINVAL};  // CLOSE_RANGE_CLOEXEC takes effect at exec
  const auto first = call.as_u32(0);
  const auto last = call.as_u32(1);
  if (first > last) return Answer{-EINVAL};
  if (a[2] != 0) return Answer{0};
  Process& process = call.process;
  const auto& files = process.files().all();
  while (true) {
    const auto it = first > INT_MAX ? files.end() : files.lower_bound(static_cast<int>(first));
    if (it == files.end() || static_cast<std::uint32_t>(it->first) > last) break;
    process.files().close(it->first);
  }
  return Answer{0};
}

CallOutcome sys_fcntl(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const VirtualFilePtr file = call.file(0);
  if (file == nullptr) return Answer{-EBADF};
  switch (a[1]) {
    case F_GETFL:
      return Answer{file->access_mode() | (file->nonblocking() ? O_NONBLOCK : 0) | (is_async(*file) ? O_ASYNC : 0)};
    case F_SETFL:
      file->set_nonblocking((call.flags(2) & O_NONBLOCK) != 0);
      set_async(call, *file, (call.flags(2) & O_ASYNC) != 0, call.as_int(0));
      return Answer{0};
    case F_GETFD:
    case F_SETFD:
      return Answer{0, protocol::Action::kNative};
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: {
      if (a[2] < 0 || a[2] >= process.files().limit()) return Answer{-EINVAL};
      const int fd = process.files().install(file, call.as_int(2));
      if (fd < 0) return Answer{fd};
      return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
    }
    case F_GETPIPE_SZ:
    case F_SETPIPE_SZ: {
      Pipe* const pipe = file->as_pipe();
      if (pipe == nullptr) return Answer{-EBADF};
      if (a[1] == F_GETPIPE_SZ) return Answer{static_cast<std::int64_t>(pipe->capacity())};
      return Answer{pipe->resize(call.length(2))};
    }
    case F_SETLK:
    case F_SETLKW:
      return Answer{process.memory().load<struct flock>(call.address(2)) ? -EINVAL : -EFAULT};
    case F_SETOWN:
    case F_SETOWN_EX:
    case F_GETOWN:
    case F_GETOWN_EX:
    case F_SETSIG:
    case F_GETSIG:
      return control_file_signal(call, *file);
    default:
      return Answer{-EINVAL};
  }
}

CallOutcome sys_ioctl(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const VirtualFilePtr file = call.file(0);
  if (file == nullptr) return Answer{-EBADF};
  const auto argument = call.address(2);
  if (auto answer = control_terminal(call, *file)) return *answer;
  switch (static_cast<unsigned long>(a[1])) {
    case FIOCLEX:
    case FIONCLEX:
      return Answer{0, protocol::Action::kNative};
    case FIONBIO: {
      const auto on = process.memory().load<int>(argument);
      if (!on) return Answer{-EFAULT};
      file->set_nonblocking(*on != 0);
      return Answer{0};
    }
    case FIOASYNC: {
      const auto on = process.memory().load<int>(argument);
      if (!on) return Answer{-EFAULT};
      return Answer{set_async(call, *file, *on != 0, call.as_int(0)) ? 0 : -ENOTTY};
    }
    case FIONREAD: {
      const auto bytes = file->queued_input();
      if (!bytes) return Answer{-ENOTTY};
      return Answer{process.memory().store(argument, static_cast<int>(*bytes)) ? 0 : -EFAULT};
    }
    default:
      return Answer{file->control_io(process, static_cast<std::uint64_t>(a[1]), argument, call.now())};
  }
}

CallOutcome sys_dup(CallContext& call) {
  Process& process = call.process;
  const auto from = call.as_int(0);
  const VirtualFilePtr file = process.files().at(from);
  if (call.number == SYS_dup) {
    if (file == nullptr) return process.files().natively_open(from) ? Answer{0, protocol::Action::kNative} : Answer{-EBADF};
    const int fd = process.files().install(file);
    if (fd < 0) return Answer{fd};
    return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
  }
  const auto to = call.as_int(1);
  if (call.number == SYS_dup3 && (from == to || (call.as_int(2) & ~O_CLOEXEC) != 0)) return Answer{-EINVAL};
  if (file == nullptr && !process.files().natively_open(from)) return Answer{-EBADF};
  if (from == to) return Answer{to};
  if (to < 0 || to >= process.files().limit()) return Answer{-EBADF};
  if (file == nullptr) {
    process.files().close(to);
    return Answer{0, protocol::Action::kNative};
  }
  process.files().install_at(to, file);
  return Answer{to, protocol::Action::kReserveFd, {to, 0}};
}

CallOutcome sys_seek(CallContext& call) {
  const auto& a = call.arguments;
  const VirtualFilePtr file = call.file(0);
  if (file == nullptr) return Answer{-EBADF};
  if (call.number == SYS_lseek) return Answer{file->seek(a[1], call.as_int(2))};
  if (file->tree_path().empty()) return Answer{-ESPIPE};
  if (S_ISDIR(file->mode())) return Answer{-EISDIR};
  if (call.number != SYS_pread64) return Answer{call.number == SYS_pwrite64 ? -EBADF : -EOPNOTSUPP};
  if (a[3] < 0) return Answer{-EINVAL};
  std::vector<std::byte> bytes;
  const std::uint64_t room = std::min<std::uint64_t>(call.length(2), kChunk);
  const std::int64_t n = file->read_at(static_cast<std::uint64_t>(a[3]), room, bytes);
  if (n > 0 && !call.process.memory().put(call.address(1), bytes)) return Answer{-EFAULT};
  return Answer{n};
}

}  // namespace verbatim::supervisor
