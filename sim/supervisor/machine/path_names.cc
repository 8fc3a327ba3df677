#include "sim/supervisor/machine/path_names.h"

#include <algorithm>

namespace verbatim::supervisor {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    if (end > start) parts.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::string parent_of(const std::string& path) {
  return path.empty() ? path : path.substr(0, path.rfind('/'));
}

std::string normal_path(const std::string& path) {
  std::string done;
  for (const std::string& part : parts_of(path)) {
    if (part == "..") {
      done = parent_of(done);
    } else if (part != ".") {
      done += "/" + part;
    }
  }
  return done;
}

}  // namespace verbatim::supervisor
