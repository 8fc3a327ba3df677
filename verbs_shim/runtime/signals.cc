// Signal handling inside the program: SIGSYS carries trapped system calls, SIGSEGV carries replaced instructions. Both run on the
// shim's own alternate stack and change no byte below the program's stack pointer. The program may set handlers and
// masks for them; it gets to see its own values, and a genuine fault still reaches its handler or kills it.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/protocol/system_calls.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::Request;
using protocol::ThreadSlot;

// The kernel's struct sigaction, which is not libc's.
struct KernelSigaction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  unsigned long restorer;
  std::uint64_t mask;
};
constexpr unsigned long kSaRestorer = 0x04000000;
constexpr unsigned long kSaOnStack = 0x08000000;
constexpr unsigned long kSaNoDefer = 0x40000000;
constexpr unsigned long kSaSigInfo = 4;

constexpr std::uint64_t signal_bit(int signal) { return 1ull << (signal - 1); }
constexpr std::uint64_t kReservedSignals =
    signal_bit(SIGSYS) | signal_bit(SIGSEGV) | signal_bit(protocol::kPokeSignal);

bool in_shim(std::uint64_t rip) {
  return (rip >= protocol::kRuntimeImage && rip < protocol::kRegionAddress) || in_patch_area(rip);
}

constexpr int kTrappedCall = 1;  // si_code SYS_SECCOMP

// What the program believes it has set.
KernelSigaction program_action[3];  // SIGSYS, SIGSEGV, the poke
__thread stack_t program_stack;
__thread bool program_stack_known = false;

KernelSigaction* reserved_action(long signal) {
  if (signal == SIGSYS) return &program_action[0];
  if (signal == SIGSEGV) return &program_action[1];
  if (signal == protocol::kPokeSignal) return &program_action[2];
  return nullptr;
}

void set_native_action(int signal, const KernelSigaction& action) {
  native(SYS_rt_sigaction, signal, &action, 0, sizeof(std::uint64_t));
}

// The fault or signal is the program's own: its handler runs, or it dies of it.
void forward_to_program(int signal, siginfo_t* info, void* context) {
  const KernelSigaction action = *reserved_action(signal);
  const auto handler = reinterpret_cast<unsigned long>(action.handler);
  const bool sent = info->si_code <= 0;  // by kill() and its like, not by the processor
  if (handler == reinterpret_cast<unsigned long>(SIG_IGN) && sent) return;
  if (handler > 1) {
    if (action.flags & SA_RESETHAND) reserved_action(signal)->handler = nullptr;
    action.handler(signal, info, context);
    return;
  }
  const long address = reinterpret_cast<long>(info->si_addr);
  exchange(Request::kFault, 0, {signal, address, 0, 0, 0, 0});
  const KernelSigaction die = {nullptr, kSaRestorer, restorer(), 0};
  set_native_action(signal, die);
  if (sent) native(SYS_tgkill, native(SYS_getpid), native(SYS_gettid), signal);
  // Otherwise the handler returns to the faulting instruction, which now kills the process as it would have.
}

void on_sigsys(int signal, siginfo_t* info, void* raw_context) {
  if (info->si_code != kTrappedCall) {
    forward_to_program(signal, info, raw_context);
    return;
  }
  auto* context = static_cast<ucontext_t*>(raw_context);
  greg_t* registers = context->uc_mcontext.gregs;
  my_slot->context_address = reinterpret_cast<std::uint64_t>(context);
  my_slot->signal_mask = *reinterpret_cast<const std::uint64_t*>(&context->uc_sigmask);
  const long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                             registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  const long result = dispatch(registers[REG_RAX], arguments, context);
  my_slot->context_address = 0;
  constexpr int kCallSize = 2;  // bytes of the syscall instruction; the call's number is still in its register
  if (result == kMakeCallAgain) {
    registers[REG_RIP] -= kCallSize;
  } else {
    registers[REG_RAX] = result;
  }
}

// A signal that came while a trapped call is under way is delivered when that is complete, like all others.
void put_off(int signal, siginfo_t* info, ucontext_t* context) {
  *reinterpret_cast<std::uint64_t*>(&context->uc_sigmask) |= signal_bit(signal);
  native(SYS_rt_tgsigqueueinfo, native(SYS_getpid), native(SYS_gettid), signal, info);
}

