// A hostile program for the supervisor: a Linux process without shim or program, which maps its region and does in it
// what an input's bytes say. Everything that the supervisor reads from a program is theirs: slots, header, mailbox,
// rings, and the memory that pointers of its calls lead to.
#pragma once

#include <cstdint>
#include <span>

#include "sim/supervisor/machine/launcher.h"

namespace verbatim::fuzz {

// Starts it in place of a program, as Supervisor's launcher.
supervisor::LaunchedProcess launch_puppet(const supervisor::LaunchRequest& request,
                                          std::span<const std::uint8_t> input);

// One that keeps to the rules: a few calls, then exit code kHonestExit.
inline constexpr int kHonestExit = 7;
supervisor::LaunchedProcess launch_honest(const supervisor::LaunchRequest& request);

// Restricts the fuzzing process to its own children and to unimportant files, whatever an input makes the
// supervisor do. Ends the process with kSkipped and a sentence if that is impossible.
inline constexpr int kSkipped = 77;
void confine();

}  // namespace verbatim::fuzz
