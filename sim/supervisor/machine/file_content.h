// Content of a file of the machine.
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

// Empty: the file cannot be read, its size is unknown, or it has 1 GiB or more.
std::vector<char> content_of_file(const std::string& path);

}  // namespace verbatim::supervisor
