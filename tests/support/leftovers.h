// What a run may have left behind.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace verbatim::support {

// Processes that carry `mark` in their environment (which a program keeps as it was started, whatever it does
// to its own copy) or on their command line.
std::set<pid_t> marked_processes(const std::string& mark);
// Of the entries of a folder.
std::set<std::string> names_in(const std::string& folder);

}  // namespace verbatim::support
