// Delivery of signals: which thread receives one, and whether it interrupts a call. The handler runs natively
// with the thread's next token.
#pragma once

#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class Process;

// Sends to the process: the first live thread that awaits or does not mask the signal receives it. It is
// discarded if ignored, and kept while every thread masks it.
void send_signal(Process& process, int signal, const SignalOrigin& origin = {});
// Sends to one thread. A masked signal is kept for a signalfd of the process if one watches it, else for the
// thread.
void signal_thread(Thread& thread, int signal, const SignalOrigin& origin);

// True if the program masks the signal in this thread.
bool is_masked(Thread& thread, int signal);

// True if the process has no handler for the signal and the default action neither ends nor stops it.
bool is_without_effect(Process& process, int signal);
// True if the signal ends the process.
bool is_deadly(Process& process, int signal);

// True if the signal stops the process.
bool stops(Process& process, int signal);
// Origin of SIGCHLD for a child with this `status` (wait(2)): ended, stopped or continued.
SignalOrigin origin_of_child(std::uint32_t pid, int status, std::uint32_t user);

// True if an earlier signal of the timer with id `timer` is still pending. Signals pending in the Linux
// kernel are compared by number only.
bool is_pending(Process& process, int signal, int timer);

// Removes and returns the signals that `thread` receives with its next token. Masked signals of a signalfd
// remain.
std::vector<QueuedSignal> take_signals(Thread& thread);

// Signals to the thread or the process that are pending in the Linux kernel because they are masked; bit n -
// 1 for signal n.
std::uint64_t kept_natively(Thread& thread);

// The thread awaits `set`: pending process-wide signals of the set interrupt it.
void take_awaited(Thread& thread, std::uint64_t set);

}  // namespace verbatim::supervisor
