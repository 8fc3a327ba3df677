// Pipes, named pipes, counters, timers that are descriptors, and what a descriptor tells about itself.
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
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/files/pipe.h"
#include "sim/supervisor/tasks/signal_file.h"
#include "sim/supervisor/trees/tree_files.h"

namespace verbatim::supervisor {

Kernel::Outcome Kernel::sys_pipe(Thread& thread) {
  const PendingCall& call = thread.call();
  const std::int64_t flags = call.number == SYS_pipe2 ? call.arguments[1] : 0;
  if ((flags & ~std::int64_t{O_CLOEXEC | O_NONBLOCK}) != 0) {
    if ((flags & O_DIRECT) != 0)
      warn(thread.process(), "pipes of packets (O_DIRECT) are not simulated; the program got EINVAL");
    return Answer{-EINVAL};
  }
  const auto pipe = std::make_shared<Pipe>();
  return install_pair(thread.process(), pipe->open(O_RDONLY), pipe->open(O_WRONLY), (flags & O_NONBLOCK) != 0,
                      static_cast<std::uint64_t>(call.arguments[0]));
}

// As fifo(7): who opens one end waits for the other, unless it asks not to wait.
Kernel::Outcome Kernel::open_fifo(Thread& thread, const std::string& path, int flags) {
  Process& process = thread.process();
  const int mode = flags & O_ACCMODE;
  const auto opening = thread.opening();
  std::shared_ptr<Pipe> pipe;
  if (opening == nullptr) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return Answer{-errno};
    std::weak_ptr<Pipe>& fifo = host_of(process).fifos[{status.st_dev, status.st_ino}];
    pipe = fifo.lock();
    if (pipe == nullptr) fifo = pipe = std::make_shared<Pipe>();
    if (mode == O_WRONLY && (flags & O_NONBLOCK) != 0 && pipe->readers == 0) return Answer{-ENXIO};
  }
  const auto end = opening != nullptr ? std::static_pointer_cast<PipeEnd>(opening) : pipe->open(mode);
  const bool alone =
      mode == O_RDONLY ? end->pipe().writers == 0 : mode == O_WRONLY && end->pipe().readers == 0;
  // A partner that came and went while this one waited counts.
  const bool met = opening != nullptr &&
                   thread.opening_met(mode == O_RDONLY ? end->pipe().writers_ever : end->pipe().readers_ever);
  if (alone && !met && (flags & O_NONBLOCK) == 0) {
    thread.set_opening(end, mode == O_RDONLY ? end->pipe().writers_ever : end->pipe().readers_ever);
    return wait_for(thread, {end}, kNever, "open of a named pipe");
  }
  thread.set_opening(nullptr, 0);
  return install(process, end, (flags & O_NONBLOCK) != 0);
}

Kernel::Outcome Kernel::sys_eventfd(Thread& thread) {
  const PendingCall& call = thread.call();
  const std::int64_t flags = call.number == SYS_eventfd2 ? call.arguments[1] : 0;
  if ((flags & ~std::int64_t{EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE}) != 0) return Answer{-EINVAL};
  const auto count = static_cast<std::uint32_t>(call.arguments[0]);
  return install(thread.process(), std::make_shared<EventCounter>(count, (flags & EFD_SEMAPHORE) != 0),
                 (flags & EFD_NONBLOCK) != 0);
}

Kernel::Outcome Kernel::sys_timerfd(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Process& process = thread.process();
  if (call.number == SYS_timerfd_create) {
    if ((a[1] & ~std::int64_t{TFD_CLOEXEC | TFD_NONBLOCK}) != 0) return Answer{-EINVAL};
    constexpr std::int64_t kBootTimeAlarm = 9;
    if (a[0] != CLOCK_MONOTONIC && a[0] != CLOCK_BOOTTIME && a[0] != kBootTimeAlarm &&
        !is_real_time_clock(a[0])) {
      return Answer{-EINVAL};
    }
    return install(process,
                   std::make_shared<TimerFile>(engine_, process.host().component, static_cast<int>(a[0])),
                   (a[1] & TFD_NONBLOCK) != 0);
  }
  const VirtualFilePtr file = process.file(a[0]);
  auto* timer = dynamic_cast<TimerFile*>(file.get());
  if (timer == nullptr)
    return Answer{file == nullptr && !process.natively_open(static_cast<int>(a[0])) ? -EBADF : -EINVAL};
  const itimerspec old{to_timespec(timer->interval()), to_timespec(timer->remaining())};
  const auto old_address = static_cast<std::uint64_t>(a[call.number == SYS_timerfd_settime ? 3 : 1]);
  std::optional<itimerspec> wanted;
  if (call.number == SYS_timerfd_settime) {
    if ((a[1] & ~std::int64_t{TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET}) != 0) return Answer{-EINVAL};
    wanted = process.memory().load<itimerspec>(static_cast<std::uint64_t>(a[2]));
    if (!wanted) return Answer{-EFAULT};
    if (!valid(wanted->it_value) || !valid(wanted->it_interval)) return Answer{-EINVAL};
  }
  if (old_address != 0 && !process.memory().store(old_address, old)) return Answer{-EFAULT};
  if (!wanted) return Answer{0};
  const std::int64_t value = to_ns(wanted->it_value);
  const std::int64_t ns = (a[1] & TFD_TIMER_ABSTIME) != 0
                              ? ns_until(timer->clock(), wanted->it_value, now(), options_.epoch_ns)
                              : value;
  timer->set(value == 0 ? kNever : add_ns(now(), ns), from_ns(to_ns(wanted->it_interval)));
  return Answer{0};
}

