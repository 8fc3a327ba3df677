// Files of programs and of /proc, read as streams.
#pragma once

#include <fstream>
#include <string>

namespace verbatim::supervisor {

// Not open: there is no file that may be read, or no such process. std::system_error: the machine refuses, such as for
// lack of descriptors; what the file would say must not be replaced by a default.
class InputStream : public std::ifstream {
 public:
  explicit InputStream(const std::string& path, std::ios::openmode mode = std::ios::in);
};

}  // namespace verbatim::supervisor
