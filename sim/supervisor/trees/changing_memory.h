// Memory that a program may both write and execute, in /proc/PID/maps: natively its pages are either writable
// or executable (protocol/changing_code.h). The program sees the rights that it has set.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/tasks/process.h"
#include "verbs_shim/protocol/changing_code.h"

namespace verbatim::supervisor {

// The process's ranges, ascending; empty if it has none or its table makes no sense.
std::vector<protocol::ChangingRange> changing_ranges_of(Process& process);

// Text of a native /proc/PID/maps with the rights of `ranges`. Mappings that differ only by their native
// rights are one line.
std::string with_rights_of_program(const std::string& maps, std::span<const protocol::ChangingRange> ranges);

}  // namespace verbatim::supervisor
