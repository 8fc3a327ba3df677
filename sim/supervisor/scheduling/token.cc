#include "sim/supervisor/scheduling/token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "sim/core/open_file.h"
#include "sim/supervisor/scheduling/processor_time.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kGlanceMs = 20;         // interval of checks of a silent program
// A shorter timeout expires before the kernel's next tick. Each token transfer would then program and reset
// the processor's timer. In a virtual machine the hypervisor does this, which takes as long as the transfer.
// A thread known to spin traps by itself (tasks/loop_traps.h).
constexpr std::int64_t kLeastTimeoutUs = 4000;
constexpr std::int64_t kAsleepLimitMs = 5000;  // asleep in a kernel call that is not simulated

// State letter of a thread, its current system call, and its kernel time, from /proc.
struct Glance {
  char state = '?';
  std::string call;
  std::int64_t kernel_ms = 0;
};

// Kernel time of a thread. `from_state` is its /proc stat line from the state field on (proc(5)).
std::int64_t kernel_time_ms(const std::string& from_state) {
  constexpr int kFieldsBefore = 12;  // stime is the 15th field, the state the third
  std::istringstream fields(from_state);
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  std::int64_t ticks = 0;
  fields >> ticks;
  return ticks * 1000 / sysconf(_SC_CLK_TCK);
}

Glance glance(pid_t pid, pid_t tid) {
  Glance seen;
  const std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
  std::ifstream stat(folder + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end != std::string::npos && name_end + 2 < text.size()) {
    seen.state = text[name_end + 2];
    seen.kernel_ms = kernel_time_ms(text.substr(name_end + 2));
  }
  std::ifstream syscall_file(folder + "/syscall");
  long number = -1;
  std::string first;
  if (syscall_file >> number >> first && number >= 0) {
    const char* name = protocol::system_call(static_cast<std::uint64_t>(number)).name;
    seen.call = fmt::format("{}({}, …)", name != nullptr ? name : std::to_string(number), first);
  }
  return seen;
}