void on_sigsegv(int signal, siginfo_t* info, void* raw_context) {
  auto* context = static_cast<ucontext_t*>(raw_context);
  greg_t* registers = context->uc_mcontext.gregs;
  const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
  std::uint64_t goes_on;
  if (info->si_code > 0 && is_failed_copy(rip, &goes_on)) {
    registers[REG_RIP] = static_cast<greg_t>(goes_on);
    return;
  }
  if (info->si_code <= 0 && in_shim(rip) && my_slot->context_address != 0) return put_off(signal, info, context);
  if (info->si_code == SI_KERNEL && answer_trapped_instruction(raw_context)) return;
  forward_to_program(signal, info, raw_context);
}

// The thread may be anywhere. In the shim's own code the poke is as if never sent; elsewhere the supervisor looks at the
// saved registers, and either nothing happens or they are replaced by the canonical state of the loop they are in.
void on_poke(int, siginfo_t*, void* raw_context) {
  const auto* context = static_cast<const ucontext_t*>(raw_context);
  const auto rip = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (my_slot == nullptr) return;
  if (in_shim(rip) || my_slot->context_address != 0) {  // the latter: in the handler of a trapped call
    rearm_poke_timer();
    return;
  }
  const auto mask = *reinterpret_cast<const std::uint64_t*>(&context->uc_sigmask);
  if ((pending_signals() & ~mask) != 0) {  // Linux took the poke first: what the handler does ends the loop
    rearm_poke_timer();
    return;
  }
  unsigned long fs_base;
  asm("mov %%fs:0, %0" : "=r"(fs_base));
  hand_over_poked(reinterpret_cast<long>(raw_context), static_cast<long>(fs_base), without_reserved(mask));
}

long set_action(const long (&a)[6]) {
  if (a[3] != sizeof(std::uint64_t)) return -EINVAL;
  KernelSigaction wanted;
  if (a[1] != 0 && !read_program(a[1], wanted)) return -EFAULT;
  const auto handler = a[1] != 0 ? reinterpret_cast<unsigned long>(wanted.handler) : 0;
  if (a[0] == protocol::kPokeSignal && handler > reinterpret_cast<unsigned long>(SIG_IGN)) {
    return exchange(Request::kSystemCall, SYS_rt_sigaction, a);
  }
  if (KernelSigaction* mine = reserved_action(a[0])) {
    const KernelSigaction before = *mine;
    if (a[1] != 0) *mine = wanted;
    return write_if_asked(a[2], before) ? 0 : -EFAULT;
  }
  if (a[1] == 0 || a[0] < 1 || a[0] > 64) return native(SYS_rt_sigaction, a[0], a[1], a[2], a[3]);
  if (a[0] == SIGCHLD) region_header().silent_stops = (wanted.flags & SA_NOCLDSTOP) != 0 ? 1 : 0;
  region_header().dispositions[a[0]] =
      handler == reinterpret_cast<unsigned long>(SIG_DFL)   ? protocol::kSignalDefault
      : handler == reinterpret_cast<unsigned long>(SIG_IGN) ? protocol::kSignalIgnored
      : (wanted.flags & SA_RESTART) != 0                   ? protocol::kSignalHandledRestart
                                                            : protocol::kSignalHandled;
  wanted.mask = without_reserved(wanted.mask);
  return native(SYS_rt_sigaction, a[0], &wanted, a[2], a[3]);
}

// The mask the program sees is the one that returns from the trap, so it is edited in the saved context.
long set_mask(const long (&a)[6], void* raw_context) {
  if (a[3] != sizeof(std::uint64_t)) return -EINVAL;
  if (raw_context == nullptr) return -ENOSYS;
  auto* mask = reinterpret_cast<std::uint64_t*>(&static_cast<ucontext_t*>(raw_context)->uc_sigmask);
  const std::uint64_t before = *mask;
  if (a[1] != 0) {
    std::uint64_t wanted;
    if (!read_program(a[1], wanted)) return -EFAULT;
    wanted = without_reserved(wanted);
    switch (a[0]) {
      case SIG_BLOCK:
        *mask |= wanted;
        break;
      case SIG_UNBLOCK:
        *mask &= ~wanted;
        break;
      case SIG_SETMASK:
        *mask = wanted;
        break;
      default:
        return -EINVAL;
    }
  }
  const bool told = write_if_asked(a[2], before);
  my_slot->signal_mask = *mask;
  // What the supervisor has kept for a signalfd may be due now.
  const std::uint64_t watched = region_header().watched_signals.load(std::memory_order_relaxed);
  if ((before & ~*mask & watched) != 0) exchange(Request::kSpend, 0, {0, 0, 0, 0, 0, 0});
  return told ? 0 : -EFAULT;
}

