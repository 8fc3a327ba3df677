#include "verbs_shim/runtime/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

int own() { return region_header().own_descriptors; }

void limit_kernel(unsigned long soft, unsigned long hard) {
  const rlimit limit = {soft, hard};
  native(SYS_setrlimit, RLIMIT_NOFILE, &limit);
}

// Moves the shim's descriptors above the program's, once. The kernel enlarges its table for that, which takes
// milliseconds in a process with threads, and some 600 KiB. False: no higher range is available.
bool move_own_descriptors() {
  protocol::RegionHeader& header = region_header();
  const int from = own(), to = header.own_descriptors_later;
  if (from >= to) return false;
  rlimit limit = {};
  native(SYS_getrlimit, RLIMIT_NOFILE, &limit);
  limit_kernel(limit.rlim_max, limit.rlim_max);
  for (int i = 0; i < protocol::kKeptDescriptors; ++i) {
    if (native(SYS_dup3, from + i, to + i, O_CLOEXEC) >= 0) continue;
    limit_kernel(limit.rlim_cur, limit.rlim_max);
    return false;
  }
  for (int i = 0; i < protocol::kKeptDescriptors; ++i) native(SYS_close, from + i);
  header.own_descriptors = to;
  const int wanted = header.descriptor_limit;
  limit_kernel(static_cast<unsigned long>(wanted < to ? wanted : to), limit.rlim_max);
  return true;
}

// Whether the kernel's table has room for the number `fd`.
bool has_place(long fd) {
  if (fd >= own()) move_own_descriptors();
  return fd < own();
}

// The machine's descriptor limit is below the program's.
long refused_by_machine(long number) {
  exchange(protocol::Request::kMachine, static_cast<std::uint32_t>(number), {EMFILE, 0, 0, 0, 0, 0});
  return -EMFILE;
}

void mark_closed_by_exec(long fd, bool closes) {
  auto& word = high_descriptors().close_on_exec[fd / 64];
  const std::uint64_t bit = 1ull << (fd % 64);
  closes ? word.fetch_or(bit, std::memory_order_relaxed) : word.fetch_and(~bit, std::memory_order_relaxed);
}

bool is_closed_by_exec(long fd) {
  return (high_descriptors().close_on_exec[fd / 64].load(std::memory_order_relaxed) >> (fd % 64) & 1) != 0;
}

}  // namespace

void reserve_descriptor(std::int64_t fd, bool close_on_exec) {
  if (fd < 0 || fd >= protocol::kMostDescriptors) return;
  if (!has_place(fd)) return mark_closed_by_exec(fd, close_on_exec);
  native(SYS_dup3, own() + protocol::kPlaceholderFd, fd, close_on_exec ? O_CLOEXEC : 0);
}

void release_descriptor(std::int64_t fd) {
  if (fd < own()) native(SYS_close, fd);
}

long fetch_passed_file(bool close_on_exec) {
  char byte;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const long n = native(SYS_recvmsg, own() + protocol::kPassageFd, &message,
                        MSG_DONTWAIT | (close_on_exec ? MSG_CMSG_CLOEXEC : 0));
  if (n < 0 || message.msg_controllen < CMSG_LEN(sizeof(int))) return n < 0 ? n : -EMFILE;
  int got;
  memcpy(&got, control + CMSG_LEN(0), sizeof got);
  return got;
}

void take_passed_file(std::int64_t fd, bool close_on_exec) {
  if (!has_place(fd)) refused_by_machine(SYS_recvmsg);
  const long got = fetch_passed_file(close_on_exec);
  if (got < 0 || got == fd) return;
  native(SYS_dup3, got, fd, close_on_exec ? O_CLOEXEC : 0);
  native(SYS_close, got);
}

long call_with_room(long number, const long (&a)[6]) {
  while (true) {
    const long result = native(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result != -EMFILE || region_header().descriptor_limit <= own()) return result;
    if (!move_own_descriptors()) return refused_by_machine(number);
  }
}

long call_on_number(long number, const long (&a)[6]) {
  switch (number) {
    case SYS_dup:
      return call_with_room(number, a);
    case SYS_dup2:
    case SYS_dup3:
      if (!has_place(static_cast<int>(a[1]))) return refused_by_machine(number);
      break;
    case SYS_fcntl: {
      const auto fd = static_cast<int>(a[0]);
      if (fd < own() || !is_virtual_fd(fd)) break;
      if (a[1] == F_GETFD) return is_closed_by_exec(fd) ? FD_CLOEXEC : 0;
      if (a[1] != F_SETFD) return -EINVAL;
      mark_closed_by_exec(fd, (a[2] & FD_CLOEXEC) != 0);
      return 0;
    }
    case SYS_ioctl: {
      const auto fd = static_cast<int>(a[0]);
      const auto request = static_cast<unsigned>(a[1]);
      if (fd < own() || !is_virtual_fd(fd) || (request != FIOCLEX && request != FIONCLEX)) break;
      mark_closed_by_exec(fd, request == FIOCLEX);
      return 0;
    }
    default:
      break;
  }
  return native(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

long duplicate_from(const long (&a)[6]) {
  const auto least = static_cast<unsigned>(a[2]);
  if (least < static_cast<unsigned>(region_header().descriptor_limit) && !has_place(least))
    return refused_by_machine(SYS_fcntl);
  return call_with_room(SYS_fcntl, a);
}

void close_descriptors(const long (&a)[6]) {
  const auto first = static_cast<std::uint32_t>(a[0]), last = static_cast<std::uint32_t>(a[1]);
  if ((a[2] & ~static_cast<long>(CLOSE_RANGE_CLOEXEC)) != 0 || first > last) return;
  const auto end = static_cast<std::uint32_t>(own());
  if (first < end) native(SYS_close_range, first, last < end ? last : end - 1, a[2]);
  if (a[2] == 0) return note_closed(first);
  const auto unknown = static_cast<std::uint32_t>(region_header().own_descriptors_later);
  for (std::uint32_t fd = first < unknown ? unknown : first; fd <= last && fd < protocol::kMostDescriptors; ++fd) {
    if (is_virtual_fd(fd)) mark_closed_by_exec(fd, true);
  }
}

// A plain load and store suffice: one thread runs at a time.
void note_closed(long fd) {
  auto& least = region_header().least_closed;
  if (fd >= 0 && fd < least.load(std::memory_order_relaxed)) {
    least.store(static_cast<std::int32_t>(fd), std::memory_order_relaxed);
  }
}

long move_out_of_the_way(long fd) {
  if (fd < 0) return fd;
  const long moved = native(SYS_fcntl, fd, F_DUPFD_CLOEXEC, own() + protocol::kKeptDescriptors);
  if (moved < 0) return fd;
  native(SYS_close, fd);
  return moved;
}

AnyDescriptor::AnyDescriptor() {
  rlimit limit = {};
  native(SYS_getrlimit, RLIMIT_NOFILE, &limit);
  before_[0] = limit.rlim_cur;
  before_[1] = limit.rlim_max;
  limit_kernel(limit.rlim_max, limit.rlim_max);
}

AnyDescriptor::~AnyDescriptor() { limit_kernel(before_[0], before_[1]); }

}  // namespace verbatim::shim
