#include "verbs_shim/runtime/delivery.h"

#include <string.h>
#include <sys/syscall.h>

#include <atomic>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

KernelSigaction actions[65];

// By signal: sent natively and not yet received. A signal that the program has taken or ignored still counts.
std::atomic<std::uint32_t> expected[65];

const char interruption = 0;  // its address marks the signal

unsigned long handler_of(int signal) { return reinterpret_cast<unsigned long>(program_action(signal).handler); }

// `arch` and `number` describe the foreign call that caused it (protocol/foreign_call.h), else they are 0.
void die(int signal, const siginfo_t& info, long arch = 0, long number = 0) {
  const bool is_sent = info.si_code <= 0;
  const long address = is_sent ? 0 : reinterpret_cast<long>(info.si_addr);
  exchange(protocol::Request::kFault, 0, {signal, address, arch, number, is_sent, 0});
  const KernelSigaction standard = {nullptr, kSaRestorer, restorer(), 0};
  native(SYS_rt_sigaction, signal, &standard, 0, sizeof(std::uint64_t));
  const std::uint64_t only = signal_bit(signal);
  native(SYS_tgkill, native(SYS_getpid), native(SYS_gettid), signal);
  native(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, 0, sizeof only);
}

}  // namespace

void die_of_foreign_call(const siginfo_t& info) {
  die(SIGSYS, info, static_cast<long>(info.si_arch), static_cast<long>(info.si_syscall));
}

KernelSigaction& program_action(int signal) { return actions[signal]; }

bool is_without_default_effect(int signal) {
  constexpr std::uint64_t kNoEffect =
      signal_bit(SIGCHLD) | signal_bit(SIGURG) | signal_bit(SIGWINCH) | signal_bit(SIGCONT);
  return (kNoEffect & signal_bit(signal)) != 0;
}

void deliver(int signal, const siginfo_t& info, ucontext_t* context, bool forced) {
  const KernelSigaction action = program_action(signal);
  const unsigned long handler = handler_of(signal);
  const bool blocked = (mask_seen(context) & signal_bit(signal)) != 0;
  if (!forced && (handler == reinterpret_cast<unsigned long>(SIG_IGN) ||
                  (handler == 0 && is_without_default_effect(signal)))) {
    return;
  }
  if (handler <= reinterpret_cast<unsigned long>(SIG_IGN) || (forced && blocked)) return die(signal, info);
  if ((action.flags & SA_RESETHAND) != 0) {
    program_action(signal).handler = nullptr;
    region_header().dispositions[signal] = protocol::kSignalDefault;
    const KernelSigaction standard = {nullptr, kSaRestorer, restorer(), 0};
    if (!is_reserved(signal)) native(SYS_rt_sigaction, signal, &standard, 0, sizeof(std::uint64_t));
  }
  if (enter_handler(signal, info, action, context)) return;
  // As signal_setup_done() of the kernel: a frame that cannot be written is a fault.
  siginfo_t fault{};
  fault.si_signo = SIGSEGV;
  fault.si_code = SI_KERNEL;
  signal == SIGSEGV ? die(SIGSEGV, info) : deliver(SIGSEGV, fault, context, true);
}

void keep_reserved(const siginfo_t& info) {
  const int signal = info.si_signo;
  const bool blocked = (blocked_reserved() & signal_bit(signal)) != 0;
  if (handler_of(signal) == reinterpret_cast<unsigned long>(SIG_IGN) && !blocked) return;
  constexpr int kFirstRealTime = 32;
  if (signal < kFirstRealTime && (kept_reserved() & signal_bit(signal)) != 0) return;
  ThreadState& state = thread_state();
  if (state.kept_count < kMostKept) state.kept[state.kept_count++] = info;
}

std::uint64_t kept_reserved() {
  const ThreadState& state = thread_state();
  std::uint64_t set = 0;
  for (int i = 0; i < state.kept_count; ++i) set |= signal_bit(state.kept[i].si_signo);
  return set;
}

int take_kept(std::uint64_t set, siginfo_t* info) {
  ThreadState& state = thread_state();
  int least = -1;
  for (int i = 0; i < state.kept_count; ++i) {
    const bool wanted = (set & signal_bit(state.kept[i].si_signo)) != 0;
    if (wanted && (least < 0 || state.kept[i].si_signo < state.kept[least].si_signo)) least = i;
  }
  if (least < 0) return 0;
  *info = state.kept[least];
  --state.kept_count;
  for (int i = least; i < state.kept_count; ++i) state.kept[i] = state.kept[i + 1];
  return info->si_signo;
}

void forget_kept(std::uint64_t set) {
  siginfo_t info;
  while (take_kept(set, &info) != 0) {
  }
}

void deliver_kept(ucontext_t* context) {
  siginfo_t info;
  while (thread_state().kept_count != 0) {
    const int signal = take_kept(~mask_seen(context), &info);
    if (signal == 0) return;
    deliver(signal, info, context, false);
  }
}

void expect_signal(int signal) {
  constexpr int kFirstRealTime = 32;
  if (signal < 1 || signal > 64) return;
  signal < kFirstRealTime ? expected[signal].store(1, std::memory_order_relaxed)
                          : static_cast<void>(expected[signal].fetch_add(1, std::memory_order_relaxed));
}

bool was_expected(const siginfo_t& info) {
  if (info.si_code > 0) return true;  // from the processor
  auto& count = expected[info.si_signo];
  if (count.load(std::memory_order_relaxed) != 0) {
    count.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  // The kernel itself, on a resource limit: it names the process as the sender.
  if (info.si_code == SI_USER && info.si_pid == native(SYS_getpid)) return true;
  region_header().outside_signals.fetch_or(signal_bit(info.si_signo), std::memory_order_relaxed);
  return false;
}

void interrupt_for_kept() {
  if ((kept_reserved() & ~blocked_reserved()) == 0) return;
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_QUEUE;
  info.si_ptr = const_cast<char*>(&interruption);
  native(SYS_rt_tgsigqueueinfo, native(SYS_getpid), native(SYS_gettid), SIGSEGV, &info);
}

bool is_interruption_for_kept(const siginfo_t& info) {
  return info.si_code == SI_QUEUE && info.si_ptr == &interruption;
}

}  // namespace verbatim::shim
