// System calls whose instruction was replaced by a jump (protocol/replaced_calls.h), and the return from
// calls to the program.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace verbatim::shim {

// Sets the stack for the thread's calls, below `top`; ignored if the process has threads without TLS of the C
// library.
void set_call_stack(std::uint64_t top);

// All calls of the process trap from here on: some of its threads have no TLS of their own.
void let_all_calls_trap();

// A signal of the program has arrived. True: the thread is in such a call; the signal will arrive again after
// it.
bool delay_signal(int signal, const siginfo_t& info, ucontext_t* context);

// In the trap of kFinishCall: completes the pending answer. False: there is none; the program itself has made
// the call.
bool finish_call(ucontext_t* context);

// Addresses in the program's own code around the trapped call of a context, never among bytes that a jump may
// replace: they may be replaced while the call waits, or by the handler for which the context is saved. An
// instruction before the call among them only loads a register and is repeated with the call; a comparison
// after it is carried out by return_from_call().
struct CallPlace {
  std::uint64_t next;   // after the call
  std::uint64_t after;  // after the comparison of its result, if one follows
  std::uint64_t again;  // where the call is repeated
  bool compares;
  std::int32_t value;  // operand of the comparison
};
// The context must be as the trap has left it.
CallPlace place_of_call(const ucontext_t* context);
void return_from_call(ucontext_t* context, const CallPlace& place, long result);
void make_call_again(ucontext_t* context, const CallPlace& place, long number);

// For registers saved before the bytes at rip may have been replaced: sets rip to the equivalent address.
void go_out_of_replaced(gregset_t& registers);

// Reports calls that trap often to the supervisor, which replaces them.
void note_trapped_call(const ucontext_t* context);

}  // namespace verbatim::shim