Kernel::Outcome Kernel::sys_signalfd(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Process& process = thread.process();
  const std::int64_t flags = call.number == SYS_signalfd4 ? a[3] : 0;
  if (a[2] != sizeof(std::uint64_t) || (flags & ~std::int64_t{SFD_CLOEXEC | SFD_NONBLOCK}) != 0)
    return Answer{-EINVAL};
  const auto wanted = process.memory().load<std::uint64_t>(static_cast<std::uint64_t>(a[1]));
  if (!wanted) return Answer{-EFAULT};
  constexpr std::uint64_t kNever = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
  const std::uint64_t set = *wanted & ~kNever;
  const auto fd = static_cast<int>(a[0]);
  if (fd == -1) {
    process.outlives_its_end = true;
    return install(process, std::make_shared<SignalFile>(process, set), (flags & SFD_NONBLOCK) != 0);
  }
  const VirtualFilePtr file = process.file(fd);
  auto* signals = dynamic_cast<SignalFile*>(file.get());
  if (signals == nullptr) return Answer{file == nullptr && !process.natively_open(fd) ? -EBADF : -EINVAL};
  signals->replace_set(set);
  process.tell_watched_signals();
  return Answer{fd};
}

// fstat and its relatives, of a virtual descriptor.
Kernel::Outcome Kernel::sys_stat(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Process& process = thread.process();
  const VirtualFilePtr file = process.file(a[0]);
  if (file == nullptr) return Answer{0, protocol::Action::kNative};
  if (call.number != SYS_fstat) {
    const std::int64_t flags = a[call.number == SYS_newfstatat ? 3 : 2];
    const auto path = process.memory().load_string(static_cast<std::uint64_t>(a[1]), 4096);
    if (!path) return Answer{-EFAULT};
    if ((flags & AT_EMPTY_PATH) == 0) return Answer{-ENOENT};
  }
  number_of(process, *file);
  const auto address = static_cast<std::uint64_t>(a[call.number == SYS_fstat   ? 1
                                                    : call.number == SYS_statx ? 4
                                                                               : 2]);
  return store_attributes(process, call.number, address,
                          file->device() != 0 ? S_IFCHR | 0666 : file->mode(), file->number(), file->device());
}

Kernel::Outcome Kernel::change_folder(Thread& thread, FolderFile& folder) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  switch (call.number) {
    case SYS_getdents64: {
      std::vector<std::byte> bytes;
      const std::int64_t n = folder.entries(static_cast<std::uint32_t>(a[2]), bytes);
      if (n > 0 && !thread.process().memory().put(static_cast<std::uint64_t>(a[1]), bytes))
        return Answer{-EFAULT};
      return Answer{n};
    }
    case SYS_fstatfs:
      return store_file_system(thread.process(), static_cast<std::uint64_t>(a[1]), folder.path());
    case SYS_fsync:
    case SYS_flock:
      return Answer{0};
    case SYS_fgetxattr:
    case SYS_flistxattr:
      return Answer{call.number == SYS_fgetxattr ? -ENODATA : 0};
    case SYS_fchdir:
      return work_in(thread.process(), folder.path());
    default:
      return Answer{-EINVAL};
  }
}

// What can be done to a file of a file system and not to these.
Kernel::Outcome Kernel::sys_change(Thread& thread) {
  const PendingCall& call = thread.call();
  const VirtualFilePtr file = thread.process().file(call.arguments[0]);
  if (file == nullptr) return Answer{-EBADF};
  if (auto* folder = dynamic_cast<FolderFile*>(file.get())) return change_folder(thread, *folder);
  switch (call.number) {
    case SYS_fstatfs:
      if (const auto* opened = dynamic_cast<const TreeFile*>(file.get()))
        return store_file_system(thread.process(), static_cast<std::uint64_t>(call.arguments[1]), opened->path());
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
