// How a handler of the program is entered and left. The shim's own handlers run on its alternate stack with everything
// masked; what they were interrupted by is then made, in the program's registers and on the stack that the program chose, what
// the Linux kernel would have made: a signal frame (arch/x86/kernel/signal_64.c), the handler's mask and its arguments. The
// program gets to see its own alternate stack and mask, never the shim's.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "verbs_shim/protocol/region.h"

namespace verbatim::shim {

// The kernel's struct sigaction, which is not libc's.
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

// What the program believes it has masked where a native handler has found `native`, the saved mask.
std::uint64_t mask_seen(std::uint64_t native);
// The program's thread has this mask when the native handler of `context` returns.
void set_program_mask(ucontext_t* context, std::uint64_t mask);
inline std::uint64_t mask_seen(const ucontext_t* context) {
  return mask_seen(*reinterpret_cast<const std::uint64_t*>(&context->uc_sigmask));
}

// The program goes on with `mask`; the first handler that runs, and its frame, know nothing of it: when the handler returns
// the thread has the mask that it has now (sigsuspend and its relatives).
void mask_until_handler(ucontext_t* context, std::uint64_t mask);

// The native handler of `context` will return into the program's handler. False: its frame cannot be written.
bool enter_handler(int signal, const siginfo_t& info, const KernelSigaction& action, ucontext_t* context);

// rt_sigreturn(2) as the trapped call of `context`: it will return to where the frame at the program's stack pointer says.
// False: there is no frame.
bool leave_handler(ucontext_t* context);

// sigaltstack(2), at this stack pointer of the program.
long set_program_stack(const long (&arguments)[6], std::uint64_t stack_pointer);

// Reserved signals that the program blocks: for a new thread, which has its maker's, and a program that was executed.
std::uint64_t blocked_reserved();
void set_blocked_reserved(std::uint64_t set);

}  // namespace verbatim::shim
