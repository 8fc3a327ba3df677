// Cause of a hang, from the graph of waits. In this order: a thread whose own program explains its wait; one whose
// program has posted nothing that would end it; a connection whose other end is in no state to continue; processes
// that wait for each other in a circle.
#pragma once

#include <span>
#include <string>

#include "sim/supervisor/spec/blocked_thread.h"

namespace verbatim::supervisor {

// `for_ever`: nothing will end the waits, so a circle of processes is a deadlock.
HangCause cause_of_hang(std::span<const BlockedThread> threads, bool for_ever);

}  // namespace verbatim::supervisor