long tell_pending(const long (&a)[6]) {
  if (static_cast<unsigned long>(a[1]) > sizeof(std::uint64_t)) return -EINVAL;
  spend(costs().system_call_ps);
  const std::uint64_t pending = pending_signals() & my_slot->signal_mask;
  return copy_bytes(reinterpret_cast<void*>(a[0]), &pending, static_cast<std::size_t>(a[1])) ? 0 : -EFAULT;
}

long set_stack(const long (&a)[6]) {
  stack_t before = {};
  before.ss_flags = SS_DISABLE;
  if (program_stack_known) before = program_stack;
  stack_t wanted;
  if (a[0] != 0) {
    if (!read_program(a[0], wanted)) return -EFAULT;
    if ((wanted.ss_flags & SS_DISABLE) == 0 && wanted.ss_size < static_cast<std::size_t>(MINSIGSTKSZ)) return -ENOMEM;
    program_stack = wanted;
    program_stack_known = true;
  }
  return write_if_asked(a[1], before) ? 0 : -EFAULT;
}

}  // namespace

long signal_call(long number, const long (&a)[6], void* context) {
  switch (number) {
    case SYS_rt_sigaction:
      return set_action(a);
    case SYS_rt_sigprocmask:
      return set_mask(a, context);
    case SYS_rt_sigpending:
      return tell_pending(a);
    default:
      return set_stack(a);
  }
}

std::uint64_t pending_signals() {
  std::uint64_t pending = 0;
  native(SYS_rt_sigpending, &pending, sizeof pending);
  return without_reserved(pending);
}

// What is pending for the whole process becomes the thread's own.
static void make_own(std::uint64_t set) {
  const timespec no_time{0, 0};
  siginfo_t info;
  while (set != 0) {
    const long signal = native(SYS_rt_sigtimedwait, &set, &info, &no_time, sizeof set);
    if (signal <= 0) return;
    set &= ~signal_bit(static_cast<int>(signal));
    native(SYS_rt_tgsigqueueinfo, native(SYS_getpid), native(SYS_gettid), signal, &info);
  }
}

// Handlers of the signals that are pending run while `mask` is the thread's. -EINTR. Linux takes a thread's own
// signals first, and among them the least number: a poke comes after them all but the highest, for which it waits, and
// never ends the wait in their place.
long run_handlers(std::uint64_t mask) {
  ThreadSlot& slot = *my_slot;
  constexpr std::uint64_t kAfterPoke = ~(2 * signal_bit(protocol::kPokeSignal) - 1);
  const std::uint64_t due = pending_signals() & ~mask;
  if ((due & ~kAfterPoke) == 0) mask |= signal_bit(protocol::kPokeSignal);
  make_own(due);
  const std::uint64_t context = slot.context_address, own = slot.signal_mask;
  const long result = native(SYS_rt_sigsuspend, &mask, sizeof mask);
  slot.context_address = context;
  slot.signal_mask = own;
  return result;
}

// A signal is first made pending natively, by the supervisor's answer, and then taken here by the same call.
long wait_for_signal(long number, const long (&a)[6]) {
  const bool suspends = number == SYS_rt_sigsuspend;
  if (a[suspends ? 1 : 3] != sizeof(std::uint64_t)) return -EINVAL;
  ThreadSlot& slot = *my_slot;
  std::uint64_t set;
  if (!read_program(a[0], set)) return -EFAULT;
  // A poke may be pending as well, and is none of the program's business.
  const std::uint64_t wanted = (suspends ? ~set : set) & ~kReservedSignals;
  const std::uint64_t pending = pending_signals();
  const long waited = (pending & wanted) != 0 ? (spend(costs().system_call_ps), 0)
                                              : exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), a);
  if (waited != 0 && waited != -EINTR) return waited;
  if (!suspends && waited != 0) return waited;
  if (suspends) return run_handlers(without_reserved(set));
  const std::uint64_t context = slot.context_address, mask = slot.signal_mask;
  const timespec no_time{0, 0};
  const long result = native(SYS_rt_sigtimedwait, &wanted, a[1], &no_time, sizeof wanted);
  slot.context_address = context;
  slot.signal_mask = mask;
  return result;
}

