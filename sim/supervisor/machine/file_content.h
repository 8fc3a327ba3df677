// Content of a file of the machine.
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

// Empty: there is no file that may be read, its size is unknown, or it has 1 GiB or more. std::system_error: the
// machine refuses, such as for lack of descriptors.
std::vector<char> content_of_file(const std::string& path);

}  // namespace verbatim::supervisor
