// Pipes, named pipes, counters, timerfd, signalfd, fstat and other operations on virtual descriptors.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <csignal>

#include "sim/supervisor/files/counter_files.h"
#include "sim/supervisor/files/pipe.h"
#include "sim/supervisor/kernel/file_calls.h"
#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/tasks/signal_file.h"
#include "sim/supervisor/trees/tree_files.h"

namespace verbatim::supervisor {

CallOutcome sys_pipe(CallContext& call) {
  const std::int64_t flags = call.number == SYS_pipe2 ? call.arguments[1] : 0;
  if ((flags & ~std::int64_t{O_CLOEXEC | O_NONBLOCK}) != 0) {
    if ((flags & O_DIRECT) != 0)
      call.warn("pipes of packets (O_DIRECT) are not simulated; the program got EINVAL");
    return Answer{-EINVAL};
  }
  const auto pipe = std::make_shared<Pipe>();
  return call.install_pair(pipe->open(O_RDONLY), pipe->open(O_WRONLY), (flags & O_NONBLOCK) != 0,
                           call.address(0));
}

// fifo(7): opening one end waits for the other, unless O_NONBLOCK is given.
CallOutcome open_fifo(CallContext& call, const std::string& path, int flags) {
  const int mode = flags & O_ACCMODE;
  const CurrentCall::PendingOpen pending = call.pending_open;
  std::shared_ptr<Pipe> pipe;
  if (pending.end == nullptr) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return Answer{-errno};
    std::weak_ptr<Pipe>& fifo = call.host.fifos[{status.st_dev, status.st_ino}];
    pipe = fifo.lock();
    if (pipe == nullptr) fifo = pipe = std::make_shared<Pipe>();
    if (mode == O_WRONLY && (flags & O_NONBLOCK) != 0 && pipe->readers == 0) return Answer{-ENXIO};
  }
  const auto end = pending.end != nullptr ? std::static_pointer_cast<PipeEnd>(pending.end) : pipe->open(mode);
  const bool alone =
      mode == O_RDONLY ? end->pipe().writers == 0 : mode == O_WRONLY && end->pipe().readers == 0;
  // A partner that opened and closed during the wait counts.
  const std::uint64_t partners = mode == O_RDONLY ? end->pipe().writers_ever : end->pipe().readers_ever;
  const bool met = pending.end != nullptr && pending.partners != partners;
  if (alone && !met && (flags & O_NONBLOCK) == 0) {
    call.pending_open = {end, partners};
    return call.wait_for({end}, kNever, "open of a named pipe");
  }
  call.pending_open = {};
  return call.install(end, (flags & O_NONBLOCK) != 0);
}

CallOutcome sys_eventfd(CallContext& call) {
  const std::int64_t flags = call.number == SYS_eventfd2 ? call.arguments[1] : 0;
  if ((flags & ~std::int64_t{EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE}) != 0) return Answer{-EINVAL};
  const auto count = call.as_u32(0);
  return call.install(std::make_shared<EventCounter>(count, (flags & EFD_SEMAPHORE) != 0),
                      (flags & EFD_NONBLOCK) != 0);
}

CallOutcome sys_timerfd(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  if (call.number == SYS_timerfd_create) {
    if ((call.flags(1) & ~std::int64_t{TFD_CLOEXEC | TFD_NONBLOCK}) != 0) return Answer{-EINVAL};
    constexpr std::int64_t kBootTimeAlarm = 9;
    if (a[0] != CLOCK_MONOTONIC && a[0] != CLOCK_BOOTTIME && a[0] != kBootTimeAlarm &&
        !is_real_time_clock(a[0])) {
      return Answer{-EINVAL};
    }
    return call.install(
        std::make_shared<TimerFile>(call.services.engine, process.host().component, call.as_int(0)),
        (call.flags(1) & TFD_NONBLOCK) != 0);
  }
  int error;
  const auto timer = call.file_of_kind<TimerFile>(a[0], -EINVAL, &error);
  if (timer == nullptr) return Answer{error};
  const itimerspec old{to_timespec(timer->interval()), to_timespec(timer->remaining())};
  const auto old_address = call.address(call.number == SYS_timerfd_settime ? 3 : 1);
  std::optional<itimerspec> wanted;
  if (call.number == SYS_timerfd_settime) {
    if ((call.flags(1) & ~std::int64_t{TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET}) != 0)
      return Answer{-EINVAL};
    wanted = process.memory().load<itimerspec>(call.address(2));
    if (!wanted) return Answer{-EFAULT};
    if (!valid(wanted->it_value) || !valid(wanted->it_interval)) return Answer{-EINVAL};
  }
  if ((old_address != 0 || !wanted) && !process.memory().store(old_address, old)) return Answer{-EFAULT};
  if (!wanted) return Answer{0};
  const std::int64_t value = to_ns(wanted->it_value);
  const std::int64_t ns = (call.flags(1) & TFD_TIMER_ABSTIME) != 0
                              ? ns_until(timer->clock(), wanted->it_value, call.now(), call.epoch_ns())
                              : value;
  timer->set(value == 0 ? kNever : add_ns(call.now(), ns), from_ns(to_ns(wanted->it_interval)),
             std::max<std::int64_t>(-ns, 0));
  return Answer{0};
}

