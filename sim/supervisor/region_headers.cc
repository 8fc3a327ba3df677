#include "sim/supervisor/region_headers.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "sim/core/rng.h"
#include "sim/supervisor/code/processor.h"
#include "sim/supervisor/scheduling/horizon.h"
#include "sim/supervisor/spec/resource_limits.h"
#include "verbs_shim/protocol/gate_calls.h"
#include "verbs_shim/protocol/reported_calls.h"

namespace verbatim::supervisor {

namespace {

// Clock that file systems use for time stamps.
std::int64_t machine_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t chosen_heap_size(bool may_be_large) {
  void* const reserved = may_be_large ? mmap(nullptr, protocol::kShimHeapSize, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                      : MAP_FAILED;
  if (reserved == MAP_FAILED) return protocol::kSmallShimHeapSize;
  munmap(reserved, protocol::kShimHeapSize);
  return protocol::kShimHeapSize;
}

// In a user namespace that does not map all ids, the kernel reports one overflow id in place of every
// unmapped id, root's included.
std::uint32_t unnamed(const std::string& kind) {
  std::uint64_t inside = 1, outside = 1, count = 0;
  std::ifstream("/proc/self/" + kind + "_map") >> inside >> outside >> count;
  constexpr std::uint64_t kAll = 0xffff'ffff;
  if (inside == 0 && outside == 0 && count == kAll) return 0;
  std::uint32_t number = 0;
  std::ifstream("/proc/sys/kernel/overflow" + kind) >> number;
  return number;
}

}  // namespace

void RegionHeaders::begin(bool reports_calls) {
  reports_calls_ = reports_calls;
  machine_began_ns_ = machine_time_ns();
  heap_size_ = chosen_heap_size(run_.options.machine.overcommit);
}

std::uint32_t RegionHeaders::requested_checks() const {
  constexpr std::uint32_t kReports =
      protocol::kReportsPlaces | protocol::kReportsCalls | protocol::kLetsUnknownCalls;
  const std::uint32_t reports = (run_.options.on_place ? protocol::kReportsPlaces : 0) |
                                (reports_calls_ ? protocol::kReportsCalls : 0) |
                                (run_.options.lets_unknown_calls_through ? protocol::kLetsUnknownCalls : 0);
  return (run_.options.checks & ~kReports) | reports;
}

void RegionHeaders::fill(ProcessRegion& region, std::uint32_t pid, std::uint32_t parent,
                         std::size_t host_index) {
  protocol::RegionHeader& header = region.header();
  const HostSpec& host = run_.hosts[host_index];
  const SupervisorOptions& options = run_.options;
  header.magic = protocol::kMagic;
  header.version = protocol::kVersion;
  header.region_header_size = sizeof header;
  header.virtual_pid = pid;
  header.parent_virtual_pid = parent;
  header.thread_count = 1;
  header.epoch_ns = options.epoch_ns;
  header.checks = requested_checks();
  header.late_accesses = options.late_accesses && run_.choices.is_free();
  header.timestamp_counter_hz = host.timestamp_counter_hz;
  header.costs = host.costs;
  header.own_effect_ps = to_ps(horizon_.own_effect(host_index));
  header.random_seed =
      Rng(options.seed, fmt::format("process/{}/instructions/{}", pid, random_stream_++)).next();
  header.extended_control = code::extended_control(host.instruction_set);
  header.traced_start = 1;
  // Replacing a system call instruction costs about as much as this many traps.
  constexpr std::uint32_t kTrapsOfRareCall = 16;
  header.traps_before_report = !options.machine.jumps ? 0 : options.machine.call_traps ? kTrapsOfRareCall : 1;
  header.shim_heap_size = heap_size_;
  header.own_descriptors = own_descriptors().at_first;
  header.own_descriptors_later = own_descriptors().later;
  header.descriptor_limit = host.open_files;
  header.machine_began_ns = machine_began_ns_;
  header.machine_user = run_.options.machine_files != nullptr ? 0 : geteuid();
  header.machine_group = run_.options.machine_files != nullptr ? 0 : getegid();
  static const std::uint32_t unnamed_user = unnamed("uid"), unnamed_group = unnamed("gid");
  header.unnamed_user = unnamed_user;
  header.unnamed_group = unnamed_group;
}

}  // namespace verbatim::supervisor
