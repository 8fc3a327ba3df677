// Resource limits as programs see and set them (getrlimit(2)): the same for every first program, whatever the caller's are.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <string>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

// Where the shim's own descriptors lie in each process (protocol/layout.h), as far as the machine's limit lets them.
struct OwnDescriptors {
  int at_first, later;
};
OwnDescriptors own_descriptors();
// Above them: what a program inherits, on its way to its numbers.
inline constexpr rlim_t kRoomForLaunching = 128;

// Of each program's main thread, before it asks for another: bytes.
inline constexpr rlim_t kStackLimit = 8 << 20;

// Whether the machine's limit on address space lets addresses be taken so that libraries lie below protocol::kLibrariesEnd.
bool has_room_for_layout();

class ResourceLimits {
 public:
  // Those of a Linux host of 16 GiB with unlimited locked memory, as RDMA asks for it; `open_files`: RLIMIT_NOFILE, which a
  // program may raise to protocol::kMostDescriptors.
  explicit ResourceLimits(int open_files = protocol::kUsualDescriptors);

  static bool is_resource(std::int64_t resource) { return resource >= 0 && resource < RLIM_NLIMITS; }
  const rlimit& of(int resource) const { return limits_[static_cast<std::size_t>(resource)]; }
  // 0 or -errno; nothing changes natively.
  int set(int resource, const rlimit& limit);

  // The Linux process `pid` under the program gets those that the machine's kernel enforces: files' sizes, descriptors, the
  // stack, and memory, in which the shim's own mappings do not count. Its descriptors from `own_descriptors` on are the shim's.
  void enforce(pid_t pid, int own_descriptors) const;
  // RLIMIT_NOFILE, as far as there are numbers: those of new descriptors lie below it.
  int descriptors() const;

  // /proc/PID/limits.
  std::string text() const;

 private:
  std::array<rlimit, RLIM_NLIMITS> limits_;
};

}  // namespace verbatim::supervisor
