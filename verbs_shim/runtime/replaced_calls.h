// System calls whose instruction was replaced by a jump (protocol/replaced_calls.h), and how calls return to the program.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace verbatim::shim {

// The calls of the thread work below `top`, when it has one.
void set_call_stack(std::uint64_t top);

// From now on every call of the process traps: of its threads some have no storage of their own.
void let_all_calls_trap();

// A signal of the program's has come. True: it found the thread in such a call, and will come again when that is done.
bool delay_signal(int signal, const siginfo_t& info, ucontext_t* context);

// In the trap of kFinishCall: the answer that could not be given without one. False: there is none, the program means it.
bool finish_call(ucontext_t* context);

// Where the program goes on after the trapped call of a context, in its own code and never among the bytes that a jump takes the
// place of: they may be replaced while the call waits, or by the handler that the context is saved for. What lies before a call
// there only loads a register, and is done again along with it; a comparison behind it is done for the program.
struct CallPlace {
  std::uint64_t next;   // behind the call
  std::uint64_t after;  // and behind the comparison of its result, if that follows
  std::uint64_t again;  // where the call is made again
  bool compares;
  std::int32_t value;  // with which
};
// The context is as the trap has left it.
CallPlace place_of_call(const ucontext_t* context);
void return_from_call(ucontext_t* context, const CallPlace& place, long result);
void make_call_again(ucontext_t* context, const CallPlace& place, long number);

// These registers were saved when the bytes at rip had perhaps not been replaced: rip is then where the same goes on.
void go_out_of_replaced(gregset_t& registers);

// Of calls that trap often enough the supervisor is told, so that it replaces them.
void note_trapped_call(const ucontext_t* context);

}  // namespace verbatim::shim
