// Files of /proc on the machine, from which those of a simulated host are made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace verbatim::supervisor {

// Empty if it cannot be read.
std::string content_of(const std::string& path);
std::string target_of_link(const std::string& path);
// Linux names a file of O_TMPFILE "#INODE (deleted)": the same with the inode number that programs see. Other
// paths are unchanged.
std::string with_seen_number(const std::string& path, const std::function<std::uint64_t()>& number);

}  // namespace verbatim::supervisor
