// Signals on their way to a program: who gets one, and whether it interrupts. The handler itself runs
// natively, when the thread has the token again.
#pragma once

#include "sim/supervisor/thread.h"

namespace verbatim::supervisor {

class Process;

// To the process: ignored, or to its first living thread that has not masked it.
void send_signal(Process& process, int signal, const SignalOrigin& origin = {});
void signal_thread(Thread& thread, int signal, const SignalOrigin& origin);

// Whether the process has neither a handler for the signal nor a default action that would end or stop it.
bool is_without_effect(Process& process, int signal);

}  // namespace verbatim::supervisor
