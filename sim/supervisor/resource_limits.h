// Resource limits as programs see and set them (getrlimit(2)): the same for every first program, whatever the caller's are.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <string>

namespace verbatim::supervisor {

class ResourceLimits {
 public:
  // Those of a Linux host of 16 GiB with unlimited locked memory, as RDMA asks for it.
  ResourceLimits();

  static bool is_resource(std::int64_t resource) { return resource >= 0 && resource < RLIM_NLIMITS; }
  const rlimit& of(int resource) const { return limits_[static_cast<std::size_t>(resource)]; }
  // 0 or -errno; nothing changes natively.
  int set(int resource, const rlimit& limit);

  // The Linux process `pid` under the program gets those that the machine's kernel enforces: files' sizes, descriptors, the
  // stack, and memory, in which the shim's own mappings do not count.
  void enforce(pid_t pid) const;

  // /proc/PID/limits.
  std::string text() const;

 private:
  std::array<rlimit, RLIM_NLIMITS> limits_;
};

}  // namespace verbatim::supervisor
