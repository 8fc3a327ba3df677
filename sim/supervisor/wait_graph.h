// The cause of a hang, from who waits for whom. A thread whose own program explains its wait is the cause of all who wait for it;
// without one, a connection whose other end is in no state to go on; without one, processes that wait for each other in a circle.
#pragma once

#include <span>
#include <string>

#include "sim/supervisor/spec/blocked_thread.h"

namespace verbatim::supervisor {

// A sentence without a full stop; "": the waits do not explain the hang. `for_ever`: nothing will end them, so that a circle of
// processes is a deadlock.
std::string cause_of_hang(std::span<const BlockedThread> threads, bool for_ever);

}  // namespace verbatim::supervisor
