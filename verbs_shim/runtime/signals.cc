// Native signal handlers. SIGSYS is raised by trapped system calls, SIGSEGV by replaced instructions, and
// every signal that the program handles is received here first. All handlers run on the shim's alternate
// stack with the program's signals masked, and write nothing below the program's stack pointer but the frame
// of a program's handler (signal_frame.h). The program may set handlers and masks for all of these signals
// and sees its own values. A genuine fault reaches the program's handler or kills it.
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/protocol/foreign_call.h"
#include "verbs_shim/protocol/replaced_calls.h"
#include "verbs_shim/runtime/accesses.h"
#include "verbs_shim/runtime/changing_code.h"
#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/replaced_calls.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::Request;

bool in_shim(std::uint64_t rip) {
  return (rip >= protocol::kRuntimeImage && rip < protocol::kRegionAddress) || in_patch_area(rip);
}

bool is_shim_stack(std::uint64_t address) {
  return address >= protocol::shim_stack(protocol::kMaxThreads - 1) && address < protocol::kShimStackEnd;
}

constexpr int kTrappedCall = 1;  // si_code SYS_SECCOMP

// The mask of the shim's handlers. Faults stay unblocked because copy_bytes() may cause them.
constexpr std::uint64_t kAllButFaults = ~signal_bit(SIGSEGV);

void set_native_action(int signal, const KernelSigaction& action) {
  native(SYS_rt_sigaction, signal, &action, 0, sizeof(std::uint64_t));
}

// Scope in which the thread is in a handler of the shim: program_mask() is the mask of the interrupted code,
// and the program's signals are delivered when the handler returns.
struct Interrupted {
  explicit Interrupted(const ucontext_t* context) {
    my_slot->context_address = reinterpret_cast<std::uint64_t>(context);
    my_slot->signal_mask = mask_seen(context);
  }
  ~Interrupted() { my_slot->context_address = 0; }
};

// Raises SIGSEGV for the program at `context`, as for a wrong address.
void fault(ucontext_t* context) {
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_KERNEL;
  deliver(SIGSEGV, info, context, true);
}

// The kernel leaves the program's AC flag to a handler, whose unaligned accesses would then fault (SIGBUS). Returning
// from the handler restores it.
inline void allow_unaligned_accesses() {
  constexpr int kAlignmentCheck = 0x40000;
  asm volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::"i"(~kAlignmentCheck)
               : "memory", "cc");
}

// A SIGSYS or SIGSEGV that was sent, not raised by the processor: by interrupt_for_kept(), or from outside
// the simulation, in which case it is dropped.
void take_sent(const siginfo_t& info, ucontext_t* context) {
  if (!is_interruption_for_kept(info)) {
    region_header().outside_signals.fetch_or(signal_bit(info.si_signo), std::memory_order_relaxed);
    return;
  }
  // In a handler of the shim the signal stays kept until that handler returns.
  const auto stack_pointer = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
  if (my_slot->context_address == 0 && !is_shim_stack(stack_pointer)) deliver_kept(context);
}

bool catches_steps = false;
void on_trap(int signal, siginfo_t* info, void* raw_context);

// Further SIGTRAPs arrive at the shim.
void catch_steps() {
  if (catches_steps) return;
  catches_steps = true;
  set_native_action(SIGTRAP, {on_trap, kSaSigInfo | kSaOnStack | kSaRestorer, restorer(), kAllButFaults});
}

// A system call before the context's instruction pointer.
void answer_trapped_call(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  if (registers[REG_RAX] == SYS_rt_sigreturn) {
    leave_handler(context) ? deliver_kept(context) : fault(context);
    return;
  }
  if (registers[REG_RAX] == protocol::kFinishCall && finish_call(context)) return deliver_kept(context);
  const long number = registers[REG_RAX];
  const CallPlace place = place_of_call(context);
  long result;
  {
    const Interrupted interrupted(context);
    note_trapped_call(context);
    const long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                               registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
    result = dispatch(number, arguments, context);
  }
  result == kMakeCallAgain ? make_call_again(context, place, number) : return_from_call(context, place, result);
  deliver_kept(context);
}

