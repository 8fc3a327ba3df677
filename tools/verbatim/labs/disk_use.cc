#include "tools/verbatim/labs/disk_use.h"

#include <sys/stat.h>

#include <set>
#include <string>
#include <utility>

#include "sim/supervisor/machine/run_folder.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kBlock = 512;  // of st_blocks

std::uintmax_t bytes_of(const struct stat& status) { return static_cast<std::uintmax_t>(status.st_blocks) * kBlock; }

std::vector<fs::path> descriptors_of(pid_t process) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator at("/proc/" + std::to_string(process) + "/fd", error), end; !error && at != end; at.increment(error))
    all.push_back(at->path());
  return all;
}

}  // namespace

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, kOptions, error), end; !error && at != end; at.increment(error)) {
    struct stat status;
    if (::lstat(at->path().c_str(), &status) == 0) bytes += bytes_of(status);
  }
  return bytes;
}

std::uintmax_t bytes_of_run(const std::vector<pid_t>& processes) {
  struct stat disk;
  if (processes.empty() || ::stat(supervisor::temporary_folder().c_str(), &disk) != 0) return 0;
  std::uintmax_t bytes = 0;
  std::error_code error;
  // The process has the lock file in its run's folder open.
  for (const fs::path& descriptor : descriptors_of(processes.front())) {
    const fs::path folder = fs::read_symlink(descriptor, error).parent_path();
    if (!error && supervisor::is_run_folder(folder.filename().string())) bytes += bytes_below(folder);
  }
  std::set<ino_t> counted;
  for (const pid_t process : processes) {
    for (const fs::path& descriptor : descriptors_of(process)) {
      struct stat status;
      const bool is_deleted = ::stat(descriptor.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0;
      if (is_deleted && status.st_dev == disk.st_dev && counted.insert(status.st_ino).second) bytes += bytes_of(status);
    }
  }
  return bytes;
}

}  // namespace verbatim::cli
