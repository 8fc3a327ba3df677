#include "verbs_shim/runtime/signal_frame.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "verbs_shim/protocol/signal_frame_size.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/replaced_calls.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

// The kernel's struct ucontext is the first part of libc's ucontext_t.
constexpr std::size_t kContextSize = offsetof(ucontext_t, uc_sigmask) + sizeof(std::uint64_t);
static_assert(kContextSize == 304 && offsetof(ucontext_t, uc_mcontext) == 40);

struct Frame {  // struct rt_sigframe
  unsigned long restorer;
  unsigned char context[kContextSize];
  siginfo_t info;
};
static_assert(sizeof(Frame) == 440);

constexpr std::uint64_t kRedZone = 128;
constexpr std::uint64_t kUnblockable = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
constexpr unsigned kAutoDisarm = 1u << 31;  // SS_AUTODISARM

stack_t& program_stack() { return thread_state().program_stack; }

// As sas_ss_flags() and __on_sig_stack() of the kernel.
bool lies_on_program_stack(std::uint64_t stack_pointer) {
  const auto start = reinterpret_cast<std::uint64_t>(program_stack().ss_sp);
  return stack_pointer > start && stack_pointer - start <= program_stack().ss_size;
}
bool is_on_program_stack(std::uint64_t stack_pointer) {
  if ((static_cast<unsigned>(program_stack().ss_flags) & kAutoDisarm) != 0) return false;
  return lies_on_program_stack(stack_pointer);
}

stack_t stack_as_saved() {
  stack_t saved = program_stack();
  if (program_stack().ss_size == 0) saved.ss_flags = SS_DISABLE;
  return saved;
}

long change_stack(const stack_t& wanted, std::uint64_t stack_pointer) {
  if (is_on_program_stack(stack_pointer)) return -EPERM;
  const auto mode = static_cast<unsigned>(wanted.ss_flags) & ~kAutoDisarm;
  if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0) return -EINVAL;
  if (mode == SS_DISABLE) {
    program_stack() = {};
    program_stack().ss_flags = wanted.ss_flags;
    return 0;
  }
  constexpr std::size_t kLeast = 2048;  // Linux' MINSIGSTKSZ; libc's macro of that name is larger
  if (wanted.ss_size < kLeast) return -ENOMEM;
  program_stack() = wanted;
  return 0;
}

// Floating-point and vector state in the kernel's format: the legacy part, which states the total size.
constexpr std::size_t kLegacyState = 512, kLargestState = 16 * 1024;

struct LegacyState {
  std::uint16_t x87_control;
  unsigned char registers[22];
  std::uint32_t sse_control;
  unsigned char more[436];
  std::uint32_t magic;  // in struct _fpx_sw_bytes
  std::uint32_t extended_size;
  unsigned char rest[40];
};
static_assert(sizeof(LegacyState) == kLegacyState);
constexpr std::uint32_t kExtendedMagic = 0x46505853;

LegacyState initial_state() {
  LegacyState state{};
  state.x87_control = 0x37f;
  state.sse_control = 0x1f80;
  return state;
}

}  // namespace

std::uint64_t blocked_reserved() { return thread_state().reserved; }
void set_blocked_reserved(std::uint64_t set) { thread_state().reserved = set & kReservedSignals; }

std::uint64_t mask_seen(std::uint64_t native) { return without_reserved(native) | thread_state().reserved; }

void set_program_mask(ucontext_t* context, std::uint64_t mask) {
  thread_state().reserved = mask & kReservedSignals;
  *reinterpret_cast<std::uint64_t*>(&context->uc_sigmask) = without_reserved(mask) & ~kUnblockable;
  my_slot->signal_mask = mask_seen(context);
}

void mask_until_handler(ucontext_t* context, std::uint64_t mask) {
  ThreadState& thread = thread_state();
  thread.mask_afterwards = mask_seen(context);
  thread.has_mask_afterwards = true;
  set_program_mask(context, mask);
}

