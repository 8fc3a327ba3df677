#include "sim/supervisor/machine/limit_check.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/supervisor/machine/run_folder.h"
#include "sim/supervisor/spec/resource_limits.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// Soft limits are raised to the hard ones before a program starts, so the hard ones count.
struct Need {
  const char* name;
  __rlimit_resource resource;
  std::uint64_t least;
  std::uint64_t unit;  // unit in the sentence
  const char* what;
  const char* advice;
};

constexpr Need kNeeds[] = {
    {"descriptors", RLIMIT_NOFILE, protocol::kUsualDescriptors + protocol::kOwnDescriptors + kRoomForLaunching, 1, "open files",
     "the hard limit on open files is lower (ulimit -Hn); raise it"},
    // One program: its region, the shim's heap, and its own memory.
    {"address-space", RLIMIT_AS, protocol::kRegionSize + protocol::kSmallShimHeapSize + 256 * kMebibyte, kMebibyte,
     "MiB of address space for each program",
     "the hard limit on address space is lower (ulimit -Hv); raise it, the simulator needs as much for all programs "
     "together"},
    {"data", RLIMIT_DATA, protocol::kSmallShimHeapSize + 32 * kMebibyte, kMebibyte, "MiB of private memory for each program",
     "the hard limit on the data segment is lower (ulimit -Hd); raise it"},
    {"stack", RLIMIT_STACK, kStackLimit, kMebibyte, "MiB of stack for each program",
     "the hard limit on the stack is lower (ulimit -Hs); raise it"},
    // The region of a program is a sparse file.
    {"file-size", RLIMIT_FSIZE, protocol::kRegionSize, kMebibyte, "MiB for the largest file",
     "the hard limit on the size of files is lower (ulimit -Hf); raise it"},
};

// RLIMIT_NPROC counts all processes of the user, and does not apply to root. A limit of 8192 or more is not
// tested: its exhaustion is reported when it occurs.
int processes_missing() {
  constexpr rlim_t kEnough = 8192;
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur >= kEnough) return 0;
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  if (child < 0) return errno;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return 0;
}

}  // namespace

std::vector<Facility> check_limits() {
  std::vector<Facility> table;
  const auto add = [&](const char* name, std::string what, const std::string& lacking) {
    table.push_back({name, std::move(what), lacking.empty() ? Facility::State::kWorks : Facility::State::kMissing, lacking});
  };
  for (const Need& need : kNeeds) {
    rlimit limit{};
    getrlimit(need.resource, &limit);
    add(need.name, fmt::format("{} {}", need.least / need.unit, need.what), limit.rlim_max < need.least ? need.advice : "");
  }
  table.push_back({"layout-room", "17 TiB of address space can be reserved, so that libraries have the same addresses on every machine",
                   has_room_for_layout() ? Facility::State::kWorks : Facility::State::kOtherMeans,
                   has_room_for_layout() ? "" : "the hard limit on address space is lower (ulimit -Hv); libraries have other addresses, "
                                                "and runs are marked weak"});
  const std::string folder = temporary_folder();
  struct stat status;
  const bool is_folder = stat(folder.c_str(), &status) == 0 && (S_ISDIR(status.st_mode) || (errno = ENOTDIR, false));
  add("temporary-folder", "a run can make its folder in " + folder,
      is_folder && access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::string(std::strerror(errno)) + "; set TMPDIR to a folder that can be written");
  const int error = processes_missing();
  add("processes", "processes can be made",
      error == 0 ? "" : fmt::format("{}; raise the limit on processes (ulimit -u)", std::strerror(error)));
  return table;
}

}  // namespace verbatim::supervisor
