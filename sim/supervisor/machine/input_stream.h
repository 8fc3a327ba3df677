// Files of programs and of /proc, read as streams.
#pragma once

#include <fstream>
#include <string>

namespace verbatim::supervisor {

// is_open() is false if the file or the process does not exist or may not be read. Throws std::system_error if the
// machine lacks descriptors or memory: the caller must not continue with a default.
class InputStream : public std::ifstream {
 public:
  explicit InputStream(const std::string& path, std::ios::openmode mode = std::ios::in);
};

}  // namespace verbatim::supervisor
