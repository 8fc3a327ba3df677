// A hostile program for the supervisor: a Linux process without shim or program, which maps its region and
// does there what an input's bytes say. It controls everything that the supervisor reads from a program:
// slots, header, mailbox, rings, and the memory at pointers of its calls.
#pragma once

#include <cstdint>
#include <span>

#include "sim/supervisor/machine/launcher.h"

namespace verbatim::fuzz {

// Starts a puppet instead of a program; a launcher for Supervisor.
supervisor::LaunchedProcess launch_puppet(const supervisor::LaunchRequest& request,
                                          std::span<const std::uint8_t> input);

// Starts a correct program: a few calls, then exit code kHonestExit.
inline constexpr int kHonestExit = 7;
supervisor::LaunchedProcess launch_honest(const supervisor::LaunchRequest& request);

// Restricts the fuzzing process to its own children and to unimportant files, whatever an input causes the
// supervisor to do. If that is impossible, exits with kSkipped and a sentence.
inline constexpr int kSkipped = 77;
void confine();

}  // namespace verbatim::fuzz
