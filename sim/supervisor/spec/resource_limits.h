// Resource limits as programs see and set them (getrlimit(2)); the same for every first program,
// whatever the caller's are.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <string>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

// First number of the shim's own descriptors in a process (protocol/layout.h), as far as the machine's limit
// permits: at the start, and after they have moved because the program raised RLIMIT_NOFILE.
struct OwnDescriptors {
  int at_first, later;
};
OwnDescriptors own_descriptors();
// Number of descriptors above the shim's own ones that a launch needs for inherited descriptors.
inline constexpr rlim_t kRoomForLaunching = 128;

// Stack limit of a program's main thread, bytes, until it changes it.
inline constexpr rlim_t kStackLimit = 8 << 20;

// Whether the machine's limit on address space permits taking the addresses above protocol::kLibrariesEnd.
bool has_room_for_layout();

class ResourceLimits {
 public:
  // Limits of a Linux host with 16 GiB and unlimited locked memory, as RDMA requires; `open_files`:
  // RLIMIT_NOFILE, which a program may raise to protocol::kMostDescriptors.
  explicit ResourceLimits(int open_files = protocol::kUsualDescriptors);

  static bool is_resource(std::int64_t resource) { return resource >= 0 && resource < RLIM_NLIMITS; }
  const rlimit& of(int resource) const { return limits_[static_cast<std::size_t>(resource)]; }
  // Returns 0 or -errno; changes nothing natively.
  int set(int resource, const rlimit& limit);

  // Sets the limits that the Linux kernel enforces for process `pid`: file size, descriptors, stack, and
  // memory without the shim's own mappings. Descriptors from `own_descriptors` on are the shim's.
  void enforce(pid_t pid, int own_descriptors) const;
  // RLIMIT_NOFILE, at most protocol::kMostDescriptors. New descriptors have lower numbers.
  int descriptors() const;

  // /proc/PID/limits.
  std::string text() const;

 private:
  std::array<rlimit, RLIM_NLIMITS> limits_;
};

}  // namespace verbatim::supervisor
