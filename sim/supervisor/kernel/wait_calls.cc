// poll, select, epoll, sleeps and waits for signals.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "sim/supervisor/files/epoll_file.h"
#include "sim/supervisor/kernel/wait_calls.h"
#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/tasks/signals.h"
#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kPsPerMs = 1'000'000'000;

std::uint32_t readiness_of(Process& process, int fd, bool* valid_fd) {
  *valid_fd = true;
  if (const VirtualFilePtr file = process.files().at(fd)) return file->readiness();
  // Real descriptors are regular files and the empty standard input: always ready.
  *valid_fd = process.files().natively_open(fd);
  return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
}

}  // namespace

// Signal mask of ppoll, pselect and epoll_pwait, which applies while the thread waits. Returns 0 or the errno
// that ends the call: EFAULT, or EINTR if the new mask admits a signal that the kernel of the machine holds
// back.
int deliver_signals_during_wait(CallContext& call, std::uint64_t mask_address, bool waits) {
  if (mask_address == 0) return 0;
  const auto mask = call.load_argument<std::uint64_t>(mask_address);
  if (!mask) return -EFAULT;
  if (!waits) return 0;
  call.thread.signals.await_with_mask(*mask);
  take_awaited(call.thread, ~*mask);
  return (kept_natively(call.thread) & ~*mask) != 0 ? -EINTR : 0;
}

CallOutcome sys_poll(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto count = call.length(1);
  if (count > process.limits.of(RLIMIT_NOFILE).rlim_cur) return Answer{-EINVAL};
  std::vector<pollfd> set(count);
  const auto set_address = call.address(0);
  if (count > 0 && !call.read_argument(set_address, std::as_writable_bytes(std::span(set))))
    return Answer{-EFAULT};
  std::vector<VirtualFilePtr> files;
  std::int64_t ready = 0;
  for (pollfd& entry : set) {
    entry.revents = 0;
    if (entry.fd < 0) continue;
    bool valid_fd;
    const std::uint32_t events = readiness_of(process, entry.fd, &valid_fd);
    if (valid_fd && process.files().at(entry.fd) == nullptr) valid_fd = process.files().natively_usable(entry.fd);
    entry.revents = static_cast<short>(
        valid_fd ? events & (static_cast<std::uint16_t>(entry.events) | POLLERR | POLLHUP) : POLLNVAL);
    if (entry.revents != 0) ++ready;
    if (VirtualFilePtr file = process.files().at(entry.fd)) add_with_watched(files, std::move(file));
  }
  Instant deadline = kNever;
  if (call.is_retry()) {
    deadline = call.deadline();
  } else if (call.number == SYS_ppoll) {
    int error;
    const auto loaded = call.load_deadline(call.address(2), &error);
    if (!loaded) return Answer{error};
    deadline = *loaded;
  } else if (call.as_int(2) >= 0) {
    deadline = call.now() + Duration(call.as_int(2) * kPsPerMs);
  }
  if (call.number == SYS_ppoll) {
    if (const int error = deliver_signals_during_wait(call, call.address(3), ready == 0))
      return Answer{error};
  }
  if (ready == 0 && call.now() < deadline) return call.wait_for(std::move(files), deadline, "poll");
  if (call.number == SYS_ppoll && a[2] != 0) {
    process.memory().store(call.address(2), to_timespec(std::max(deadline - call.now(), Duration::zero())));
  }
  // Keeps changes that other threads have made to the entries meanwhile.
  std::vector<pollfd> there(count);
  const auto bytes = std::as_writable_bytes(std::span(there));
  if (count > 0 && !process.memory().read(set_address, bytes)) return Answer{-EFAULT};
  for (std::size_t i = 0; i < count; ++i) there[i].revents = set[i].revents;
  if (count > 0 && !process.memory().put(set_address, bytes)) return Answer{-EFAULT};
  return Answer{ready};
}

