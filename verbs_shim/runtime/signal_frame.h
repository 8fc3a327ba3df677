// Entry into and return from the program's signal handlers. The shim's own handlers run on its alternate
// stack with all signals masked. They then build, in the program's registers and on the stack that the
// program chose, what the Linux kernel would have built: a signal frame (arch/x86/kernel/signal_64.c), the
// handler's mask and its arguments. The program sees its own alternate stack and mask, never the shim's.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "verbs_shim/protocol/region.h"

namespace verbatim::shim {

// The kernel's struct sigaction, which differs from libc's.
struct KernelSigaction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  unsigned long restorer;
  std::uint64_t mask;
};
inline constexpr unsigned long kSaSigInfo = 4, kSaRestorer = 0x04000000, kSaOnStack = 0x08000000,
                               kSaRestart = 0x10000000, kSaNoDefer = 0x40000000;

constexpr std::uint64_t signal_bit(int signal) { return 1ull << (signal - 1); }
using protocol::kReservedSignals;

// The program's mask, where a native handler was entered with the saved mask `native`.
std::uint64_t mask_seen(std::uint64_t native);
// Sets the mask that the program's thread has after the native handler of `context` returns.
void set_program_mask(ucontext_t* context, std::uint64_t mask);
inline std::uint64_t mask_seen(const ucontext_t* context) {
  return mask_seen(*reinterpret_cast<const std::uint64_t*>(&context->uc_sigmask));
}

// The program continues with `mask` until the first handler runs; that handler's frame restores the present
// mask (sigsuspend and its relatives).
void mask_until_handler(ucontext_t* context, std::uint64_t mask);

// Makes the native handler of `context` return into the program's handler. False: the frame cannot be
// written.
bool enter_handler(int signal, const siginfo_t& info, const KernelSigaction& action, ucontext_t* context);

// rt_sigreturn(2) as the trapped call of `context`: restores the state in the frame at the program's stack
// pointer. False: the frame cannot be read.
bool leave_handler(ucontext_t* context);

// sigaltstack(2); `stack_pointer` is the program's.
long set_program_stack(const long (&arguments)[6], std::uint64_t stack_pointer);

// Reserved signals that the program blocks. A new thread inherits the set from its creator, an executed
// program from its predecessor.
std::uint64_t blocked_reserved();
void set_blocked_reserved(std::uint64_t set);

}  // namespace verbatim::shim
