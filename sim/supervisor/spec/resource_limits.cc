#include "sim/supervisor/spec/resource_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {

constexpr rlim_t kMostProcesses = 63'704;  // as Linux computes it for 16 GiB
constexpr rlim_t kQueueBytes = 819'200;

// Address space and data of the shim's mappings.
constexpr rlim_t kShimImages = 64 << 20;
constexpr rlim_t kShimData = protocol::kShimHeapSize + kShimImages;
constexpr rlim_t kShimSpace = kShimData + protocol::kRegionSize;

constexpr rlim_t kTaken = protocol::kTakenEnd - protocol::kTakenBegin;
constexpr rlim_t kRoomForProgram = rlim_t{64} << 30;

rlim_t with_room(rlim_t limit, rlim_t room) { return limit > RLIM_INFINITY - room ? RLIM_INFINITY : limit + room; }

void enforce_one(pid_t pid, __rlimit_resource resource, rlim_t soft) {
  rlimit limit{};
  if (prlimit(pid, resource, nullptr, &limit) != 0) return;
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  prlimit(pid, resource, &limit, nullptr);
}

}  // namespace

bool has_room_for_layout() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_max >= kTaken + kShimSpace + kRoomForProgram;
}

OwnDescriptors own_descriptors() {
  static const rlim_t machines = [] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_max;
  }();
  const rlim_t most = std::max<rlim_t>(machines, protocol::kOwnDescriptors + kRoomForLaunching);
  const auto first = std::min<rlim_t>(protocol::kUsualDescriptors, most - protocol::kOwnDescriptors);
  const auto later = std::min<rlim_t>(protocol::kMostDescriptors, most - kRoomForLaunching);
  return {static_cast<int>(first), static_cast<int>(std::max(first, later))};
}

ResourceLimits::ResourceLimits(int open_files) {
  limits_.fill({RLIM_INFINITY, RLIM_INFINITY});
  limits_[RLIMIT_STACK].rlim_cur = kStackLimit;
  limits_[RLIMIT_CORE].rlim_cur = 0;
  limits_[RLIMIT_NOFILE] = {static_cast<rlim_t>(open_files), protocol::kMostDescriptors};
  limits_[RLIMIT_NPROC] = limits_[RLIMIT_SIGPENDING] = {kMostProcesses, kMostProcesses};
  limits_[RLIMIT_MSGQUEUE] = {kQueueBytes, kQueueBytes};
  limits_[RLIMIT_NICE] = limits_[RLIMIT_RTPRIO] = {0, 0};
}

int ResourceLimits::set(int resource, const rlimit& limit) {
  if (limit.rlim_cur > limit.rlim_max) return -EINVAL;
  rlimit& own = limits_[static_cast<std::size_t>(resource)];
  if (resource == RLIMIT_NOFILE && limit.rlim_max > own.rlim_max) return -EPERM;
  own = limit;
  return 0;
}

int ResourceLimits::descriptors() const {
  return static_cast<int>(std::min<rlim_t>(of(RLIMIT_NOFILE).rlim_cur, protocol::kMostDescriptors));
}

void ResourceLimits::enforce(pid_t pid, int own_descriptors) const {
  enforce_one(pid, RLIMIT_NOFILE, static_cast<rlim_t>(std::min(descriptors(), own_descriptors)));
  enforce_one(pid, RLIMIT_FSIZE, of(RLIMIT_FSIZE).rlim_cur);
  enforce_one(pid, RLIMIT_STACK, of(RLIMIT_STACK).rlim_cur);
  enforce_one(pid, RLIMIT_DATA, with_room(of(RLIMIT_DATA).rlim_cur, kShimData));
  enforce_one(pid, RLIMIT_AS, with_room(of(RLIMIT_AS).rlim_cur, kShimSpace + (has_room_for_layout() ? kTaken : 0)));
}

std::string ResourceLimits::text() const {
  struct Row {
    int resource;
    const char *name, *unit;
  };
  static constexpr Row kRows[] = {{RLIMIT_CPU, "Max cpu time", "seconds"},
                                  {RLIMIT_FSIZE, "Max file size", "bytes"},
                                  {RLIMIT_DATA, "Max data size", "bytes"},
                                  {RLIMIT_STACK, "Max stack size", "bytes"},
                                  {RLIMIT_CORE, "Max core file size", "bytes"},
                                  {RLIMIT_RSS, "Max resident set", "bytes"},
                                  {RLIMIT_NPROC, "Max processes", "processes"},
                                  {RLIMIT_NOFILE, "Max open files", "files"},
                                  {RLIMIT_MEMLOCK, "Max locked memory", "bytes"},
                                  {RLIMIT_AS, "Max address space", "bytes"},
                                  {RLIMIT_LOCKS, "Max file locks", "locks"},
                                  {RLIMIT_SIGPENDING, "Max pending signals", "signals"},
                                  {RLIMIT_MSGQUEUE, "Max msgqueue size", "bytes"},
                                  {RLIMIT_NICE, "Max nice priority", ""},
                                  {RLIMIT_RTPRIO, "Max realtime priority", ""},
                                  {RLIMIT_RTTIME, "Max realtime timeout", "us"}};
  const auto value = [](rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit); };
  std::string text = fmt::format("{:<25} {:<20} {:<20} {:<10}\n", "Limit", "Soft Limit", "Hard Limit", "Units");
  for (const Row& row : kRows) {
    const rlimit& limit = of(row.resource);
    text += fmt::format("{:<25} {:<20} {:<20} {:<10}\n", row.name, value(limit.rlim_cur), value(limit.rlim_max), row.unit);
  }
  return text;
}

}  // namespace verbatim::supervisor