// The supervisor has found that the wait ends by a signal: it is pending natively, and its handler runs with
// the mask that the call has given.
long wait_with_mask(long number, const long (&a)[6]) {
  long pair[2] = {0, 0};  // of pselect6: where the mask is, and its size
  if (number == SYS_pselect6 && a[5] != 0 && !read_program(a[5], pair)) return -EFAULT;
  const long at = number == SYS_pselect6 ? pair[0] : a[number == SYS_ppoll ? 3 : 4];
  const long result = exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), a);
  std::uint64_t mask;
  if (result != -EINTR || at == 0 || !read_program(at, mask)) return result;
  mask = without_reserved(mask);
  return (pending_signals() & ~mask) != 0 ? run_handlers(mask) : result;
}

std::uint64_t without_reserved(std::uint64_t mask) { return mask & ~kReservedSignals; }

bool install_signal_stack() {
  const unsigned long stack = protocol::kShimStackAddress + my_slot_index() * 2 * kSignalStackSize;
  const long mapped = native(SYS_mmap, stack, 2 * kSignalStackSize, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  if (mapped != static_cast<long>(stack) && mapped != -EEXIST) return false;
  stack_t alternate = {};
  alternate.ss_sp = reinterpret_cast<void*>(stack);
  alternate.ss_size = kSignalStackSize;
  return native(SYS_sigaltstack, &alternate, 0) == 0;
}

bool install_handlers() {
  if (!install_signal_stack()) return false;
  const unsigned long flags = kSaSigInfo | kSaOnStack | kSaNoDefer | kSaRestorer;
  // Signals of the program wait until a trapped call is complete; a fault there is one of copy_bytes().
  set_native_action(SIGSYS,
                    {on_sigsys, kSaSigInfo | kSaOnStack | kSaRestorer, restorer(), ~signal_bit(SIGSEGV)});
  set_native_action(SIGSEGV, {on_sigsegv, flags, restorer(), 0});
  constexpr unsigned long kSaRestart = 0x10000000;
  set_native_action(protocol::kPokeSignal,
                    {on_poke, kSaSigInfo | kSaOnStack | kSaRestart | kSaRestorer, restorer(), ~0ull});
  return true;
}

bool install_filter() {
  // Program counter on the gate page, or a passing call: allowed. A mapping of a virtual descriptor fails by itself,
  // because the placeholder cannot be mapped. Everything else, unknown numbers and the 32-bit ABI included, traps.
  sock_filter filter[protocol::kSystemCallLimit + 16];
  unsigned short n = 0;
  constexpr auto kGateHigh = static_cast<std::uint32_t>(protocol::kGateAddress >> 32);
  constexpr auto kGateLow = static_cast<std::uint32_t>(protocol::kGateAddress);
  const auto load = [&](std::uint32_t offset) { filter[n++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); };
  load(offsetof(seccomp_data, arch));
  filter[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  filter[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  load(offsetof(seccomp_data, instruction_pointer) + 4);
  filter[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kGateHigh, 0, 4);
  load(offsetof(seccomp_data, instruction_pointer));
  filter[n++] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kGateLow, 0, 2);
  filter[n++] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kGateLow + 4096, 1, 0);
  filter[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  load(offsetof(seccomp_data, nr));
  for (std::uint32_t number = 0; number < protocol::kSystemCallLimit; ++number) {
    switch (protocol::system_call(number).call_class) {
      case protocol::CallClass::kPassing:
        filter[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        filter[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        break;
      case protocol::CallClass::kByProtection:  // the third argument says what the memory is for
        filter[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
        load(offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t));
        filter[n++] = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
        filter[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        filter[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
        break;
      default:
        break;
    }
  }
  filter[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const sock_fprog program = {n, filter};
  if (native(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return native(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

}  // namespace verbatim::shim