// Executes the instruction at the context's instruction pointer, in memory that is not executable natively. `writes`: it
// writes to its own page.
void execute_by_step(ucontext_t* context, bool writes) {
  greg_t* const registers = context->uc_mcontext.gregs;
  const CodeInstruction here = code_instruction_at(static_cast<std::uint64_t>(registers[REG_RIP]));
  if (here.decided.kind != protocol::DecidedInstruction::kNone) {
    {
      const Interrupted interrupted(context);
      answer_instruction(context, here.decided);
    }
    return deliver_kept(context);
  }
  const auto number = static_cast<int>(registers[REG_RAX]);
  if (here.call_length != 0 && protocol::foreign_call(AUDIT_ARCH_X86_64, number) == protocol::ForeignCall::kNone) {
    registers[REG_RIP] += here.call_length;
    registers[REG_RCX] = registers[REG_RIP];
    registers[REG_R11] = registers[REG_EFL];
    return answer_trapped_call(context);
  }
  catch_steps();
  begin_step(context, here.pushes_flags, writes);
}

// The fault of a rule of changing_code.h.
bool take_code_fault(const siginfo_t& info, ucontext_t* context) {
  if (info.si_code != SEGV_ACCERR) return false;
  const greg_t* const registers = context->uc_mcontext.gregs;
  const auto address = reinterpret_cast<unsigned long>(info.si_addr);
  const auto rip = static_cast<unsigned long>(registers[REG_RIP]), error = static_cast<unsigned long>(registers[REG_ERR]);
  const bool fetches = (error & kFetchFault) != 0;
  CodeFault fault;
  if (fetches) {
    const Interrupted interrupted(context);
    fault = resolve_code_fault(address, error, rip);
  } else {
    fault = resolve_code_fault(address, error, rip);
  }
  if (fault == CodeFault::kByStep) execute_by_step(context, !fetches);
  return fault != CodeFault::kNone;
}

void on_sigsys(int, siginfo_t* info, void* raw_context) {
  allow_unaligned_accesses();
  auto* context = static_cast<ucontext_t*>(raw_context);
  if (steps_code) [[unlikely]] end_step(context);
  if (info->si_code != kTrappedCall) return take_sent(*info, context);
  // The address is that of the next instruction.
  const bool is_from_gate = reinterpret_cast<unsigned long>(info->si_call_addr) - gate() <= 4096;
  if (is_from_gate || protocol::foreign_call(info->si_arch, info->si_syscall) != protocol::ForeignCall::kNone) [[unlikely]] {
    const Interrupted interrupted(context);
    return die_of_foreign_call(*info);
  }
  answer_trapped_call(context);
}

// Whether a signal is about to interrupt the program, and with it a loop that seems to wait.
bool expects_signal(const ucontext_t* context) {
  const auto mask = *reinterpret_cast<const std::uint64_t*>(&context->uc_sigmask);
  return (pending_signals() & ~mask) != 0;
}

// Gives the token to the supervisor; the thread may be anywhere in the program. The supervisor examines the
// saved registers. Either it changes nothing (false), or it replaces them by those of the loop after the
// skipped iterations.
bool ask_whether_it_waits(ucontext_t* context, std::uint64_t jump) {
  const auto mask = *reinterpret_cast<const std::uint64_t*>(&context->uc_sigmask);
  const long place = reinterpret_cast<long>(context), base = static_cast<long>(storage_base());
  const bool waited = hand_over_poked(place, base, jump, mask_seen(mask));
  go_out_of_replaced(context->uc_mcontext.gregs);  // others may have run
  return waited;
}

