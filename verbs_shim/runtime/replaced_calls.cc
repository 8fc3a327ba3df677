// System calls that come through a stub (sim/supervisor/code/stub.h) instead of a trap. The stub jumps to verbatim_call_entry(),
// which takes the upper half of the thread's own stack, as nothing of the program's may be touched, and answers as the handler
// of the trap would: dispatch() finds a context that holds the program's mask.
//
// Nothing is masked natively meanwhile. A signal of the program's that comes is made to wait: from then on everything is
// masked, and the stub makes kFinishCall in its own place, a trap in which the answer is put into the program's registers and
// the mask restored, so that the signal finds the program behind its call. So does a call that is to be made again.
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/protocol/replaced_calls.h"
#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/replaced_calls.h"
#include "verbs_shim/runtime/state.h"

// Where the calls of this thread work; 0: the shim does not know the thread yet.
extern "C" __attribute__((visibility("hidden"))) __thread std::uint64_t verbatim_call_stack;
__thread std::uint64_t verbatim_call_stack = 0;

namespace verbatim::shim {

namespace {

// As verbatim_call_entry() pushes it.
struct StubCall {
  long arguments[6];
  long number;
  std::uint64_t goes_on;  // in the stub: where the system call is
  std::uint64_t flags;
  std::uint64_t stack_pointer;
};

constexpr unsigned kCallSize = 2;  // bytes of the syscall instruction

// An answer that waits for the trap.
struct Unfinished {
  bool is_there;
  long number, result;
  std::uint64_t mask;  // native
};
__thread Unfinished unfinished;
__thread bool is_interrupted = false;  // all is masked natively

std::uint64_t& native_mask(ucontext_t& context) { return *reinterpret_cast<std::uint64_t*>(&context.uc_sigmask); }

// What lies behind the call in a stub.
struct __attribute__((packed)) StubEnd {
  unsigned char load[3];  // lea next(%rip), %rcx
  std::int32_t next;
  unsigned char compare[2];  // cmp $value, %rax, if that was behind the call
  std::int32_t value;
};
constexpr unsigned kLoadSize = 7, kCompareSize = 6, kBehindLoad = 5;

void set_flags_of_comparison(greg_t& flags, std::uint64_t result, std::int32_t value) {
  std::uint64_t after;
  asm("cmp %2, %1\n pushfq\n pop %0" : "=r"(after) : "r"(result), "r"(static_cast<std::int64_t>(value)) : "cc");
  constexpr std::uint64_t kArithmetic = 0x8d5;  // OF, SF, ZF, AF, PF, CF
  flags = static_cast<greg_t>((static_cast<std::uint64_t>(flags) & ~kArithmetic) | (after & kArithmetic));
}

}  // namespace

// What the call's register gets, and in `call->goes_on` where the stub goes on: at its system call, or behind it.
extern "C" __attribute__((used)) long verbatim_answer_call(StubCall* call) {
  protocol::ThreadSlot& slot = *my_slot;
  // Of a call from within the shim's own the trap is the kernel's to judge.
  if (!protocol::is_answered_in_place(call->number) || slot.context_address != 0) return call->number;
  ucontext_t context;  // most of it is nobody's business
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(call->stack_pointer);
  const std::uint64_t before = without_reserved(slot.signal_mask);
  native_mask(context) = before;
  slot.context_address = reinterpret_cast<std::uint64_t>(&context);
  const long result = dispatch(call->number, call->arguments, &context);
  const std::uint64_t mask = native_mask(context);
  if (mask != before && !is_interrupted) native(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof mask);
  slot.context_address = 0;
  if (result != kMakeCallAgain && !is_interrupted && (kept_reserved() & ~mask_seen(&context)) == 0) {
    call->goes_on += kCallSize;
    return result;
  }
  unfinished = {true, call->number, result, mask};
  return protocol::kFinishCall;
}

// r11: the call in the stub. rcx is free as well, as the call would change it; the flags are not.
asm(R"(
  .text
  .globl verbatim_call_entry
  .hidden verbatim_call_entry
  .type verbatim_call_entry, @function
verbatim_call_entry:
  mov verbatim_call_stack@gottpoff(%rip), %rcx
  mov %fs:(%rcx), %rcx
  jrcxz 1f
  xchg %rcx, %rsp
  push %rcx
  pushfq
  push %r11
  push %rax
  push %r9
  push %r8
  push %r10
  push %rdx
  push %rsi
  push %rdi
  cld
  mov %rsp, %rdi
  call verbatim_answer_call
  pop %rdi
  pop %rsi
  pop %rdx
  pop %r10
  pop %r8
  pop %r9
  lea 8(%rsp), %rsp
  pop %rcx
  mov (%rsp), %r11
  popfq
  pop %rsp
  jmp *%rcx
1:
  jmp *%r11
  .size verbatim_call_entry, . - verbatim_call_entry
)");

void set_call_stack(std::uint64_t top) { verbatim_call_stack = top; }

bool delay_signal(int signal, const siginfo_t& info, ucontext_t* context) {
  if (my_slot->context_address == 0) return false;
  is_interrupted = true;
  native_mask(*context) = ~(signal_bit(SIGSEGV) | signal_bit(SIGSYS));  // the trap must not find its own masked
  native(SYS_rt_tgsigqueueinfo, native(SYS_getpid), native(SYS_gettid), signal, &info);
  return true;
}

bool finish_call(ucontext_t* context) {
  if (!unfinished.is_there) return false;
  unfinished.is_there = is_interrupted = false;
  native_mask(*context) = unfinished.mask;
  if (unfinished.result == kMakeCallAgain) {
    make_call_again(context, unfinished.number);
  } else {
    return_from_call(context, unfinished.result);
  }
  return true;
}

namespace {

// Of a call that a stub made: what is behind it, and where in the program's own code that would be. 0: it is no stub's.
std::uint64_t place_in_program(const ucontext_t* context, StubEnd& end) {
  const auto rip = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (!in_patch_area(rip) || !copy_bytes(&end, reinterpret_cast<const void*>(rip), sizeof end)) return 0;
  if (end.load[0] != 0x48 || end.load[1] != 0x8d || end.load[2] != 0x0d) return 0;
  return rip + kLoadSize + static_cast<std::uint64_t>(std::int64_t{end.next});
}

bool compares(const StubEnd& end) { return end.compare[0] == 0x48 && end.compare[1] == 0x3d; }

}  // namespace

void return_from_call(ucontext_t* context, long result) {
  greg_t* const registers = context->uc_mcontext.gregs;
  registers[REG_RAX] = result;
  StubEnd end;
  const std::uint64_t next = place_in_program(context, end);
  if (next == 0) return;
  registers[REG_RCX] = static_cast<greg_t>(next);
  registers[REG_RIP] = static_cast<greg_t>(next);
  if (!compares(end)) return;
  set_flags_of_comparison(registers[REG_EFL], static_cast<std::uint64_t>(result), end.value);
  registers[REG_RIP] += kCompareSize;
}

void make_call_again(ucontext_t* context, long number) {
  greg_t* const registers = context->uc_mcontext.gregs;
  registers[REG_RAX] = number;
  StubEnd end;
  const std::uint64_t next = place_in_program(context, end);
  if (next == 0) {
    registers[REG_RIP] -= kCallSize;
  } else {
    // A load before the call has been moved with it, and does again what it did.
    registers[REG_RIP] = static_cast<greg_t>(next - kCallSize - (compares(end) ? 0 : kBehindLoad));
  }
}

}  // namespace verbatim::shim
