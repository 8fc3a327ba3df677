// clone, exit, uname, sysinfo, getrandom and CPU affinity.
#include <linux/sched.h>
#include <linux/sysinfo.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/trees/virtual_paths.h"

namespace verbatim::supervisor {

Kernel::Outcome Kernel::sys_clone(Thread& thread) {
  const auto& a = thread.call().arguments;
  constexpr std::int64_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  if ((a[0] & kThreadFlags) != kThreadFlags || a[1] == 0) return copy_process(thread);
  Thread* made = make_thread_(thread.process());
  if (made == nullptr) return Answer{-EAGAIN};
  made->scheduling = thread.scheduling;
  made->credentials = thread.credentials;
  made->publish_credentials();
  thread.process().thread_in_making = made;
  thread.process().region().slot(made->slot()).native_tid = 0;
  if ((a[0] & CLONE_CHILD_CLEARTID) != 0) made->set_clear_tid(static_cast<std::uint64_t>(a[3]));
  made->set_request(request::Attach{});
  made->run_at(now() + Duration(thread.process().host().costs.wake_up_ps) + made->scheduling_delay(kAfterWait));
  return Answer{made->tid(), protocol::Action::kCloneThread, {made->slot(), 0}};
}

Kernel::Outcome Kernel::sys_set_tid_address(Thread& thread) {
  thread.set_clear_tid(static_cast<std::uint64_t>(thread.call().arguments[0]));
  return Answer{thread.tid()};
}

void Kernel::thread_ended(Thread& thread) {
  if (thread.clear_tid() == 0) return;
  thread.process().memory().store(thread.clear_tid(), std::uint32_t{0});
  wake_futex_word(thread.process(), thread.clear_tid());
}

void Kernel::release_robust_locks(Process& process) {
  for (const auto& thread : process.threads()) {
    if (thread->state() != Thread::State::kDead) release_robust_locks(*thread);
  }
}

// The process ends natively; the supervisor reaps it before it does anything else.
Kernel::Outcome Kernel::sys_exit(Thread& thread) {
  Process& process = thread.process();
  const bool is_whole = thread.call().number == SYS_exit_group;
  is_whole ? release_robust_locks(process) : release_robust_locks(thread);
  const auto lives = [](const auto& one) { return one->state() != Thread::State::kDead; };
  if (is_whole || std::ranges::count_if(process.threads(), lives) == 1) {
    process.keep_registered_memory();
    const auto code = static_cast<int>(thread.call().arguments[0]) & 0xff;
    const std::uint32_t original = process.family().copy_of;
    Process* const copied = code != 0 && original != 0 ? find_process(process, original) : nullptr;
    if (copied != nullptr) checks_.before_failure_of_copy(process, *copied, code, now());
    checks_.before_exit(process, code, now());
  }
  return Answer{0, protocol::Action::kNative};
}

Kernel::Outcome Kernel::sys_uname(Thread& thread) {
  utsname name{};
  const auto set = [](char(&field)[65], const std::string& text) { text.copy(field, sizeof field - 1); };
  set(name.sysname, "Linux");
  set(name.nodename, thread.process().host().name);
  set(name.release, "6.1.0-verbatim");
  set(name.version, "#1 SMP PREEMPT_DYNAMIC");
  set(name.machine, "x86_64");
  set(name.domainname, "(none)");
  const bool stored =
      thread.process().memory().store(static_cast<std::uint64_t>(thread.call().arguments[0]), name);
  return Answer{stored ? 0 : -EFAULT};
}

Kernel::Outcome Kernel::sys_sysinfo(Thread& thread) {
  constexpr unsigned long kMemory = 16ul << 30;
  struct sysinfo info {};
  info.uptime = 1000 + to_ps(now()) / 1'000'000'000'000;
  info.totalram = kMemory;
  info.freeram = kMemory / 2;
  info.procs = 1;
  info.mem_unit = 1;
  const bool stored =
      thread.process().memory().store(static_cast<std::uint64_t>(thread.call().arguments[0]), info);
  return Answer{stored ? 0 : -EFAULT};
}

Kernel::Outcome Kernel::sys_getrandom(Thread& thread) {
  const auto& a = thread.call().arguments;
  if ((a[2] & ~std::int64_t{GRND_NONBLOCK | GRND_RANDOM | 4}) != 0) return Answer{-EINVAL};
  const std::size_t n = std::min<std::uint64_t>(static_cast<std::uint64_t>(a[1]), 1 << 20);
  std::vector<std::byte> bytes;
  fill_random(thread.process().random(), bytes, n);
  const bool stored = n == 0 || thread.process().memory().put(static_cast<std::uint64_t>(a[0]), bytes);
  return Answer{stored ? static_cast<std::int64_t>(n) : -EFAULT};
}

// Every host has one processor.
Kernel::Outcome Kernel::sys_affinity(Thread& thread) {
  const auto& a = thread.call().arguments;
  if (find_thread(thread, static_cast<std::int32_t>(a[0])) == nullptr) return Answer{-ESRCH};
  if (a[1] < 8 || a[1] % 8 != 0) return Answer{-EINVAL};
  const std::uint64_t mask = 1;
  const bool stored = thread.process().memory().store(static_cast<std::uint64_t>(a[2]), mask);
  return Answer{stored ? static_cast<std::int64_t>(sizeof mask) : -EFAULT};
}

Kernel::Outcome Kernel::sys_set_affinity(Thread& thread) {
  const auto& a = thread.call().arguments;
  const std::uint64_t length = std::min<std::uint64_t>(static_cast<std::uint32_t>(a[1]), sizeof(std::uint64_t));
  std::uint64_t mask = 0;
  if (!thread.process().memory().read(static_cast<std::uint64_t>(a[2]),
                                      std::as_writable_bytes(std::span(&mask, 1)).first(length)) && length != 0) {
    return Answer{-EFAULT};
  }
  if (find_thread(thread, static_cast<std::int32_t>(a[0])) == nullptr) return Answer{-ESRCH};
  return Answer{(mask & 1) != 0 ? 0 : -EINVAL};
}

}  // namespace verbatim::supervisor
