// System calls that arrive through a stub (sim/supervisor/code/stub.h) instead of a trap. The stub jumps to
// verbatim_call_entry(), which switches to the upper half of the thread's shim stack, because program memory
// must not be touched, and answers as the trap handler does: dispatch() gets a context with the program's
// signal mask.
//
// Signals stay unmasked natively meanwhile. If one arrives, delay_signal() queues it again and masks all
// signals. The stub then makes the call kFinishCall, which traps; the trap handler stores the answer in the
// program's registers and restores the mask, and the signal is delivered after the call. A call that must be
// repeated takes the same route.
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/protocol/replaced_calls.h"
#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/replaced_calls.h"
#include "verbs_shim/runtime/shim_stack.h"
#include "verbs_shim/runtime/state.h"
#include "verbs_shim/runtime/thread_state.h"

// 0: the process has threads whose TLS is not the C library's (thread_state.h), and every call traps.
extern "C" __attribute__((visibility("hidden"))) std::uint64_t verbatim_answers_calls;
std::uint64_t verbatim_answers_calls = 1;
// Stack for calls of this thread; 0: the shim does not know the thread yet.
extern "C" __attribute__((visibility("hidden"))) __thread std::uint64_t verbatim_call_stack;
__thread std::uint64_t verbatim_call_stack = 0;

