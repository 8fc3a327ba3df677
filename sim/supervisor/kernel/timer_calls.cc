// Interval timers and POSIX timers.
#include "sim/supervisor/kernel/timer_calls.h"

#include <sys/syscall.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>

#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/tasks/interval_timer.h"
#include "sim/supervisor/tasks/posix_timer.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kPsPerUs = 1'000'000;

bool valid(const timeval& t) { return t.tv_sec >= 0 && t.tv_usec >= 0 && t.tv_usec < 1'000'000; }

Duration to_duration(const timeval& t) {
  return from_ns(to_ns({t.tv_sec, 0}) + t.tv_usec * 1000);
}

// Rounded up: a running timer never reads as zero.
timeval to_timeval(Duration d) {
  const std::int64_t us = (to_ps(d) + kPsPerUs - 1) / kPsPerUs;
  return {us / 1'000'000, us % 1'000'000};
}

}  // namespace

CallOutcome sys_timer(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  auto& timer = process.interval_timer;
  if (timer == nullptr)
    timer = std::make_unique<IntervalTimer>(call.services.engine, process.host().component, process);
  if (call.number == SYS_alarm) {
    // Rounded to the nearest second, as in Linux; a running timer never reads as zero.
    constexpr std::int64_t kSecond = 1'000'000'000'000;
    const std::int64_t remaining = to_ps(timer->remaining());
    const std::int64_t left = remaining == 0 ? 0 : std::max<std::int64_t>((remaining + kSecond / 2) / kSecond, 1);
    timer->set(to_duration({std::min<std::int64_t>(call.as_u32(0), INT_MAX), 0}), Duration::zero());
    return Answer{left};
  }
  if (a[0] != ITIMER_REAL) {
    if (a[0] == ITIMER_VIRTUAL || a[0] == ITIMER_PROF)
      call.warn("interval timers of CPU time are not simulated; the program got EINVAL");
    return Answer{-EINVAL};
  }
  const itimerval old{to_timeval(timer->interval()), to_timeval(timer->remaining())};
  const auto old_address = call.address(call.number == SYS_setitimer ? 2 : 1);
  if (call.number == SYS_setitimer) {
    itimerval wanted{};
    if (a[1] != 0) {
      const auto loaded = process.memory().load<itimerval>(call.address(1));
      if (!loaded) return Answer{-EFAULT};
      wanted = *loaded;
    }
    if (!valid(wanted.it_value) || !valid(wanted.it_interval)) return Answer{-EINVAL};
    timer->set(to_duration(wanted.it_value), to_duration(wanted.it_interval));
  }
  const bool is_asked = old_address != 0 || call.number == SYS_getitimer;
  if (is_asked && !process.memory().store(old_address, old)) return Answer{-EFAULT};
  return Answer{0};
}

namespace {

// True if `clock` is a clock of CPU time that exists: that of a process of the host, or of a thread of the caller's process.
bool is_live_cpu_clock(const CallContext& call, std::int64_t clock) {
  if (!is_cpu_clock(clock)) return false;
  constexpr std::int64_t kOfThread = 4, kIdShift = 3;
  const auto id = static_cast<std::uint32_t>(~(clock >> kIdShift));
  if (clock >= 0 || id == 0) return true;
  if ((clock & kOfThread) == 0) return call.find_process(id) != nullptr;
  Thread* const thread = call.find_thread(id);
  return thread != nullptr && &thread->process() == &call.process;
}

CallOutcome create_timer(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  constexpr std::int64_t kBootTimeAlarm = 9;
  const std::int64_t clock = call.as_int(0);
  if (clock >= CLOCK_MONOTONIC_RAW && clock <= CLOCK_MONOTONIC_COARSE) return Answer{-EOPNOTSUPP};
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME && clock != kBootTimeAlarm && !is_live_cpu_clock(call, clock) &&
      !is_real_time_clock(clock)) {
    return Answer{-EINVAL};
  }
  struct Event {  // the kernel's struct sigevent
    std::uint64_t value;
    std::int32_t signal;
    std::int32_t notify;
    std::uint32_t tid;
  };
  const int id = process.next_timer++;
  PosixTimer::Notice notice{.signal = SIGALRM, .value = static_cast<std::uint64_t>(id)};
  if (a[1] != 0) {
    const auto event = process.memory().load<Event>(call.address(1));
    if (!event) return Answer{-EFAULT};
    const bool to_thread = (event->notify & SIGEV_THREAD_ID) != 0;
    notice = {event->notify == SIGEV_NONE, event->signal, event->value, to_thread ? event->tid : 0};
    const int kind = event->notify & ~SIGEV_THREAD_ID;
    if (kind != SIGEV_SIGNAL && kind != SIGEV_NONE && kind != SIGEV_THREAD) return Answer{-EINVAL};
    if (!notice.silent && (notice.signal < 1 || notice.signal > 64)) return Answer{-EINVAL};
    const bool known =
        std::any_of(process.threads().begin(), process.threads().end(), [&](const auto& other) {
          return other->tid() == event->tid && other->state() != Thread::State::kDead;
        });
    if (to_thread && !known) return Answer{-EINVAL};
  }
  if (!process.memory().store(call.address(2), static_cast<std::int32_t>(id))) return Answer{-EFAULT};
  process.timers[id] = std::make_unique<PosixTimer>(call.services.engine, process.host().component, process,
                                                      id, static_cast<int>(clock), notice);
  return Answer{0};
}

}  // namespace