// A loop that was found to wait most likely waits again. After a negative answer the supervisor is asked
// again after exponentially growing numbers of iterations.
void go_round(ucontext_t* context, std::uint64_t jump) {
  ThreadState& state = thread_state();
  if (state.last_unproven_jump == jump && state.jumps_passed < state.jumps_to_pass) {
    ++state.jumps_passed;
    return;
  }
  if (expects_signal(context)) return;
  if (ask_whether_it_waits(context, jump)) {
    state.last_unproven_jump = 0;
    return;
  }
  constexpr std::uint32_t kMost = 1024;
  state.jumps_to_pass = state.last_unproven_jump != jump ? 1 : state.jumps_to_pass < kMost ? 2 * state.jumps_to_pass : kMost;
  state.jumps_passed = 0;
  state.last_unproven_jump = jump;
}

void on_sigsegv(int, siginfo_t* info, void* raw_context) {
  allow_unaligned_accesses();
  auto* context = static_cast<ucontext_t*>(raw_context);
  greg_t* registers = context->uc_mcontext.gregs;
  const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (steps_code) [[unlikely]] end_step(context);
  if (has_changing_code() && take_code_fault(*info, context)) [[unlikely]] return;
  std::uint64_t goes_on;
  if (info->si_code > 0 && is_failed_copy(rip, &goes_on)) {
    registers[REG_RIP] = static_cast<greg_t>(goes_on);
    return;
  }
  if (info->si_code <= 0) return take_sent(*info, context);
  if (info->si_code == SI_KERNEL) {
    if (take_access(raw_context)) return deliver_kept(context);
    if (const TrappedJump jump = follow_trapped_jump(raw_context); jump != TrappedJump::kNone) {
      if (jump == TrappedJump::kGoesBack) go_round(context, rip);
      return deliver_kept(context);
    }
    bool answered;
    {
      const Interrupted interrupted(context);
      answered = answer_trapped_instruction(raw_context);
    }
    if (answered) return deliver_kept(context);
  }
  deliver(SIGSEGV, *info, context, true);
}

// Every other signal that the program handles.
void on_program_signal(int signal, siginfo_t* info, void* raw_context) {
  allow_unaligned_accesses();
  auto* context = static_cast<ucontext_t*>(raw_context);
  if (steps_code) [[unlikely]] end_step(context);
  if (delay_signal(signal, *info, context)) return;
  if (was_expected(*info)) deliver(signal, *info, context, false);
}

// A single step has ended, or SIGTRAP has another cause.
void on_trap(int signal, siginfo_t* info, void* raw_context) {
  allow_unaligned_accesses();
  auto* context = static_cast<ucontext_t*>(raw_context);
  if (!steps_code || info->si_code != TRAP_TRACE) {
    if (info->si_code <= 0) return on_program_signal(signal, info, raw_context);
    if (steps_code) end_step(context);
    return deliver(signal, *info, context, true);
  }
  correct_step(context);
  if (steps_on(context)) {
    const CodeInstruction next = code_instruction_at(static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]));
    if (next.decided.kind == protocol::DecidedInstruction::kNone && next.call_length == 0)
      return continue_step(context, next.pushes_flags);
  }
  end_step(context);
  CodeFault fault;
  {
    const Interrupted interrupted(context);
    fault = resolve_code_at(static_cast<unsigned long>(context->uc_mcontext.gregs[REG_RIP]));
  }
  if (fault == CodeFault::kByStep) execute_by_step(context, false);
}

// A poke that interrupts the shim's own code has no effect.
void on_poke(int, siginfo_t*, void* raw_context) {
  allow_unaligned_accesses();
  auto* context = static_cast<ucontext_t*>(raw_context);
  if (steps_code) [[unlikely]] end_step(context);
  const auto rip = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (my_slot == nullptr) return;
  if (in_shim(rip) || my_slot->context_address != 0) {  // the latter: in the handler of a trapped call
    rearm_poke_timer();
    return;
  }
  if (expects_signal(context)) {  // Linux delivered the poke before that signal
    rearm_poke_timer();
    return;
  }
  ask_whether_it_waits(context, 0);
}

