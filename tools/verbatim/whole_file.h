// Files that are written at once.
#pragma once

#include <string>

namespace verbatim::cli {

// A file that is there with all of `text` or, as when the disk is full, not at all. A sentence on failure, else empty.
std::string write_whole_file(const std::string& path, const std::string& text);

}  // namespace verbatim::cli