CallOutcome sys_select(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  if (call.as_int(0) < 0) return Answer{-EINVAL};
  const int limit =
      std::min(call.as_int(0), protocol::kMostDescriptors);  // sets may be larger than an fd_set
  constexpr std::uint32_t kMeaning[3] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};
  const std::size_t words = static_cast<std::size_t>((limit + 63) / 64);
  std::vector<std::uint64_t> result[3];
  std::vector<VirtualFilePtr> files;
  std::int64_t ready = 0;
  for (int k = 0; k < 3; ++k) {
    result[k].resize(words);
    if (a[k + 1] == 0 || words == 0) continue;
    std::vector<std::uint64_t> wanted(words);
    if (!call.read_argument(call.address(k + 1), std::as_writable_bytes(std::span(wanted))))
      return Answer{-EFAULT};
    for (int fd = 0; fd < limit; ++fd) {
      const auto word = static_cast<std::size_t>(fd / 64);
      const std::uint64_t bit = 1ull << (fd % 64);
      if ((wanted[word] & bit) == 0) continue;
      bool valid_fd;
      const std::uint32_t events = readiness_of(process, fd, &valid_fd);
      if (!valid_fd) return Answer{-EBADF};
      if ((events & kMeaning[k]) != 0) {
        result[k][word] |= bit;
        ++ready;
      }
      if (VirtualFilePtr file = process.files().at(fd)) add_with_watched(files, std::move(file));
    }
  }
  Instant deadline = kNever;
  if (call.is_retry()) {
    deadline = call.deadline();
  } else if (a[4] != 0 && call.number == SYS_select) {
    const auto timeout = process.memory().load<timeval>(call.address(4));
    if (!timeout) return Answer{-EFAULT};
    if (timeout->tv_sec < 0 || timeout->tv_usec < 0) return Answer{-EINVAL};
    deadline = add_ns(call.now(), to_ns({timeout->tv_sec, 0}) + timeout->tv_usec * 1000);
  } else if (a[4] != 0) {
    int error;
    const auto loaded = call.load_deadline(call.address(4), &error);
    if (!loaded) return Answer{error};
    deadline = *loaded;
  }
  if (call.number == SYS_pselect6 && a[5] != 0) {
    const auto mask = call.load_argument<std::uint64_t>(call.address(5));  // pointer and size
    if (!mask) return Answer{-EFAULT};
    if (const int error = deliver_signals_during_wait(call, *mask, ready == 0)) return Answer{error};
  }
  if (ready == 0 && call.now() < deadline) return call.wait_for(std::move(files), deadline, "select");
  for (int k = 0; k < 3; ++k) {
    if (a[k + 1] == 0 || words == 0) continue;
    const auto bytes = std::as_bytes(std::span(result[k]));
    if (!process.memory().put(call.address(k + 1), bytes)) return Answer{-EFAULT};
  }
  if (a[4] != 0) {  // Linux stores the remaining time
    const Duration left = std::max(deadline - call.now(), Duration::zero());
    const timespec time = to_timespec(left);
    const auto address = call.address(4);
    call.number == SYS_select ? process.memory().store(address, timeval{time.tv_sec, time.tv_nsec / 1000})
                              : process.memory().store(address, time);
  }
  return Answer{ready};
}

CallOutcome sys_epoll_create(CallContext& call) {
  if (call.number == SYS_epoll_create && call.as_int(0) <= 0) return Answer{-EINVAL};
  if (call.number == SYS_epoll_create1 && (call.as_int(0) & ~EPOLL_CLOEXEC) != 0) return Answer{-EINVAL};
  return call.install(std::make_shared<EpollFile>(), false);
}

// The order of checks is that of Linux.
CallOutcome sys_epoll_ctl(CallContext& call) {
  const Process& process = call.process;
  epoll_event event{};
  if (call.as_int(1) != EPOLL_CTL_DEL) {
    const auto loaded = call.process.memory().load<epoll_event>(call.address(3));
    if (!loaded) return Answer{-EFAULT};
    event = *loaded;
  }
  const auto [fd, target] = std::pair(call.as_int(0), call.as_int(2));
  const VirtualFilePtr own = process.files().at(fd), file = process.files().at(target);
  if (own == nullptr && !process.files().natively_usable(fd)) return Answer{-EBADF};
  if (file == nullptr) return Answer{process.files().natively_usable(target) ? -EPERM : -EBADF};
  if (!file->can_be_polled()) return Answer{-EPERM};
  EpollFile* const epoll = own == nullptr ? nullptr : own->as_epoll();
  if (epoll == nullptr || file == own) return Answer{-EINVAL};
  return Answer{epoll->control(call.as_int(1), target, file, event)};
}

CallOutcome sys_epoll_wait(CallContext& call) {
  Process& process = call.process;
  constexpr int kMostEvents = INT_MAX / sizeof(epoll_event);
  if (call.as_int(2) <= 0 || call.as_int(2) > kMostEvents) return Answer{-EINVAL};
  int error = 0;
  const auto epoll = call.file_of_kind<EpollFile>(call.as_int(0), -EINVAL, &error);
  if (epoll == nullptr) return Answer{error};
  const bool ready = epoll->readiness() != 0;
  Instant deadline = kNever;
  if (call.is_retry()) {
    deadline = call.deadline();
  } else if (call.number == SYS_epoll_pwait2) {
    const auto loaded = call.load_deadline(call.address(3), &error);
    if (!loaded) return Answer{error};
    deadline = *loaded;
  } else if (call.as_int(3) >= 0) {
    deadline = call.now() + Duration(call.as_int(3) * kPsPerMs);
  }
  const bool has_mask = call.number == SYS_epoll_pwait || call.number == SYS_epoll_pwait2;
  if (has_mask) {
    error = deliver_signals_during_wait(call, call.address(4), !ready);
    if (error != 0) return Answer{error};
  }
  if (!ready && call.now() < deadline) {
    std::vector<VirtualFilePtr> files;
    add_with_watched(files, epoll);
    return call.wait_for(std::move(files), deadline, "epoll_wait");
  }
  const auto store = [&](std::size_t index, const epoll_event& event) {
    return process.memory().store(call.address(1) + index * sizeof event, event);
  };
  return Answer{epoll->take(static_cast<std::size_t>(call.as_int(2)), store)};
}

