// Dispatch of one system call by its class in the table (protocol/system_call_table.h).
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "verbs_shim/protocol/remote_shell.h"
#include "verbs_shim/protocol/system_calls.h"
#include "verbs_shim/runtime/async_io.h"
#include "verbs_shim/runtime/attributes.h"
#include "verbs_shim/runtime/changing_code.h"
#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/file_events.h"
#include "verbs_shim/runtime/file_rights.h"
#include "verbs_shim/runtime/file_user.h"
#include "verbs_shim/runtime/folder_view.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/memory_calls.h"
#include "verbs_shim/runtime/memory_watch.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/real_file.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"
#include "verbs_shim/runtime/reported_call.h"

namespace verbatim::shim {

namespace {

using protocol::CallClass;
using protocol::Request;

// Whether a signal that the program sends itself can be left to the kernel: the program handles or ignores
// it. A signal that ends or stops the process concerns other processes, and one that a signalfd watches is
// kept until it is read.
bool stays_within(long signal) {
  if (signal < 1 || signal > 64) return true;
  const protocol::RegionHeader& header = region_header();
  if ((header.watched_signals.load(std::memory_order_relaxed) >> (signal - 1) & 1) != 0) return false;
  return header.dispositions[signal] != protocol::kSignalDefault || signal == SIGSYS || signal == SIGSEGV;
}

// A signal to the own thread or process is sent natively if stays_within() allows it; the supervisor sends
// all others.
long send_signal(long number, const long (&a)[6]) {
  const long pid = region_header().virtual_pid;
  const long tid = my_slot->virtual_tid;
  const bool whole_process = number == SYS_kill && a[0] == pid;
  const bool this_thread =
      (number == SYS_tgkill && a[0] == pid && a[1] == tid) || (number == SYS_tkill && a[0] == tid);
  const long signal = number == SYS_tgkill ? a[2] : a[1];
  if ((!whole_process && !this_thread) || !stays_within(signal)) {
    return exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), a);
  }
  spend(costs().system_call_ps);
  if (signal == 0) return 0;
  if (signal < 0 || signal > 64) return -EINVAL;
  return raise_here({.signal = static_cast<std::int32_t>(signal),
                     .code = whole_process ? SI_USER : SI_TKILL,
                     .sender = region_header().virtual_pid,
                     .to_thread = whole_process ? 0u : 1u,
                     .user = my_slot->user},
                    program_mask());
}

// sendfile to a simulated file copies through the thread's mailbox; to a real one the kernel copies.
long send_file(const long (&a)[6]) {
  if (is_virtual_fd(a[1])) return -EINVAL;
  if (!is_virtual_fd(a[0])) {
    const long sent = native(SYS_sendfile, a[0], a[1], a[2], a[3]);
    if (sent > 0 && is_own_file(a[0])) note_change({a[0], nullptr, true});
    return sent;
  }
  long at;
  if (a[2] == 0) {
    at = native(SYS_lseek, a[1], 0, SEEK_CUR);
  } else if (!read_program(a[2], at)) {
    return -EFAULT;
  }
  if (at < 0) return a[2] == 0 ? at : -EINVAL;
  long done = 0, result = 0;
  while (done < a[3]) {
    const long room =
        a[3] - done < static_cast<long>(protocol::kMailboxSize) ? a[3] - done : protocol::kMailboxSize;
    const long n = native(SYS_pread64, a[1], my_mailbox().bytes, room, at);
    result = n;
    if (n <= 0) break;
    result = exchange(Request::kSystemCall, SYS_write,
                      {a[0], reinterpret_cast<long>(my_mailbox().bytes), n, 0, 0, 0});
    if (result <= 0) break;
    done += result;
    at += result;
    if (result < n) break;
  }
  if (a[2] == 0) {
    native(SYS_lseek, a[1], at, SEEK_SET);
  } else if (!write_program(a[2], at)) {
    return -EFAULT;
  }
  return done > 0 ? done : result;
}

// The thread cannot have the record lock yet, or (`lock` is nullptr) waits no longer. Returns 0 or -EDEADLK.
long note_lock_wait(long fd, const struct flock* lock) {
  struct flock found = {};
  if (lock != nullptr) {
    found = *lock;
    if (native(SYS_fcntl, fd, F_GETLK, &found) != 0 || found.l_type == F_UNLCK || found.l_pid < 0) found.l_pid = 0;
  }
  return exchange(Request::kSystemCall, protocol::kLockWaitCall, {found.l_pid, 0, 0, 0, 0, 0});
}