// True if the thread is in user mode or runnable, and not in a system call.
bool is_computing(pid_t pid, pid_t tid) {
  char text[16] = {};
  const int fd = open_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return n > 0 && std::string_view(text, static_cast<std::size_t>(n)).starts_with("running");
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

void wake(std::atomic<protocol::Baton>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

// Set by SIGCHLD, which interrupts a sleep but not a polling loop.
volatile std::sig_atomic_t children_changed = 0;

}  // namespace

TokenWait::TokenWait(std::int64_t stuck_after_ms, std::int64_t poke_period_us)
    : stuck_after_ms_(stuck_after_ms), poke_period_us_(poke_period_us) {
  // Without SA_RESTART the signal interrupts the futex wait below.
  struct sigaction action {};
  action.sa_handler = [](int) { children_changed = 1; };
  sigaction(SIGCHLD, &action, nullptr);
}

void TokenWait::handed_over(unsigned poke_backoff) {
  look_us_ = poke_us_ = std::min(poke_period_us_ * poke_backoff, kGlanceMs * 1000);
  silent_ms_ = asleep_ms_ = 0;
  calls_before_.reset();
  processor_time_.reset();
  last_look_ = std::chrono::steady_clock::now();
}

void TokenWait::give(ProcessRegion& region, std::uint32_t index, protocol::ThreadSlot* before) {
  given_in_ = &region;
  given_index_ = index;
  protocol::ThreadSlot& slot = region.slot(index);
  if (protocol::hand_over(slot.go)) wake(slot.go);
  // After the wake-up: the sleeper's processor is then never idle in between.
  if (before != nullptr) protocol::send_to_sleep(before->go);
}

// Wakes the token holder again while it has not taken the token. The program may have overwritten the word of
// a sleeping thread, which hand_over() then took for a running one.
void TokenWait::wake_again(ProcessRegion& region) {
  if (given_in_ != &region) return;
  auto& go = region.slot(given_index_).go;
  if (go.load(std::memory_order_relaxed) == protocol::Baton::kHandedOver) wake(go);
}

// True if the answer arrived while polling.
bool TokenWait::look(std::atomic<protocol::Baton>& message) {
  if (second_core_ == nullptr || second_core_->looks() == 0) return false;
  return protocol::look_for(message, second_core_->looks(), [] { __builtin_ia32_pause(); });
}

TokenWait::Result TokenWait::wait(ProcessRegion& region, pid_t pid, pid_t tid, bool may_poke,
                                  const std::function<bool()>& while_held) {
  auto& message = region.header().message;
  if (look(message)) return Result::kMessage;
  while (true) {
    int error = 0;
    const bool taken = protocol::take(message, [&] {
      // A child that ended while the simulator polled has set the flag but interrupts no sleep.
      if (children_changed != 0) return children_changed = 0, false;
      const std::int64_t wait_us = may_poke ? std::clamp(look_us_, kLeastTimeoutUs, kGlanceMs * 1000) : kGlanceMs * 1000;
      const timespec timeout{0, wait_us * 1000};
      constexpr auto kAsleep = static_cast<std::uint32_t>(protocol::Baton::kAsleep);
      if (syscall(SYS_futex, &message, FUTEX_WAIT, kAsleep, &timeout, nullptr, 0) != 0) error = errno;
      return message.load(std::memory_order_relaxed) == protocol::Baton::kHandedOver;
    });
    if (taken) return Result::kMessage;
    wake_again(region);
    if (error == ETIMEDOUT && may_poke && has_computed(pid) && is_computing(pid, tid)) {
      syscall(SYS_tgkill, pid, tid, protocol::kPokeSignal);
      // The interval doubles. Pokes hardly disturb a long computation.
      look_us_ = poke_us_ = std::min(poke_us_ * 2, kGlanceMs * 1000);
    }
    if (interrupted()) return Result::kInterrupted;
    if (has_ended(pid)) {
      // A request made just before the end is void: no thread is left to continue.
      return Result::kDied;
    }
    const auto now = std::chrono::steady_clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_look_).count();
    if (passed < kGlanceMs) continue;
    last_look_ = now;
    const std::uint64_t calls = region.header().calls;
    const Glance seen = glance(pid, tid);
    if (!calls_before_) {
      calls_before_ = calls;
      kernel_before_ms_ = seen.kernel_ms;
    }
    if (seen.state == 't' || seen.state == 'T') {  // held by a debugger: the whole fabric waits
      silent_ms_ = asleep_ms_ = 0;
      if (while_held && while_held()) return Result::kInterrupted;
      continue;
    }
    // Time in which the simulator did not run (stopped or overloaded machine) does not count as silence.
    const std::int64_t counted = std::min<std::int64_t>(passed, 10 * kGlanceMs);
    silent_ms_ += counted;
    asleep_ms_ = seen.state == 'S' ? asleep_ms_ + counted : 0;
    if (asleep_ms_ > std::min(kAsleepLimitMs, stuck_after_ms_)) {
      stuck_doing_ = "sleeps in the kernel in " + seen.call +
                     ", which the simulation does not control, so virtual time cannot advance";
      return Result::kStuck;
    }
    if (silent_ms_ > stuck_after_ms_ && calls != *calls_before_) {
      const std::uint32_t last = region.header().last_call;
      const char* const name = protocol::system_call(last).name;
      stuck_doing_ = fmt::format(
          "has made {} system calls in {} s, none of which takes virtual time (the last is {}), so virtual time does not advance and "
          "no other program runs; this is typical of an endless loop around such calls (raise --stuck-after for a long one that "
          "ends)",
          calls - *calls_before_, silent_ms_ / 1000, name != nullptr ? name : std::to_string(last));
      return Result::kStuck;
    }
    if (silent_ms_ > stuck_after_ms_) {
      // The calls in protocol/passing_calls.h and first accesses to pages are not counted in `calls`.
      constexpr std::int64_t kMuch = 4;
      const bool is_in_kernel = (seen.kernel_ms - kernel_before_ms_) * kMuch > silent_ms_;
      stuck_doing_ = fmt::format(
          "has been computing for {} s {}; this is typical of a loop that waits for memory to change, and of a long computation "
          "(raise --stuck-after for the latter)",
          silent_ms_ / 1000,
          is_in_kernel ? "without virtual time advancing, much of it in the kernel, in calls that take no virtual time, such as "
                         "mmap and madvise, or new memory"
                       : "without a call");
      return Result::kStuck;
    }
  }
}

// True if the process used enough processor time since the last poke; otherwise the interval of checks
// doubles. On a loaded machine a program may be silent because it is not scheduled.
bool TokenWait::has_computed(pid_t pid) {
  const auto now = processor_time(pid);
  if (!now) return true;
  if (!processor_time_) {
    processor_time_ = now;
    return false;
  }
  // Half the time is enough, because simulator and program may share the processor.
  if (*now - *processor_time_ < std::chrono::microseconds(poke_us_) / 2) {
    look_us_ = std::min(look_us_ * 2, kGlanceMs * 1000);
    return false;
  }
  processor_time_ = now;
  return true;
}

}  // namespace verbatim::supervisor