CallOutcome sys_posix_timer(CallContext& call) {
  const auto& a = call.arguments;
  if (call.number == SYS_timer_create) return create_timer(call);
  Process& process = call.process;
  const auto found = process.timers.find(call.as_int(0));
  if (found == process.timers.end()) return Answer{-EINVAL};
  PosixTimer& timer = *found->second;
  if (call.number == SYS_timer_getoverrun) return Answer{timer.overrun()};
  if (call.number == SYS_timer_delete) {
    process.timers.erase(found);
    return Answer{0};
  }
  const itimerspec old{to_timespec(timer.interval()), to_timespec(timer.remaining())};
  const auto old_address = call.address(call.number == SYS_timer_settime ? 3 : 1);
  std::optional<itimerspec> wanted;
  if (call.number == SYS_timer_settime) {
    wanted = process.memory().load<itimerspec>(call.address(2));
    if (!wanted) return Answer{a[2] == 0 ? -EINVAL : -EFAULT};
    if (!valid(wanted->it_value) || !valid(wanted->it_interval)) return Answer{-EINVAL};
  }
  if ((old_address != 0 || !wanted) && !process.memory().store(old_address, old)) return Answer{-EFAULT};
  if (!wanted) return Answer{0};
  const std::int64_t value = to_ns(wanted->it_value);
  const std::int64_t ns = (call.flags(1) & TIMER_ABSTIME) != 0
                              ? ns_until(timer.clock(), wanted->it_value, call.now(), call.epoch_ns())
                              : value;
  timer.set(value == 0 ? kNever : add_ns(call.now(), ns), from_ns(to_ns(wanted->it_interval)),
            std::max<std::int64_t>(-ns, 0));
  return Answer{0};
}

namespace {

// Stores the remaining time of a sleep that a signal interrupts. False: a bad address.
bool store_remaining_time(CallContext& call) {
  const bool by_clock = call.number == SYS_clock_nanosleep;
  if (call.number != SYS_nanosleep && !by_clock) return true;
  const auto address = call.address(by_clock ? 3 : 1);
  if (address == 0 || (by_clock && (call.flags(1) & TIMER_ABSTIME) != 0)) return true;
  const Duration rest =
      call.deadline() > call.now() ? call.deadline() - call.now() : Duration::zero();
  return call.process.memory().store(address, to_timespec(rest));
}

}  // namespace

bool give_up_waiting(CallContext& call, FutexTable& futexes) {
  call.thread.stop_waiting();
  futexes.forget(call.thread);
  call.thread.finish_call();
  return store_remaining_time(call);
}

// The call must still wait, but a signal is pending.
Answer interrupt(CallContext& call, FutexTable& futexes) {
  const auto disposition = call.process.disposition(call.thread.signals.next());
  if (!give_up_waiting(call, futexes)) return {-EFAULT};
  if (protocol::system_call(call.number).has(protocol::CallTraits::kNeverRestarted)) return {-EINTR};
  if (disposition == protocol::kSignalHandled) return {-EINTR};
  return {0, protocol::Action::kRestart};
}

}  // namespace verbatim::supervisor
