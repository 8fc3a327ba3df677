// The cause of a hang, from who waits for whom. A thread whose own program explains its wait is the cause of all who wait for it;
// without one, a connection whose other end is in no state to go on; without one, processes that wait for each other in a circle.
#pragma once

#include <span>
#include <string>

#include "sim/supervisor/spec/blocked_thread.h"

namespace verbatim::supervisor {

// `for_ever`: nothing will end the waits, so that a circle of processes is a deadlock.
HangCause cause_of_hang(std::span<const BlockedThread> threads, bool for_ever);

}  // namespace verbatim::supervisor