namespace {

// Error of a sleep by this clock; 0: none. Negative numbers are clocks of processes and threads.
int error_of_sleeping_by(std::int64_t clock) {
  constexpr std::int64_t kSgiCycle = 10;  // Linux has removed it
  if (clock > CLOCK_TAI || clock == kSgiCycle) return -EINVAL;
  const bool only_tells = clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_MONOTONIC_RAW ||
                          clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE;
  return only_tells ? -EOPNOTSUPP : 0;
}

}  // namespace

CallOutcome sys_sleep(CallContext& call) {
  const auto& a = call.arguments;
  const bool by_clock = call.number == SYS_clock_nanosleep;
  if (call.is_retry()) {
    if (call.now() >= call.deadline()) return Answer{0};
    return call.wait_for({}, call.deadline(), "sleep");
  }
  if (const int error = by_clock ? error_of_sleeping_by(call.as_int(0)) : 0; error != 0) return Answer{error};
  const auto loaded = call.process.memory().load<timespec>(call.address(by_clock ? 2 : 0));
  if (!loaded) return Answer{-EFAULT};
  if (!valid(*loaded)) return Answer{-EINVAL};
  std::int64_t ns = to_ns(*loaded);
  if (by_clock && (call.flags(1) & TIMER_ABSTIME) != 0)
    ns = ns_until(a[0], *loaded, call.now(), call.epoch_ns());
  if (ns <= 0) return Answer{0};
  const bool is_absolute = by_clock && (call.flags(1) & TIMER_ABSTIME) != 0;
  return call.wait_for({}, add_ns(is_absolute ? call.now() : call.thread.call().called_at, ns), "sleep");
}

// The call has found nothing, or has slept. Stores the files and memory that decide its result, for the
// runtime to repeat it by itself (answer.repeats). Stores nothing if a repetition may have another result.
void keep_empty_call(CallContext& call, Answer& answer) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const protocol::CallMemory read = protocol::memory_of_call(call.number, a);
  if (read.length > protocol::kMostCallMemory) return;
  std::vector<std::uint8_t> memory(read.length);
  if (!process.memory().read(read.address, std::as_writable_bytes(std::span(memory)))) return;
  std::vector<VirtualFilePtr> files;
  Duration slept = Duration::zero();
  if (protocol::is_sleep(call.number, a)) {
    timespec asked;
    std::memcpy(&asked, memory.data(), sizeof asked);
    slept = call.now() - call.thread.call().called_at;
    // A process that was stopped meanwhile has slept longer.
    if (slept != add_ns(Instant{}, std::max<std::int64_t>(to_ns(asked), 0)) - Instant{}) return;
    answer.arguments[0] = to_ps(slept);
  } else if (call.number == SYS_poll) {
    for (std::size_t at = 0; at < memory.size(); at += sizeof(pollfd)) {
      pollfd asked;
      std::memcpy(&asked, memory.data() + at, sizeof asked);
      if (VirtualFilePtr file = process.files().at(asked.fd)) add_with_watched(files, std::move(file));
    }
  } else {
    if (VirtualFilePtr file = process.files().at(call.as_int(0))) add_with_watched(files, std::move(file));
  }
  answer.repeats = call.thread.empty_calls.keep_result(answer.result, slept, std::move(memory), files);
}

CallOutcome sys_pause(CallContext& call) { return call.wait_for({}, kNever, "pause"); }

CallOutcome sys_wait_for_signal(CallContext& call) {
  const bool suspends = call.number == SYS_rt_sigsuspend;
  const auto set = call.load_argument<std::uint64_t>(call.address(0));
  if (!set) return Answer{-EFAULT};
  suspends ? call.thread.signals.await_with_mask(*set) : call.thread.signals.await(*set);
  take_awaited(call.thread, suspends ? ~*set : *set);
  if (suspends) return call.wait_for({}, kNever, "sigsuspend");
  if (call.thread.signals.has_deliverable() && (*set >> (call.thread.signals.next() - 1) & 1) != 0) return Answer{0};
  int error = 0;
  const auto deadline = call.load_deadline(call.address(2), &error);
  if (!deadline) return Answer{error};
  if (call.now() >= *deadline) return Answer{-EAGAIN};
  return call.wait_for({}, *deadline, "sigwait");
}

}  // namespace verbatim::supervisor