protocol::SignalDisposition disposition_of(const KernelSigaction& action) {
  const auto handler = reinterpret_cast<unsigned long>(action.handler);
  if (handler == reinterpret_cast<unsigned long>(SIG_DFL)) return protocol::kSignalDefault;
  if (handler == reinterpret_cast<unsigned long>(SIG_IGN)) return protocol::kSignalIgnored;
  return (action.flags & kSaRestart) != 0 ? protocol::kSignalHandledRestart : protocol::kSignalHandled;
}

long set_action(const long (&a)[6]) {
  if (a[3] != sizeof(std::uint64_t) || a[0] < 1 || a[0] > 64) return -EINVAL;
  const auto signal = static_cast<int>(a[0]);
  KernelSigaction wanted;
  if (a[1] != 0 && !read_program(a[1], wanted)) return -EFAULT;
  if (a[1] != 0 && (signal == SIGKILL || signal == SIGSTOP)) return -EINVAL;
  const KernelSigaction before = program_action(signal);
  if (a[1] != 0) {
    constexpr unsigned long kKnownFlags = SA_NOCLDSTOP | SA_NOCLDWAIT | kSaSigInfo | kSaRestorer | kSaOnStack | kSaRestart |
                                          kSaNoDefer | static_cast<unsigned>(SA_RESETHAND) | 0x800;  // SA_EXPOSE_TAGBITS
    wanted.flags &= kKnownFlags;
    wanted.mask &= ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
    program_action(signal) = wanted;
    const auto disposition = disposition_of(wanted);
    region_header().dispositions[signal] = disposition;
    if (signal == SIGCHLD) {
      region_header().silent_stops = (wanted.flags & SA_NOCLDSTOP) != 0 ? 1 : 0;
      region_header().discards_children = (wanted.flags & SA_NOCLDWAIT) != 0 ? 1 : 0;
    }
    if (signal == SIGTRAP && catches_steps) {
      // The native handler stays.
    } else if (is_reserved(signal)) {
      if (disposition == protocol::kSignalIgnored) forget_kept(signal_bit(signal));
    } else if (disposition <= protocol::kSignalIgnored) {
      set_native_action(signal, {wanted.handler, kSaRestorer, restorer(), 0});
    } else {
      const unsigned long kept_flags = wanted.flags & (SA_NOCLDSTOP | SA_NOCLDWAIT | kSaRestart);
      set_native_action(signal, {on_program_signal, kept_flags | kSaSigInfo | kSaOnStack | kSaRestorer, restorer(),
                                 kAllButFaults});
    }
  }
  return write_if_asked(a[2], before) ? 0 : -EFAULT;
}

// The trap's return restores the mask in the saved context; rt_sigprocmask edits it there.
long set_mask(const long (&a)[6], void* raw_context) {
  if (a[3] != sizeof(std::uint64_t)) return -EINVAL;
  if (raw_context == nullptr) return -ENOSYS;
  auto* context = static_cast<ucontext_t*>(raw_context);
  const std::uint64_t before = mask_seen(context);
  std::uint64_t after = before;
  if (a[1] != 0) {
    std::uint64_t wanted;
    if (!read_program(a[1], wanted)) return -EFAULT;
    switch (a[0]) {
      case SIG_BLOCK:
        after |= wanted;
        break;
      case SIG_UNBLOCK:
        after &= ~wanted;
        break;
      case SIG_SETMASK:
        after = wanted;
        break;
      default:
        return -EINVAL;
    }
    set_program_mask(context, after);
    after = mask_seen(context);
  }
  const bool is_written = write_if_asked(a[2], before);
  my_slot->signal_mask = after;
  // A signal that the supervisor keeps for a signalfd may have become deliverable.
  const std::uint64_t watched = region_header().watched_signals.load(std::memory_order_relaxed);
  if ((before & ~after & watched) != 0) exchange(Request::kSpend, 0, {0, 0, 0, 0, 0, 0});
  return is_written ? 0 : -EFAULT;
}

