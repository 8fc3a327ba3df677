// Finds processes and files that a run may have left behind.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace verbatim::support {

// Processes with `mark` in their initial environment, which a program cannot change, or on their command
// line.
std::set<pid_t> marked_processes(const std::string& mark);
// Names of a folder's entries.
std::set<std::string> names_in(const std::string& folder);

}  // namespace verbatim::support
