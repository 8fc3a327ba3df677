// The bytes of a file of the machine.
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

// Empty: it cannot be read, its size is not known, or it has a gibibyte and more.
std::vector<char> content_of_file(const std::string& path);

}  // namespace verbatim::supervisor
