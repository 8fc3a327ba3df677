// Signals on their way to a program: who gets one, and whether it interrupts. The handler itself runs
// natively, when the thread has the token again.
#pragma once

#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class Process;

// To the process: ignored, or to its first living thread that has not masked it or waits for it; when there
// is none, it is kept until one of them does.
void send_signal(Process& process, int signal, const SignalOrigin& origin = {});
void signal_thread(Thread& thread, int signal, const SignalOrigin& origin);

// Whether the program has masked the signal in the thread.
bool is_masked(Thread& thread, int signal);

// Whether the process has neither a handler for the signal nor a default action that would end or stop it.
bool is_without_effect(Process& process, int signal);
// Whether the process ends when the signal is delivered.
bool is_deadly(Process& process, int signal);

// Whether the signal stops the process.
bool stops(Process& process, int signal);
// What SIGCHLD tells of a child whose end, stop or continuation is `status` (wait(2)).
SignalOrigin origin_of_child(std::uint32_t pid, int status, std::uint32_t user);

// Signals that have been sent to one of a stopped or masked process's timers and not been taken: natively
// pending ones are the Linux kernel's.
bool is_pending(Process& process, int signal, int timer);

// What goes to the program with the token that `thread` is about to get. What a signalfd is there for stays
// while it is masked.
std::vector<QueuedSignal> take_signals(Thread& thread);

// Signals that the thread or the process has been sent and that the Linux kernel keeps until they are
// unmasked.
std::uint64_t kept_natively(Thread& thread);

// Signals of `set` that the whole process has been sent interrupt the thread, which waits for them.
void take_awaited(Thread& thread, std::uint64_t set);

}  // namespace verbatim::supervisor
