// Delivery of signals: the program's actions, and the disposition of each signal that arrives. The kernel
// delivers all signals but the reserved ones (signal_frame.h). Those are never blocked in the kernel; the
// ones that the program blocks are kept here.
#pragma once

#include "verbs_shim/runtime/signal_frame.h"

namespace verbatim::shim {

// The program's action for signal 1 … 64.
KernelSigaction& program_action(int signal);
// Whether the default action of the signal is to ignore it or to continue.
bool is_without_default_effect(int signal);
inline bool is_reserved(int signal) { return (kReservedSignals & signal_bit(signal)) != 0; }

// Kills the program with SIGSYS: the call that `info` describes did not use the system-call entry of x86-64.
// The supervisor reports why.
void die_of_foreign_call(const siginfo_t& info);

// The signal has interrupted the program at `context`: its handler runs when the native handler returns, or
// the process dies. `forced`: raised by the processor, so that it can be neither ignored nor blocked.
void deliver(int signal, const siginfo_t& info, ucontext_t* context, bool forced);

// Keeps a reserved signal for the calling thread until deliver_kept() finds it unblocked.
void keep_reserved(const siginfo_t& info);
void deliver_kept(ucontext_t* context);
// Set of the kept signals.
std::uint64_t kept_reserved();
// Takes the lowest-numbered kept signal in `set`; 0: none.
int take_kept(std::uint64_t set, siginfo_t* info);
void forget_kept(std::uint64_t set);

// Interrupts the calling thread natively to deliver kept signals; it is in no trapped call.
void interrupt_for_kept();
// expect_signal() announces a native signal of the simulation. was_expected() says whether a received signal
// is such a one; a signal from outside the simulation is dropped, because the thread may be waiting for its
// token.
void expect_signal(int signal);
bool was_expected(const siginfo_t& info);
bool is_interruption_for_kept(const siginfo_t& info);

}  // namespace verbatim::shim
