// Processes as shown by /proc: parents, names, open files.
#pragma once

#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace verbatim::support {

// A process, identified also by its start time, because numbers are used again.
struct Process {
  pid_t pid = 0, parent = 0;
  char state = '?';
  std::string name;
  unsigned long long started = 0;
};

// pid 0: no such process.
inline Process process_of(pid_t pid) {
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);  // it may end meanwhile
  const std::size_t begin = stat.find('('), end = stat.rfind(')');
  if (end == std::string::npos) return {};
  Process process{.pid = pid, .name = stat.substr(begin + 1, end - begin - 1)};
  std::istringstream fields(stat.substr(end + 2));
  fields >> process.state >> process.parent;
  constexpr int kBetween = 17;  // the parent is field 4, the start time field 22
  std::string skipped;
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  fields >> process.started;
  return process;
}

// All descendants of `root`.
inline std::vector<Process> descendants_of(pid_t root) {
  std::map<pid_t, std::vector<Process>> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const Process process = process_of(pid);
    if (process.pid != 0) children[process.parent].push_back(process);
  }
  std::vector<Process> all = children[root];
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<Process>& below = children[all[i].pid];
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

// The open files of a process by descriptor, with the kernel's names: "anon_inode:[eventpoll]", "pipe:[123]".
// All eventfds have one name; the kernel's number of each is appended: "anon_inode:[eventfd] 7".
inline std::map<int, std::string> open_in(pid_t pid) {
  std::map<int, std::string> names;
  std::error_code error;
  const std::string folder = "/proc/" + std::to_string(pid);
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd", error)) {
    const std::string descriptor = entry.path().filename();
    std::string name = std::filesystem::read_symlink(entry.path(), error);
    if (name == "anon_inode:[eventfd]") {
      std::ifstream info(folder + "/fdinfo/" + descriptor);
      for (std::string key, value; info >> key >> value;) {
        if (key == "eventfd-id:") name += " " + value;
      }
    }
    names[std::atoi(descriptor.c_str())] = std::move(name);
  }
  return names;
}

}  // namespace verbatim::support
