#include "sim/supervisor/scheduling/waiting_times.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace verbatim::supervisor {

std::string place_in_files(int native_pid, std::uint64_t address) {
  std::ifstream maps(fmt::format("/proc/{}/maps", native_pid));
  std::string first_path;
  std::uint64_t first = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uint64_t from = 0, to = 0;
    char dash = 0;
    std::string access, offset, device, inode, path;
    words >> std::hex >> from >> dash >> to >> access >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    if (!path.empty() && path != first_path) {
      first_path = path;
      first = from;
    }
    if (address < from || address >= to) continue;
    if (path.empty()) break;
    return fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), address - first);
  }
  return fmt::format("{:#x}", address);
}

}  // namespace verbatim::supervisor