bool enter_handler(int signal, const siginfo_t& info, const KernelSigaction& action, ucontext_t* context) {
  if ((action.flags & kSaRestorer) == 0) return false;
  greg_t* registers = context->uc_mcontext.gregs;
  std::uint64_t at = static_cast<std::uint64_t>(registers[REG_RSP]) - kRedZone;
  bool on_alternate = is_on_program_stack(static_cast<std::uint64_t>(registers[REG_RSP]));
  if ((action.flags & kSaOnStack) != 0 && program_stack().ss_size != 0 && !is_on_program_stack(at)) {
    at = reinterpret_cast<std::uint64_t>(program_stack().ss_sp) + program_stack().ss_size;
    on_alternate = true;
  }
  // The size of a frame depends on the machine's register sets. Whether one fits must not.
  const std::uint64_t room = at - reinterpret_cast<std::uint64_t>(program_stack().ss_sp);
  if (on_alternate && room < protocol::kSignalFrameSize) return false;

  LegacyState legacy = initial_state();
  std::size_t state_size = kLegacyState;
  const void* state = context->uc_mcontext.fpregs;
  if (state != nullptr) {
    if (!copy_bytes(&legacy, state, sizeof legacy)) return false;
    if (legacy.magic == kExtendedMagic) state_size = legacy.extended_size;
    if (state_size < kLegacyState || state_size > kLargestState) return false;
  }
  constexpr std::uint64_t kStateAlignment = 64, kFrameAlignment = 16;
  const std::uint64_t state_at = (at - state_size) & ~(kStateAlignment - 1);
  at = ((state_at - sizeof(Frame)) & ~(kFrameAlignment - 1)) - 8;
  if (on_alternate && !lies_on_program_stack(at)) return false;

  Frame frame{};
  frame.restorer = action.restorer;
  frame.info = info;
  const std::uint64_t mask = mask_seen(context);
  ucontext_t saved;
  memcpy(&saved, context, kContextSize);
  saved.uc_link = nullptr;
  saved.uc_stack = stack_as_saved();
  saved.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(state_at);
  ThreadState& thread = thread_state();
  *reinterpret_cast<std::uint64_t*>(&saved.uc_sigmask) = thread.has_mask_afterwards ? thread.mask_afterwards : mask;
  memcpy(frame.context, &saved, kContextSize);
  if (!copy_bytes(reinterpret_cast<void*>(state_at), state != nullptr ? state : &legacy, state_size) ||
      !copy_bytes(reinterpret_cast<void*>(at), &frame, sizeof frame)) {
    return false;
  }

  thread.has_mask_afterwards = false;
  if ((static_cast<unsigned>(program_stack().ss_flags) & kAutoDisarm) != 0) program_stack() = {};
  set_program_mask(context, mask | action.mask | ((action.flags & kSaNoDefer) != 0 ? 0 : signal_bit(signal)));
  context->uc_mcontext.fpregs = nullptr;  // the kernel loads the initial state
  registers[REG_RDI] = signal;
  registers[REG_RSI] = static_cast<greg_t>(at + offsetof(Frame, info));
  registers[REG_RDX] = static_cast<greg_t>(at + offsetof(Frame, context));
  registers[REG_RAX] = 0;
  registers[REG_RSP] = static_cast<greg_t>(at);
  registers[REG_RIP] = reinterpret_cast<greg_t>(action.handler);
  constexpr greg_t kTrap = 0x100, kDirection = 0x400, kResume = 0x10000;
  registers[REG_EFL] &= ~(kTrap | kDirection | kResume);
  return true;
}

bool leave_handler(ucontext_t* context) {
  ucontext_t saved;
  if (!copy_bytes(&saved, reinterpret_cast<const void*>(context->uc_mcontext.gregs[REG_RSP]), kContextSize)) return false;
  // The native frame's alternate stack is kept; the kernel reads the state at `fpregs` in place.
  context->uc_flags = saved.uc_flags;
  context->uc_mcontext = saved.uc_mcontext;
  go_out_of_replaced(context->uc_mcontext.gregs);
  set_program_mask(context, *reinterpret_cast<const std::uint64_t*>(&saved.uc_sigmask));
  change_stack(saved.uc_stack, static_cast<std::uint64_t>(saved.uc_mcontext.gregs[REG_RSP]));
  return true;
}

long set_program_stack(const long (&a)[6], std::uint64_t stack_pointer) {
  stack_t before = program_stack();
  unsigned flags = static_cast<unsigned>(program_stack().ss_flags) & kAutoDisarm;
  if (program_stack().ss_size == 0) flags |= SS_DISABLE;
  if (is_on_program_stack(stack_pointer)) flags |= SS_ONSTACK;
  before.ss_flags = static_cast<int>(flags);
  if (a[0] != 0) {
    stack_t wanted;
    if (!read_program(a[0], wanted)) return -EFAULT;
    const long changed = change_stack(wanted, stack_pointer);
    if (changed != 0) return changed;
  }
  return write_if_asked(a[1], before) ? 0 : -EFAULT;
}

}  // namespace verbatim::shim
