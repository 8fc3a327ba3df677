// clone, exit, uname, sysinfo, getrandom and CPU affinity.
#include <linux/sched.h>
#include <linux/sysinfo.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/kernel/futex_calls.h"
#include "sim/supervisor/kernel/process_calls.h"
#include "sim/supervisor/trees/virtual_paths.h"

namespace verbatim::supervisor {

CallOutcome sys_clone(CallContext& call, const MakeThread& make_thread) {
  const auto& a = call.arguments;
  constexpr std::int64_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  if ((call.flags(0) & kThreadFlags) != kThreadFlags || a[1] == 0) return copy_process(call);
  Thread* made = make_thread(call.process);
  if (made == nullptr) return Answer{-EAGAIN};
  made->scheduling = call.thread.scheduling;
  made->credentials = call.thread.credentials;
  made->publish_credentials();
  call.process.thread_in_making = made;
  call.process.region().slot(made->slot()).native_tid = 0;
  if ((call.flags(0) & CLONE_CHILD_CLEARTID) != 0) made->clear_tid = call.address(3);
  made->set_request(request::Attach{});
  made->run_at(call.now() + Duration(call.process.host().costs.wake_up_ps) +
               made->delays.choose(kAfterWait));
  return Answer{made->tid(), protocol::Action::kCloneThread, {made->slot(), 0}};
}

CallOutcome sys_set_tid_address(CallContext& call) {
  call.thread.clear_tid = call.address(0);
  return Answer{call.thread.tid()};
}

void end_thread(FutexTable& futexes, Thread& thread) {
  if (thread.clear_tid == 0) return;
  thread.process().memory().store(thread.clear_tid, std::uint32_t{0});
  wake_futex_word(futexes, thread.process(), thread.clear_tid);
}

void release_robust_locks(FutexTable& futexes, Process& process) {
  for (const auto& thread : process.threads()) {
    if (thread->state() != Thread::State::kDead) release_robust_locks(futexes, *thread);
  }
}

// The process ends natively; the supervisor reaps it before it does anything else.
CallOutcome sys_exit(CallContext& call, FutexTable& futexes) {
  Process& process = call.process;
  const bool is_whole = call.number == SYS_exit_group;
  is_whole ? release_robust_locks(futexes, process) : release_robust_locks(futexes, call.thread);
  const auto lives = [](const auto& one) { return one->state() != Thread::State::kDead; };
  if (is_whole || std::ranges::count_if(process.threads(), lives) == 1) {
    process.devices().keep_memory();
    const auto code = call.as_int(0) & 0xff;
    const std::uint32_t original = process.family().copy_of;
    Process* const copied = code != 0 && original != 0 ? call.find_process(original) : nullptr;
    if (copied != nullptr) call.services.checks.before_failure_of_copy(process, *copied, code, call.now());
    call.services.checks.before_exit(process, code, call.now());
  }
  return Answer{0, protocol::Action::kNative};
}

CallOutcome sys_uname(CallContext& call) {
  utsname name{};
  const auto set = [](char(&field)[65], const std::string& text) { text.copy(field, sizeof field - 1); };
  set(name.sysname, "Linux");
  set(name.nodename, call.process.host().name);
  set(name.release, "6.1.0-verbatim");
  set(name.version, "#1 SMP PREEMPT_DYNAMIC");
  set(name.machine, "x86_64");
  set(name.domainname, "(none)");
  const bool stored = call.process.memory().store(call.address(0), name);
  return Answer{stored ? 0 : -EFAULT};
}

CallOutcome sys_sysinfo(CallContext& call) {
  constexpr unsigned long kMemory = 16ul << 30;
  struct sysinfo info {};
  info.uptime = 1000 + to_ps(call.now()) / 1'000'000'000'000;
  info.totalram = kMemory;
  info.freeram = kMemory / 2;
  info.procs = 1;
  info.mem_unit = 1;
  const bool stored = call.process.memory().store(call.address(0), info);
  return Answer{stored ? 0 : -EFAULT};
}

CallOutcome sys_getrandom(CallContext& call) {
  if ((call.flags(2) & ~std::int64_t{GRND_NONBLOCK | GRND_RANDOM | 4}) != 0) return Answer{-EINVAL};
  const std::size_t n = std::min<std::uint64_t>(call.length(1), 1 << 20);
  std::vector<std::byte> bytes;
  fill_random(call.process.random(), bytes, n);
  const bool stored = n == 0 || call.process.memory().put(call.address(0), bytes);
  return Answer{stored ? static_cast<std::int64_t>(n) : -EFAULT};
}

// Every host has one processor.
CallOutcome sys_affinity(CallContext& call) {
  const auto& a = call.arguments;
  if (call.find_thread(call.as_int(0)) == nullptr) return Answer{-ESRCH};
  if (a[1] < 8 || a[1] % 8 != 0) return Answer{-EINVAL};
  const std::uint64_t mask = 1;
  const bool stored = call.process.memory().store(call.address(2), mask);
  return Answer{stored ? static_cast<std::int64_t>(sizeof mask) : -EFAULT};
}

CallOutcome sys_set_affinity(CallContext& call) {
  const std::uint64_t length = std::min<std::uint64_t>(call.as_u32(1), sizeof(std::uint64_t));
  std::uint64_t mask = 0;
  if (!call.process.memory().read(call.address(2),
                                  std::as_writable_bytes(std::span(&mask, 1)).first(length)) &&
      length != 0) {
    return Answer{-EFAULT};
  }
  const Thread* const meant = call.find_thread(call.as_int(0));
  if (meant == nullptr) return Answer{-ESRCH};
  if (!may_set_attributes(call, *meant)) return Answer{-EPERM};
  return Answer{(mask & 1) != 0 ? 0 : -EINVAL};
}

}  // namespace verbatim::supervisor