long report_pending(const long (&a)[6]) {
  if (static_cast<unsigned long>(a[1]) > sizeof(std::uint64_t)) return -EINVAL;
  spend(costs().system_call_ps);
  const std::uint64_t pending = (pending_signals() | kept_reserved()) & my_slot->signal_mask;
  return copy_bytes(reinterpret_cast<void*>(a[0]), &pending, static_cast<std::size_t>(a[1])) ? 0 : -EFAULT;
}

// The program's stack pointer at the call.
std::uint64_t stack_pointer_of(const void* context) {
  if (context == nullptr) return reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  return static_cast<std::uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
}

}  // namespace

long signal_call(long number, const long (&a)[6], void* context) {
  switch (number) {
    case SYS_rt_sigaction:
      return set_action(a);
    case SYS_rt_sigprocmask:
      return set_mask(a, context);
    case SYS_rt_sigpending:
      return report_pending(a);
    default:
      return set_program_stack(a, stack_pointer_of(context));
  }
}

std::uint64_t pending_signals() {
  std::uint64_t pending = 0;
  native(SYS_rt_sigpending, &pending, sizeof pending);
  return without_reserved(pending);
}

// Makes signals that are pending for the whole process pending for the calling thread.
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

// Whether one of the pending signals would run a handler or end the process with the thread's mask being
// `mask`.
static bool is_due(std::uint64_t mask) {
  std::uint64_t due = (pending_signals() | kept_reserved()) & ~mask;
  for (; due != 0; due &= due - 1) {
    const int signal = __builtin_ctzll(due) + 1;
    const auto handler = reinterpret_cast<unsigned long>(program_action(signal).handler);
    if (handler == 0 ? !is_without_default_effect(signal) : handler != reinterpret_cast<unsigned long>(SIG_IGN)) return true;
  }
  return false;
}

// Runs the handlers of the pending signals with `mask`, as Linux does: when the call returns, on the program's
// own stack. In a call that came through a symbol they run within this function. Returns -EINTR. Linux takes a
// thread's own signals first, in ascending order. The poke therefore follows all signals but the highest. It is
// masked while no lower signal is pending, and never ends the wait in place of the highest.
static long run_handlers(std::uint64_t mask) {
  make_own(pending_signals() & ~mask);
  if (my_slot->context_address != 0) {
    if (is_due(mask)) mask_until_handler(reinterpret_cast<ucontext_t*>(my_slot->context_address), mask);
    return -EINTR;
  }
  constexpr std::uint64_t kAfterPoke = ~(2 * signal_bit(protocol::kPokeSignal) - 1);
  mask = without_reserved(mask);
  if ((pending_signals() & ~mask & ~kAfterPoke) == 0) mask |= signal_bit(protocol::kPokeSignal);
  return native(SYS_rt_sigsuspend, &mask, sizeof mask);
}

// The supervisor's answer makes a signal pending natively; the same call then takes it here.
long wait_for_signal(long number, const long (&a)[6]) {
  const bool suspends = number == SYS_rt_sigsuspend;
  if (a[suspends ? 1 : 3] != sizeof(std::uint64_t)) return -EINVAL;
  std::uint64_t set;
  if (!read_program(a[0], set)) return -EFAULT;
  const auto take = [&](std::uint64_t wanted) { return ((pending_signals() | kept_reserved()) & wanted) != 0; };
  const std::uint64_t wanted = suspends ? ~set : set;
  // The supervisor reads the copy: other threads may change the program's set while this one waits.
  const long copied[6] = {reinterpret_cast<long>(&set), a[1], a[2], a[3], a[4], a[5]};
  const long waited = take(wanted) ? (spend(costs().system_call_ps), 0)
                                   : exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), copied);
  if (waited != 0 && waited != -EINTR) return waited;
  if (!suspends && waited != 0) return waited;
  if (suspends) return run_handlers(set);
  siginfo_t info;
  // The lowest signal is first. Of the kept signals only that of the poke may have a lower one before it: the kernel
  // takes the other two, of faults, before any signal.
  constexpr std::uint64_t kPoke = signal_bit(protocol::kPokeSignal);
  const bool has_lower = (pending_signals() & wanted & (kPoke - 1)) != 0;
  if (const int kept = take_kept(has_lower ? wanted & ~kPoke : wanted, &info)) {
    return write_if_asked(a[1], info) ? kept : -EFAULT;
  }
  // A poke that may be pending is invisible to the program.
  const std::uint64_t natively = without_reserved(wanted);
  const timespec no_time{0, 0};
  return native(SYS_rt_sigtimedwait, &natively, a[1], &no_time, sizeof natively);
}

