#include "sim/supervisor/machine/path_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <system_error>

#include "sim/core/open_file.h"

namespace verbatim::supervisor {

bool is_below(const std::string& path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

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

std::string canonical_folder(const std::string& path) {
  // One system call, where the library needs one per component.
  if (const int fd = open_file(path, O_PATH | O_DIRECTORY | O_CLOEXEC); fd >= 0) {
    char name[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = readlink(link.c_str(), name, sizeof name);
    close(fd);
    if (length > 0 && length < static_cast<ssize_t>(sizeof name)) return std::string(name, static_cast<std::size_t>(length));
  }
  std::error_code error;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
  return error ? "" : found.string();
}

}  // namespace verbatim::supervisor