CallOutcome sys_signalfd(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const std::int64_t flags = call.number == SYS_signalfd4 ? a[3] : 0;
  if (a[2] != sizeof(std::uint64_t) || (flags & ~std::int64_t{SFD_CLOEXEC | SFD_NONBLOCK}) != 0)
    return Answer{-EINVAL};
  const auto wanted = process.memory().load<std::uint64_t>(call.address(1));
  if (!wanted) return Answer{-EFAULT};
  constexpr std::uint64_t kNever = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
  const std::uint64_t set = *wanted & ~kNever;
  const auto fd = call.as_int(0);
  if (fd == -1) {
    process.outlives_its_end = true;
    return call.install(std::make_shared<SignalFile>(process, set), (flags & SFD_NONBLOCK) != 0);
  }
  int error;
  const auto signals = call.file_of_kind<SignalFile>(fd, -EINVAL, &error);
  if (signals == nullptr) return Answer{error};
  signals->replace_set(set);
  process.publish_watched_signals();
  return Answer{fd};
}

// fstat and related calls on a virtual descriptor.
CallOutcome sys_stat(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const VirtualFilePtr file = call.file(0);
  if (file == nullptr) return Answer{0, protocol::Action::kNative};
  if (call.number != SYS_fstat) {
    const std::int64_t flags = a[call.number == SYS_newfstatat ? 3 : 2];
    const auto path = process.memory().load_string(call.address(1), 4096);
    if (!path) return Answer{-EFAULT};
    if ((flags & AT_EMPTY_PATH) == 0) return Answer{-ENOENT};
  }
  const auto address = call.address(call.number == SYS_fstat ? 1 : call.number == SYS_statx ? 4 : 2);
  return store_attributes(call, address, *file);
}

namespace {

CallOutcome change_folder(CallContext& call, VirtualFile& folder) {
  switch (call.number) {
    case SYS_getdents64: {
      std::vector<std::byte> bytes;
      const std::int64_t n = folder.entries(call.as_u32(2), bytes);
      if (n > 0 && !call.process.memory().put(call.address(1), bytes)) return Answer{-EFAULT};
      return Answer{n};
    }
    case SYS_fstatfs:
      return store_file_system(call, call.address(1), folder.tree_path());
    case SYS_fsync:
    case SYS_fdatasync:
      return Answer{folder.tree_path().starts_with("/dev") ? 0 : -EINVAL};
    case SYS_flock:
      return Answer{0};
    case SYS_fgetxattr:
    case SYS_flistxattr:
      return Answer{call.number == SYS_fgetxattr ? -ENODATA : 0};
    case SYS_fchdir:
      return work_in(call, folder.tree_path());
    default:
      return Answer{-EINVAL};
  }
}

}  // namespace

// Operations on files of a file system that these files do not support.
CallOutcome sys_change(CallContext& call) {
  const VirtualFilePtr file = call.file(0);
  if (file == nullptr) return Answer{-EBADF};
  if (call.number == SYS_syncfs) return Answer{0};
  if (S_ISDIR(file->mode())) return change_folder(call, *file);
  switch (call.number) {
    case SYS_fstatfs:
      if (!file->tree_path().empty()) return store_file_system(call, call.address(1), file->tree_path());
      return Answer{0, protocol::Action::kNative};
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_flock:
      return Answer{0};
    case SYS_fchdir:
    case SYS_getdents:
    case SYS_getdents64:
      return Answer{-ENOTDIR};
    case SYS_readahead:
    case SYS_fallocate:
    case SYS_fadvise64:
    case SYS_sync_file_range:
      return Answer{-ESPIPE};
    case SYS_fgetxattr:
    case SYS_fsetxattr:
    case SYS_flistxattr:
    case SYS_fremovexattr:
      return Answer{-EOPNOTSUPP};
    default:
      return Answer{-EINVAL};
  }
}

}  // namespace verbatim::supervisor