// If a signal ends the wait, the supervisor's answer has made it pending natively; its handler runs with the
// call's mask.
long wait_with_mask(long number, const long (&a)[6]) {
  const bool is_pair = number == SYS_pselect6 || number == SYS_io_pgetevents;
  long pair[2] = {0, 0};  // for these two calls: address and size of the mask
  if (is_pair && a[5] != 0 && !read_program(a[5], pair)) return -EFAULT;
  const long at = is_pair ? pair[0] : a[number == SYS_ppoll ? 3 : 4];
  std::uint64_t mask;
  if (at == 0 || !read_program(at, mask)) return exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), a);
  if ((kept_reserved() & ~mask) != 0) {
    spend(costs().system_call_ps);
    return run_handlers(mask);
  }
  // The supervisor reads the copy: other threads may change the program's mask while this one waits.
  pair[0] = reinterpret_cast<long>(&mask);
  long copied[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  copied[is_pair ? 5 : number == SYS_ppoll ? 3 : 4] = reinterpret_cast<long>(is_pair ? static_cast<void*>(pair) : &mask);
  const long result = exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), copied);
  return result == -EINTR && is_due(mask) ? run_handlers(mask) : result;
}

std::uint64_t without_reserved(std::uint64_t mask) { return mask & ~kReservedSignals; }

bool install_signal_stack() {
  const unsigned long stack = protocol::shim_stack(my_slot_index());
  const long mapped = native(SYS_mmap, stack, 2 * kSignalStackSize, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  if (mapped != static_cast<long>(stack) && mapped != -EEXIST) return false;
  set_call_stack(stack + 2 * kSignalStackSize);
  // The first thread of nearly every program opens a file, which needs several path buffers of 4 KiB.
  const unsigned long frames = (my_slot_index() == 0 ? 56ul : 12ul) << 10;
  constexpr unsigned long kWaits = 8 << 10;
  ask_for_pages(stack + kSignalStackSize - frames, frames);
  ask_for_pages(stack + 2 * kSignalStackSize - kWaits, kWaits);
  stack_t alternate = {};
  alternate.ss_sp = reinterpret_cast<void*>(stack);
  alternate.ss_size = kSignalStackSize;
  return native(SYS_sigaltstack, &alternate, 0) == 0;
}

bool install_handlers() {
  if (!install_signal_stack()) return false;
  constexpr unsigned long kFlags = kSaSigInfo | kSaOnStack | kSaRestorer;
  set_native_action(SIGSYS, {on_sigsys, kFlags, restorer(), kAllButFaults});
  set_native_action(SIGSEGV, {on_sigsegv, kFlags | kSaNoDefer, restorer(), kAllButFaults});
  set_native_action(protocol::kPokeSignal, {on_poke, kFlags | kSaRestart, restorer(), kAllButFaults});
  constexpr unsigned long kIgnored = 1;  // SIG_IGN
  // State that an executed program inherits from its predecessor: ignored signals, and the mask.
  for (int signal = 1; signal <= 64; ++signal) {
    if (region_header().dispositions[signal] == protocol::kSignalIgnored) {
      program_action(signal).handler = reinterpret_cast<decltype(KernelSigaction::handler)>(kIgnored);
    }
  }
  set_blocked_reserved(my_slot->signal_mask);
  return true;
}

}  // namespace verbatim::shim
