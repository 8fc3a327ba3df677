#include "sim/supervisor/trees/machine_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace verbatim::supervisor {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string target_of_link(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error);
}

std::string with_seen_number(const std::string& path, const std::function<std::uint64_t()>& number) {
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t end = std::min(path.find_first_not_of("0123456789", name + 1), path.size());
  const bool has_number = name < path.size() && path[name] == '#' && end > name + 1;
  if (!has_number || path.substr(end) != " (deleted)") return path;
  return path.substr(0, name) + fmt::format("#{}", number()) + path.substr(end);
}

}  // namespace verbatim::supervisor
