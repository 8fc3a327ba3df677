#include "tests/support/leftovers.h"

#include <filesystem>

#include "tests/support/verbatim_run.h"

namespace verbatim::support {

namespace fs = std::filesystem;

std::set<pid_t> marked_processes(const std::string& mark) {
  std::set<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string state = text_of_file("/proc/" + name + "/stat");
    const std::size_t end = state.rfind(')');
    if (end == std::string::npos || state.compare(end + 2, 1, "Z") == 0) continue;
    const std::string text =
        text_of_file("/proc/" + name + "/environ") + text_of_file("/proc/" + name + "/cmdline");
    if (text.find(mark) != std::string::npos) found.insert(std::stoi(name));
  }
  return found;
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) names.insert(entry.path().filename());
  return names;
}

}  // namespace verbatim::support
