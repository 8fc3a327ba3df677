// Signals that have arrived: what the program has set for each, and what becomes of it. The kernel delivers all but the
// reserved ones (signal_frame.h), which never reach it blocked: those that the program blocks are kept here.
#pragma once

#include "verbs_shim/runtime/signal_frame.h"

namespace verbatim::shim {

// What the program has set, 1 … 64.
KernelSigaction& program_action(int signal);
// Whether a program that has set nothing is not told of it, and goes on.
bool is_without_default_effect(int signal);
inline bool is_reserved(int signal) { return (kReservedSignals & signal_bit(signal)) != 0; }

// The program ends by SIGSYS, and the supervisor says why: the call that `info` describes has another entry than that of x86-64.
void die_of_foreign_call(const siginfo_t& info);

// The signal has found the program at `context`: its handler will run when the native handler returns, or the process dies.
// `forced`: by the processor, so that it can neither be ignored nor wait.
void deliver(int signal, const siginfo_t& info, ucontext_t* context, bool forced);

// A reserved signal for the calling thread, which gets it by deliver_kept() when it does not block it.
void keep_reserved(const siginfo_t& info);
void deliver_kept(ucontext_t* context);
// The set of those kept.
std::uint64_t kept_reserved();
// The least of `set`, 0: none.
int take_kept(std::uint64_t set, siginfo_t* info);
void forget_kept(std::uint64_t set);

// Lets the calling thread, which is in no trapped call, be interrupted natively for what is kept.
void interrupt_for_kept();
// A signal within the simulation is about to be sent natively. Whether one that has come is such a one; what somebody outside
// has sent is dropped: the thread may be waiting for its token.
void expect_signal(int signal);
bool was_expected(const siginfo_t& info);
bool is_interruption_for_kept(const siginfo_t& info);

}  // namespace verbatim::shim