namespace verbatim::shim {

namespace {

// Layout in which verbatim_call_entry() pushes it.
struct StubCall {
  long arguments[6];
  long number;
  std::uint64_t goes_on;  // address of the syscall instruction in the stub
  std::uint64_t flags;
  std::uint64_t stack_pointer;
};

// An answer to be completed in the trap.
struct Unfinished {
  bool is_there;
  long number, result;
  std::uint64_t mask;  // native
};
__thread Unfinished unfinished;
__thread bool is_interrupted = false;  // all signals are masked natively

std::uint64_t& native_mask(ucontext_t& context) { return *reinterpret_cast<std::uint64_t*>(&context.uc_sigmask); }

constexpr unsigned kCallSize = 2;                    // length of the syscall instruction, in bytes
constexpr unsigned kLoadSize = 5, kCompareSize = 6;  // lengths of the neighbouring instructions that the jump replaces as well
constexpr unsigned kJumpSize = 5, kEnterSize = 13;   // lengths of the jump to a stub, and of the stub's code before its call

// cmp $value, %rax
bool is_comparison(const unsigned char* code) { return code[0] == 0x48 && code[1] == 0x3d; }

std::int32_t word_at(const unsigned char* code) {
  std::int32_t word;
  memcpy(&word, code, sizeof word);
  return word;
}

bool read_code(unsigned char* to, std::uint64_t from, std::size_t size) {
  return copy_bytes(to, reinterpret_cast<const void*>(from), size);
}

void set_flags_of_comparison(greg_t& flags, std::uint64_t result, std::int32_t value) {
  std::uint64_t after;
  // Skips the red zone: the compiler uses 128 bytes below the stack pointer (System V ABI).
  asm("lea -128(%%rsp), %%rsp\n cmp %2, %1\n pushfq\n pop %0\n lea 128(%%rsp), %%rsp"
      : "=&r"(after)
      : "r"(result), "r"(static_cast<std::int64_t>(value))
      : "cc");
  constexpr std::uint64_t kArithmetic = 0x8d5;  // OF, SF, ZF, AF, PF, CF
  flags = static_cast<greg_t>((static_cast<std::uint64_t>(flags) & ~kArithmetic) | (after & kArithmetic));
}

// Calls that have trapped: the address after the instruction, and the number of traps since the last report.
struct TrappedCall {
  std::uint64_t address;
  std::uint32_t traps, enough;
};
constexpr std::uint32_t kNeverEnough = 0;
constexpr unsigned kPlaces = 128, kNearPlaces = 8;
TrappedCall trapped_calls[kPlaces];

// nullptr: no free entry near its hash.
TrappedCall* trapped_call_at(std::uint64_t address) {
  const auto first = static_cast<unsigned>(address * 0x9e37'79b9'7f4a'7c15ull >> 57);
  static_assert(1 << (64 - 57) == kPlaces);
  for (unsigned i = 0; i < kNearPlaces; ++i) {
    TrappedCall& call = trapped_calls[(first + i) % kPlaces];
    if (call.address == 0) call = {address, 0, region_header().traps_before_report};
    if (call.address == address) return &call;
  }
  return nullptr;
}

}  // namespace

// Returns the value for rax. `call->goes_on`: where the stub continues, at its system call or after it.
extern "C" __attribute__((used)) long verbatim_answer_call(StubCall* call) {
  protocol::ThreadSlot& slot = *my_slot;
  // A call made by the shim itself traps as usual.
  if (!protocol::is_answered_in_place(call->number) || slot.context_address != 0) return call->number;
  ucontext_t context;  // dispatch() uses few of its fields
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

// r11: address of the call in the stub. rcx is free, because the call would change it; the flags are not. For
// debuggers, the CFI expressions describe the caller's frame: rsp is StubCall::stack_pointer; the return
// address is that which the stub loads into rcx (lea): 9 bytes after the call, plus the 32-bit displacement
// that is 5 bytes after it.
asm(R"(
  .text
  .globl verbatim_call_entry
  .hidden verbatim_call_entry
  .type verbatim_call_entry, @function
verbatim_call_entry:
  .cfi_startproc
  mov verbatim_answers_calls(%rip), %rcx
  jrcxz 1f
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
  .cfi_remember_state
  .cfi_escape 0x0f, 4, 0x77, 0xc8, 0, 0x06
  .cfi_escape 0x16, 16, 17, 0x77, 56, 0x06, 0x12, 0x23, 5, 0x94, 4, 0x08, 32, 0x24, 0x08, 32, 0x26, 0x22, 0x23, 9
  call verbatim_answer_call
  .cfi_restore_state
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
  .cfi_endproc
  .size verbatim_call_entry, . - verbatim_call_entry
)");

// For debuggers, the CFI expression finds the caller's frame through the stack pointer that is stored 8 bytes above the
// stack pointer.
extern "C" __attribute__((naked)) void verbatim_call_on_shim_stack(const void*, void (*)(const void*)) {
  asm volatile(
      "movq verbatim_call_stack@gottpoff(%%rip), %%rax\n"
      "movq %%fs:(%%rax), %%rax\n"
      "testq %%rax, %%rax\n"
      "jz 1f\n"
      "movq %%rax, %%rcx\n"
      "subq %%rsp, %%rcx\n"
      "cmpq %0, %%rcx\n"
      "jb 1f\n"
      "movq %%rsp, -8(%%rax)\n"
      "leaq -16(%%rax), %%rsp\n"
      ".cfi_remember_state\n"
      ".cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8\n"
      "callq *%%rsi\n"
      "movq 8(%%rsp), %%rsp\n"
      ".cfi_restore_state\n"
      "ret\n"
      "1: jmpq *%%rsi\n"
      :
      : "i"(2 * kSignalStackSize));
}

void set_call_stack(std::uint64_t top) {
  if (!has_foreign_bases) verbatim_call_stack = top;
}

void let_all_calls_trap() { verbatim_answers_calls = 0; }

bool delay_signal(int signal, const siginfo_t& info, ucontext_t* context) {
  if (my_slot->context_address == 0) return false;
  is_interrupted = true;
  native_mask(*context) = ~(signal_bit(SIGSEGV) | signal_bit(SIGSYS));  // SIGSYS stays unmasked for the trap
  native(SYS_rt_tgsigqueueinfo, native(SYS_getpid), native(SYS_gettid), signal, &info);
  return true;
}

CallPlace place_of_call(const ucontext_t* context) {
  const greg_t* const registers = context->uc_mcontext.gregs;
  const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
  CallPlace place{rip, rip, rip - kCallSize, false, 0};
  // In a stub, the instruction after the call sets rcx to the return address in the program.
  constexpr unsigned kSetSize = 7;
  unsigned char code[kSetSize + kCompareSize];
  const bool in_stub = in_patch_area(rip) && read_code(code, rip, sizeof code) && code[0] == 0x48 && code[1] == 0x8d &&
                       code[2] == 0x0d;
  const unsigned char* behind = code;
  bool loads;
  if (in_stub) {
    place.next = rip + kSetSize + static_cast<std::uint64_t>(std::int64_t{word_at(code + 3)});
    behind = code + kSetSize;
    place.compares = is_comparison(behind);
    loads = !place.compares;
  } else {
    place.compares = read_code(code, rip, kCompareSize) && is_comparison(code);
    // mov $number, %eax, or mov 8(%rsp), %r9.
    unsigned char before[kLoadSize];
    static constexpr unsigned char kLoadsArgument[kLoadSize] = {0x4c, 0x8b, 0x4c, 0x24, 0x08};
    loads = read_code(before, rip - kCallSize - kLoadSize, sizeof before) &&
            ((before[0] == 0xb8 && word_at(before + 1) == registers[REG_RAX]) ||
             memcmp(before, kLoadsArgument, kLoadSize) == 0);
  }
  place.value = place.compares ? word_at(behind + 2) : 0;
  place.again = place.next - kCallSize - (loads ? kLoadSize : 0);
  place.after = place.next + (place.compares ? kCompareSize : 0);
  return place;
}

void return_from_call(ucontext_t* context, const CallPlace& place, long result) {
  greg_t* const registers = context->uc_mcontext.gregs;
  registers[REG_RAX] = result;
  registers[REG_RCX] = static_cast<greg_t>(place.next);
  registers[REG_RIP] = static_cast<greg_t>(place.after);
  if (place.compares) set_flags_of_comparison(registers[REG_EFL], static_cast<std::uint64_t>(result), place.value);
}

void make_call_again(ucontext_t* context, const CallPlace& place, long number) {
  greg_t* const registers = context->uc_mcontext.gregs;
  registers[REG_RAX] = number;
  registers[REG_RIP] = static_cast<greg_t>(place.again);
}

namespace {

std::uint64_t out_of_replaced(std::uint64_t rip) {
  const auto leads_to = [](std::uint64_t jump) -> std::uint64_t {
    unsigned char code[kJumpSize];
    if (!read_code(code, jump, sizeof code) || code[0] != 0xe9) return 0;
    const std::uint64_t target = jump + kJumpSize + static_cast<std::uint64_t>(std::int64_t{word_at(code + 1)});
    return in_patch_area(target) ? target : 0;
  };
  unsigned char code[kCallSize];
  if (!read_code(code, rip, sizeof code)) return rip;
  if (code[0] == 0xcc && code[1] == 0xcc && leads_to(rip - kLoadSize) != 0) return rip - kLoadSize;
  const std::uint64_t stub = leads_to(rip - kCallSize);
  if (stub == 0 || !read_code(code, stub + kEnterSize, sizeof code) || code[0] != 0x0f || code[1] != 0x05) return rip;
  return stub + kEnterSize + kCallSize;
}

}  // namespace

void go_out_of_replaced(gregset_t& registers) {
  registers[REG_RIP] = static_cast<greg_t>(out_of_replaced(static_cast<std::uint64_t>(registers[REG_RIP])));
}

void note_trapped_call(const ucontext_t* context) {
  const greg_t* const registers = context->uc_mcontext.gregs;
  const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (!is_attached || !protocol::is_answered_in_place(registers[REG_RAX]) || in_patch_area(rip)) return;
  TrappedCall* const call = trapped_call_at(rip);
  if (call == nullptr || call->enough == kNeverEnough || ++call->traps < call->enough) return;
  switch (report_trapped_call(rip - kCallSize, call->traps)) {
    case protocol::CallReplacement::kDone:
      *call = {};  // frees the entry; a call that was not replaced here starts again
      break;
    case protocol::CallReplacement::kNotYet:
      *call = {rip, 0, 2 * call->traps};
      break;
    case protocol::CallReplacement::kNever:
      call->enough = kNeverEnough;
      break;
  }
}

bool finish_call(ucontext_t* context) {
  if (my_slot->has_own_storage == 0 || !unfinished.is_there) return false;
  unfinished.is_there = is_interrupted = false;
  native_mask(*context) = unfinished.mask;
  const CallPlace place = place_of_call(context);
  if (unfinished.result == kMakeCallAgain) {
    make_call_again(context, place, unfinished.number);
  } else {
    return_from_call(context, place, unfinished.result);
  }
  return true;
}

}  // namespace verbatim::shim