// A lock on a real file is the kernel's, and is tried without waiting. A thread that finds it taken sleeps in
// virtual time with exponential backoff, because no thread may block in the kernel.
long wait_for_lock(long number, const long (&a)[6]) {
  const bool whole_file = number == SYS_flock;
  const long waiting = whole_file ? a[1] : a[1] == F_SETLKW ? F_SETLK : F_OFD_SETLK;
  constexpr long kShortest = 20'000, kLongest = 5'000'000;  // nanoseconds
  struct flock lock;  // copied when the call begins: other threads may change the program's
  const bool copied = !whole_file && read_program(a[2], lock);
  const long argument = copied ? reinterpret_cast<long>(&lock) : a[2];
  const bool of_process = waiting == F_SETLK && copied;  // deadlocks are detected for these locks only
  for (long pause = kShortest;; pause = pause * 2 < kLongest ? pause * 2 : kLongest) {
    spend(costs().system_call_ps);
    long result = native(number, a[0], whole_file ? waiting | LOCK_NB : waiting, argument);
    const bool is_taken = result == -EAGAIN || result == -EACCES;
    if (is_taken && of_process) {
      if (const long deadlock = note_lock_wait(a[0], &lock); deadlock != 0) return deadlock;
    }
    const timespec time = {0, pause};
    if (is_taken) result = exchange(Request::kSystemCall, SYS_nanosleep, {reinterpret_cast<long>(&time), 0, 0, 0, 0, 0});
    if (is_taken && result != -EINTR) continue;
    if (of_process && pause != kShortest) note_lock_wait(a[0], nullptr);
    return result;
  }
}

bool waits_for_lock(long number, const long (&a)[6]) {
  if (number == SYS_flock) return (a[1] & (LOCK_NB | LOCK_UN)) == 0;
  return number == SYS_fcntl && (a[1] == F_SETLKW || a[1] == F_OFD_SETLKW);
}

// A signalfd also reports signals that were pending before it was created. The kernel holds those; they are
// sent again through the supervisor.
long watch_signals(long number, const long (&a)[6]) {
  std::uint64_t set;
  const bool is_there = read_program(a[1], set);
  const long set_address = is_there ? reinterpret_cast<long>(&set) : a[1];
  const long fd = exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), {a[0], set_address, a[2], a[3], a[4], a[5]});
  if (fd < 0 || !is_there) return fd;
  siginfo_t info;
  const auto send = [&](long signal) {
    exchange(Request::kSystemCall, SYS_rt_tgsigqueueinfo,
             {static_cast<long>(region_header().virtual_pid), static_cast<long>(my_slot->virtual_tid), signal,
              reinterpret_cast<long>(&info), 0, 0});
  };
  while (const int signal = take_kept(set, &info)) send(signal);
  set &= pending_signals();
  const timespec no_time{0, 0};
  while (set != 0) {
    const long signal = native(SYS_rt_sigtimedwait, &set, &info, &no_time, sizeof set);
    if (signal < 0) break;
    send(signal);
  }
  return fd;
}

bool changes_content(long number) {
  switch (number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_ftruncate:
    case SYS_fallocate:
      return true;
    default:
      return false;
  }
}

bool changes_attributes(long number) { return number == SYS_fchmod || number == SYS_fsetxattr || number == SYS_fremovexattr; }

long change_attributes(long number, const long (&a)[6]) {
  const long rights = error_of_rights(number, a[0]);
  if (rights < 0) return rights;
  const AsFileUser user(number, is_own_file(a[0]));
  const long second = rights == protocol::kClearsSetGroupId ? a[1] & ~static_cast<long>(S_ISGID) : a[1];
  return native(number, a[0], second, a[2], a[3], a[4], a[5]);
}

