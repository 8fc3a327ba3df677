// Virtual clocks: every clock counts from the run's fixed epoch; CPU-time clocks run with virtual time.
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "verbs_shim/protocol/clocks.h"
#include "verbs_shim/runtime/poll_entry.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"
#include "verbs_shim/runtime/reported_call.h"

namespace verbatim::shim {

namespace {

using protocol::kNsPerSecond;
using protocol::kUptimeNs;

timespec to_timespec(std::int64_t ns) { return {ns / kNsPerSecond, ns % kNsPerSecond}; }

// A CPU clock of a process or thread, named by its id (clock_getcpuclockid(3)): this process's, or none.
bool is_own_cpu_clock(long clock) {
  const auto id = static_cast<std::int32_t>(clock);
  constexpr std::int32_t kOfThread = 4, kKind = 3, kDescriptor = 3;
  if (id >= 0 || (id & kKind) == kDescriptor) return false;
  const auto number = static_cast<std::uint32_t>(~(id >> 3));
  if (number == 0 || (id & kOfThread) != 0) return true;
  return number == region_header().virtual_pid;
}

bool clock_base(long clock, std::int64_t* base_ns) {
  if (is_own_cpu_clock(clock)) clock = CLOCK_PROCESS_CPUTIME_ID;
  return protocol::clock_base(clock, region_header().epoch_ns, base_ns);
}

std::int64_t read_clock_ns(bool is_function = false) { return read_clock(costs().clock_read_ps, is_function) / 1000; }

}  // namespace

long clock_call(long number, const long (&a)[6], bool is_function) {
  switch (number) {
    case SYS_clock_gettime: {
      std::int64_t base;
      if (!clock_base(a[0], &base)) return -EINVAL;
      return write_program(a[1], to_timespec(base + read_clock_ns(is_function))) ? 0 : -EFAULT;
    }
    case SYS_clock_getres: {
      std::int64_t base;
      if (!clock_base(a[0], &base)) return -EINVAL;
      return write_if_asked(a[1], timespec{0, 1}) ? 0 : -EFAULT;
    }
    case SYS_gettimeofday: {
      const std::int64_t ns = region_header().epoch_ns + read_clock_ns(is_function);
      const timeval time{ns / kNsPerSecond, ns % kNsPerSecond / 1000};
      return write_if_asked(a[0], time) && write_if_asked(a[1], (struct timezone){}) ? 0 : -EFAULT;
    }
    case SYS_time: {
      const std::int64_t seconds = (region_header().epoch_ns + read_clock_ns()) / kNsPerSecond;
      return write_if_asked(a[0], seconds) ? seconds : -EFAULT;
    }
    case SYS_times: {
      const long ticks = read_clock_ns() / 10'000'000;  // 100 per second
      if (!write_if_asked(a[0], tms{ticks, 0, 0, 0})) return -EFAULT;
      return kUptimeNs / 10'000'000 + ticks;
    }
    default: {  // getrusage; children have used none, since computation takes no virtual time
      const auto who = static_cast<int>(a[0]);
      if (who != RUSAGE_SELF && who != RUSAGE_THREAD && who != RUSAGE_CHILDREN) return -EINVAL;
      const std::int64_t ns = who == RUSAGE_CHILDREN ? 0 : read_clock_ns();
      rusage usage;
      memset(&usage, 0, sizeof usage);
      usage.ru_utime = {ns / kNsPerSecond, ns % kNsPerSecond / 1000};
      return write_program(a[1], usage) ? 0 : -EFAULT;
    }
  }
}

}  // namespace verbatim::shim

// The most frequent calls are answered without a trap. Calls from within libc itself trap.
namespace {
// clock_gettime and gettimeofday by their symbols. On Linux these are no system calls either.
long read_by_symbol(long number, long a0, long a1) {
  verbatim::shim::CallReport report(verbatim::protocol::ReportedCallKind::kSystemCall,
                                     static_cast<std::uint32_t>(number), a0, a1);
  return report.ended(verbatim::shim::clock_call(number, {a0, a1}, true));
}

int to_errno(long result) {
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}
}  // namespace

extern "C" {

// On Linux the vDSO answers: a wrong address is a fault of the program.
__attribute__((used)) int verbatim_get_time(clockid_t clock, timespec* time) noexcept {
  if (!verbatim::shim::is_attached) {
    return to_errno(syscall(SYS_clock_gettime, clock, time) == 0 ? 0 : -errno);
  }
  timespec now;
  const long result = read_by_symbol(SYS_clock_gettime, clock, reinterpret_cast<long>(&now));
  if (result == 0) *time = now;
  return to_errno(result);
}

// Target of the program's calls unless another library interposes clock_gettime. It has a hidden name, so
// that nothing interposes it. The supervisor follows loops that only read a clock.
__attribute__((naked)) int verbatim_clock_gettime(clockid_t, timespec*) noexcept {
  POLL_ENTRY(verbatim_clock_gettime, "verbatim_get_time");
}

VERBATIM_EXPORT int clock_gettime(clockid_t clock, timespec* time) noexcept __attribute__((alias("verbatim_clock_gettime")));

// Loops that wait call time() and sched_yield() in every iteration.
VERBATIM_EXPORT time_t time(time_t* seconds) noexcept {
  if (!verbatim::shim::is_attached) return syscall(SYS_time, seconds);
  const long result = verbatim::shim::system_call(SYS_time, 0);
  if (seconds != nullptr) *seconds = result;
  return result;
}

__attribute__((used)) int verbatim_yield() noexcept {
  if (!verbatim::shim::is_attached) return static_cast<int>(syscall(SYS_sched_yield));
  verbatim::shim::CallReport report(verbatim::protocol::ReportedCallKind::kSystemCall, SYS_sched_yield);
  verbatim::shim::spend_on_yield();
  return report.ended(0);
}

__attribute__((naked)) int verbatim_sched_yield() noexcept { POLL_ENTRY(verbatim_sched_yield, "verbatim_yield"); }

VERBATIM_EXPORT int sched_yield() noexcept __attribute__((alias("verbatim_sched_yield")));

__attribute__((used)) int verbatim_get_time_of_day(timeval* time, void* zone) noexcept {
  if (!verbatim::shim::is_attached) return to_errno(syscall(SYS_gettimeofday, time, zone) == 0 ? 0 : -errno);
  return to_errno(read_by_symbol(SYS_gettimeofday, reinterpret_cast<long>(time), reinterpret_cast<long>(zone)));
}

__attribute__((naked)) int verbatim_gettimeofday(timeval*, void*) noexcept {
  POLL_ENTRY(verbatim_gettimeofday, "verbatim_get_time_of_day");
}

VERBATIM_EXPORT int gettimeofday(timeval* time, void* zone) noexcept __attribute__((alias("verbatim_gettimeofday")));

time_t verbatim_time(time_t* seconds) noexcept __attribute__((alias("time")));

}  // extern "C"
