// System calls whose instruction was replaced by a jump (protocol/replaced_calls.h), and how calls return to the program.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace verbatim::shim {

// The calls of the thread work below `top`, when it has one.
void set_call_stack(std::uint64_t top);

// A signal of the program's has come. True: it found the thread in such a call, and will come again when that is done.
bool delay_signal(int signal, const siginfo_t& info, ucontext_t* context);

// In the trap of kFinishCall: the answer that could not be given without one. False: there is none, the program means it.
bool finish_call(ucontext_t* context);

// The trapped call of `context` is answered, or made again when the handler returns. The program is where its own code has the
// call, whether it was trapped there or in a stub.
void return_from_call(ucontext_t* context, long result);
void make_call_again(ucontext_t* context, long number);

}  // namespace verbatim::shim