long on_real_file(long number, const long (&a)[6]) {
  if (const long error = number == SYS_fchown ? error_of_descriptor(a[0]) : 0; error != 0) return error;
  if (number == SYS_fchown) return change_owner({a[0], nullptr, true}, is_own_file(a[0]), a[1], a[2]);
  if (number == SYS_fcntl || number == SYS_ioctl) return control_file(number, a);
  if (number == SYS_ftruncate) {
    const unsigned long page = huge_page_of_file(a[0]);
    if (page != 0 && static_cast<unsigned long>(a[1]) % page != 0) return -EINVAL;
  }
  const long result = changes_attributes(number) ? change_attributes(number, a)
                                                 : native(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (number == SYS_close) note_closed(a[0]);
  if (result < 0) {
    if (is_regular_file(a[0])) report_machine_error(number, result);  // /dev/full fails by itself
    return result;
  }
  if (number == SYS_fstat && !replace_device_attributes(number, a[1])) {
    is_own_file(a[0]) ? replace_attributes(number, a[1], {a[0], nullptr, true})
                      : replace_attributes_of_machine_file(number, a[0], a[1]);
  }
  if (number == SYS_fstatfs) replace_file_system_status(a[1], is_own_file(a[0]), huge_page_of_file(a[0]));
  if (changes_content(number) && is_own_file(a[0])) note_change({a[0], nullptr, true});
  return result;
}

// Mappings of the shim are refused: without them no call of the program would return.
long change_own_mapping(long number, const long (&a)[6]) {
  const auto at = [&](int i) { return static_cast<unsigned long>(a[i]); };
  const bool moves = number == SYS_mremap && (a[3] & MREMAP_FIXED) != 0;
  if (touches_shim(at(0), at(1)) || (number == SYS_mremap && touches_shim(at(0), at(2))) ||
      (moves && touches_shim(at(4), at(2)))) {
    return refuse_own_memory(number);
  }
  return change_mapping(number, a);
}

long work_in_descriptor(const long (&a)[6]) {
  if (const long error = error_of_rights(SYS_fchdir, a[0]); error != 0) return error;
  const AsFileUser user(SYS_fchdir, is_own_file(a[0]));
  const long result = native(SYS_fchdir, a[0]);
  if (result == 0) path_view().working_folder[0] = 0;
  return result;
}

// Memory never appears swapped to a program, so locking has no visible effect but the error for unmapped
// addresses. Locking natively (mlockall) would populate the shim's mappings, which are mostly unused.
long lock_memory(long number, const long (&a)[6]) {
  constexpr long kCurrent = 1, kFuture = 2, kOnFault = 4;  // MCL_*
  constexpr long kPage = 4096;
  switch (number) {
    case SYS_munlockall:
      return 0;
    case SYS_mlockall:
      return a[0] == 0 || a[0] == kOnFault || (a[0] & ~(kCurrent | kFuture | kOnFault)) != 0 ? -EINVAL : 0;
    default:
      if (number == SYS_mlock2 && (a[2] & ~1l) != 0) return -EINVAL;  // MLOCK_ONFAULT
      const auto start = static_cast<unsigned long>(a[0]), end = start + static_cast<unsigned long>(a[1]);
      if (end < start) return -EINVAL;
      const unsigned long first = start & ~static_cast<unsigned long>(kPage - 1);
      return native(SYS_msync, first, (end - first + kPage - 1) & ~static_cast<unsigned long>(kPage - 1), MS_ASYNC);
  }
}

long bound_of_priority(long policy, bool highest) {
  switch (policy) {
    case SCHED_FIFO:
    case SCHED_RR:
      return highest ? 99 : 1;
    case SCHED_OTHER:
    case SCHED_BATCH:
    case SCHED_IDLE:
    case 6:  // SCHED_DEADLINE
      return 0;
    default:
      return -EINVAL;
  }
}

long local_call(long number, const long (&a)[6], void* context) {
  switch (number) {
    case SYS_clock_gettime:
    case SYS_clock_getres:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_times:
    case SYS_getrusage:
      return clock_call(number, a);
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigpending:
    case SYS_sigaltstack:
      return signal_call(number, a, context);
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
      return send_signal(number, a);
    case SYS_prctl:
      return process_control(a);
    case SYS_sendfile:
      return send_file(a);
    case SYS_copy_file_range:
      return copy_file_range(a);
    case SYS_mincore:
    case SYS_membarrier:
    case SYS_memfd_create:
    case SYS_pkey_alloc:
    case SYS_pkey_free:
      return memory_call(number, a);
    default:
      break;
  }
  if (number == SYS_sched_yield) {
    spend_between_polls(costs().system_call_ps);
    return 0;
  }
  spend(costs().system_call_ps);
  switch (number) {
    case SYS_getcwd:
      return get_working_folder(a);
    case SYS_getpid:
      return region_header().virtual_pid;
    case SYS_gettid:
      return my_slot->virtual_tid;
    case SYS_mlock:
    case SYS_mlock2:
    case SYS_munlock:
    case SYS_mlockall:
    case SYS_munlockall:
      return lock_memory(number, a);
    case SYS_getppid:
      return region_header().parent_virtual_pid;
    case SYS_getcpu:
      return write_if_asked(a[0], 0u) && write_if_asked(a[1], 0u) ? 0 : -EFAULT;
    case SYS_sched_get_priority_max:
    case SYS_sched_get_priority_min:
      return bound_of_priority(a[0], number == SYS_sched_get_priority_max);
    default:  // sync: when data reaches the machine's disks is invisible
      return 0;
  }
}

// Whether the kernel may have accessed a file for the call. `of_virtual`: its first argument is a virtual
// descriptor.
bool may_touch_files(long number, const long (&arguments)[6], bool of_virtual) {
  switch (protocol::system_call(static_cast<std::uint64_t>(number)).call_class) {
    case CallClass::kPassing:  // munmap and mremap, where they trap
      return !trapped_only_by_watch_filter(number, arguments);
    case CallClass::kByPath:
      return true;
    case CallClass::kByDescriptor:
      return !of_virtual;
    case CallClass::kLocal:
      return number == SYS_sendfile || number == SYS_copy_file_range;
    case CallClass::kVirtual:
      return protocol::path_call(static_cast<std::uint64_t>(number)) != nullptr || number == SYS_dup2 || number == SYS_dup3 ||
             number == SYS_close_range;
    default:
      return false;
  }
}

long answer_call(long number, const long (&a)[6], void* context) {
  ++region_header().calls;
  region_header().last_call = static_cast<std::uint32_t>(number);
  if (number == VERBATIM_START_REMOTE_SHELL) return exchange(Request::kSystemCall, VERBATIM_START_REMOTE_SHELL, a);
  const protocol::SystemCall& call = protocol::system_call(static_cast<std::uint64_t>(number));
  switch (call.call_class) {
    case CallClass::kPassing:
      if (number == SYS_munmap || number == SYS_mremap) return change_own_mapping(number, a);
      return native(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    case CallClass::kByArgument:
      return call_by_argument(number, a);
    case CallClass::kLocal:
      return local_call(number, a, context);
    case CallClass::kByDescriptor:
      if (is_virtual_fd(static_cast<int>(a[0]))) break;
      if (is_shim_fd(static_cast<int>(a[0]))) return -EBADF;
      if (number == SYS_getdents64) return read_folder(a);
      if (waits_for_lock(number, a)) return wait_for_lock(number, a);
      if (number == SYS_fchdir) return work_in_descriptor(a);
      return on_real_file(number, a);
    case CallClass::kByPath:
      if (makes_device(number, a)) return refuse_argument(number, a[number == SYS_mknod ? 1 : 2], EPERM);
      return call_by_path(number, a);
    case CallClass::kByProtection:
      return maps_low(number, a) ? map_low(a) : map_code(number, a);
    case CallClass::kVirtual:
      if (protocol::path_call(static_cast<std::uint64_t>(number)) != nullptr) return call_by_path(number, a);
      if (number == SYS_ppoll || number == SYS_pselect6 || number == SYS_epoll_pwait ||
          number == SYS_epoll_pwait2 || number == SYS_io_pgetevents) {
        return wait_with_mask(number, a);
      }
      if (number == SYS_signalfd || number == SYS_signalfd4) return watch_signals(number, a);
      if (number == SYS_rt_sigsuspend || number == SYS_rt_sigtimedwait) return wait_for_signal(number, a);
      if (number == SYS_io_setup || number == SYS_io_destroy) return async_context_call(number, a);
      if (number == SYS_close_range) close_descriptors(a);
      break;
    case CallClass::kRefused:
      return exchange(Request::kRefused, static_cast<std::uint32_t>(number), a);
  }
  return exchange(Request::kSystemCall, static_cast<std::uint32_t>(number), a);
}

}  // namespace

long dispatch(long number, const long (&a)[6], void* context) {
  const bool of_virtual = is_virtual_fd(static_cast<int>(a[0]));
  CallReport report(protocol::ReportedCallKind::kSystemCall, static_cast<std::uint32_t>(number), a[0], a[1], a[2], a[3], a[4],
                    a[5]);
  const bool changes_code = has_changing_code();
  const unsigned long heap_end = (memory_is_watched() || changes_code) && number == SYS_brk ? end_of_heap() : 0;
  if (changes_code) [[unlikely]] prepare_code_for_call(number, a);
  long result = answer_call(number, a, context);
  if (changes_code) [[unlikely]] {
    if (result == -EFAULT && make_code_writable()) result = answer_call(number, a, context);
    follow_changed_mapping(number, a, result, heap_end);
  }
  if (memory_is_watched()) [[unlikely]] report_memory_gone(number, a, result, heap_end);
  if (files_are_watched() && may_touch_files(number, a, of_virtual)) report_file_events();
  return report.ended(result, result == kMakeCallAgain ? protocol::ReportedCallStep::kIsMadeAgain
                                                       : protocol::ReportedCallStep::kHasEnded);
}

}  // namespace verbatim::shim
