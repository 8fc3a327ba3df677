#include "verbs_shim/runtime/real_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs_shim/protocol/async_io.h"
#include "verbs_shim/protocol/path_view.h"
#include "verbs_shim/runtime/attributes.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/memory_calls.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

long native_call(long number, const long (&a)[6]) { return native(number, a[0], a[1], a[2], a[3], a[4], a[5]); }

// F_GETLK: replaces the native pid of the lock's holder by the virtual one.
long ask_lock(const long (&a)[6]) {
  const long result = native_call(SYS_fcntl, a);
  struct flock lock;
  if (result != 0 || !read_program(a[2], lock) || lock.l_type == F_UNLCK || lock.l_pid <= 0) return result;
  lock.l_pid = static_cast<pid_t>(
      exchange(protocol::Request::kSystemCall, protocol::kLockHolderCall, {lock.l_pid, 0, 0, 0, 0, 0}));
  return write_program(a[2], lock) ? 0 : -EFAULT;
}

long control_by_fcntl(const long (&a)[6]) {
  const auto command = static_cast<int>(a[1]);
  constexpr int kReadWriteHint = 1035, kLastHint = 1038;  // F_GET_RW_HINT …
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return duplicate_from(a);
    case F_GETFD:
    case F_SETFD:
    case F_GETFL:
    case F_SETFL:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
    case F_ADD_SEALS:
    case F_GET_SEALS:
    case F_SETPIPE_SZ:
    case F_GETPIPE_SZ:
      return native_call(SYS_fcntl, a);
    case F_GETLK:
      return ask_lock(a);
    default:
      break;
  }
  if (const long error = error_of_descriptor(a[0]); error != 0) return error;
  switch (command) {
    case F_GETOWN:
    case F_GETSIG:
      return 0;
    case F_GETLEASE:
      return F_UNLCK;
    default:
      if (command >= kReadWriteHint && command <= kLastHint) return -EINVAL;
      return refuse_argument(SYS_fcntl, command, EINVAL);  // F_SETOWN and others that send signals
  }
}

long control_by_ioctl(const long (&a)[6]) {
  const auto request = static_cast<unsigned>(a[1]);
  switch (request) {
    case FIOCLEX:
    case FIONCLEX:
    case FIONBIO:
    case FIONREAD:
      return native_call(SYS_ioctl, a);
    default:
      break;
  }
  if (const long error = error_of_descriptor(a[0]); error != 0) return error;
  switch (request) {
    case FICLONE:
    case FICLONERANGE:
    case FIDEDUPERANGE:
    case FS_IOC_FIEMAP:
      return -EOPNOTSUPP;  // as on a file system without support
    case FS_IOC_GETFLAGS:
      return -ENOTTY;
    default:
      constexpr unsigned kOfTerminals = 'T';
      return (request >> 8 & 0xff) == kOfTerminals ? -ENOTTY : refuse_argument(SYS_ioctl, request, ENOTTY);
  }
}

// One end of a copy: its file and offset.
struct CopyEnd {
  long fd, offset_address, offset;
  bool begin() {
    if (offset_address != 0) return read_program(offset_address, offset);
    offset = native(SYS_lseek, fd, 0, SEEK_CUR);
    return true;
  }
  bool finish() const {
    if (offset_address != 0) return write_program(offset_address, offset);
    native(SYS_lseek, fd, offset, SEEK_SET);
    return true;
  }
};

// Error of copy_file_range(2). The kernel's own result would depend on the file system of the run's folder.
long why_not_copied(const long (&a)[6]) {
  struct stat from, to;
  const long in = native(SYS_fstat, a[0], &from), out = native(SYS_fstat, a[2], &to);
  if (in < 0 || out < 0) return in < 0 ? in : out;
  if (S_ISDIR(from.st_mode) || S_ISDIR(to.st_mode)) return -EISDIR;
  if (!S_ISREG(from.st_mode) || !S_ISREG(to.st_mode)) return -EINVAL;
  const long reads = native(SYS_fcntl, a[0], F_GETFL), writes = native(SYS_fcntl, a[2], F_GETFL);
  if ((reads & O_ACCMODE) == O_WRONLY || (writes & O_ACCMODE) == O_RDONLY || (writes & O_APPEND) != 0) return -EBADF;
  return 0;
}

}  // namespace

long error_of_descriptor(long fd) {
  const long flags = native(SYS_fcntl, fd, F_GETFL);
  if (flags < 0) return flags;
  return (flags & O_PATH) != 0 ? -EBADF : 0;
}

long control_file(long number, const long (&a)[6]) {
  if (native(SYS_fcntl, a[0], F_GETFD) < 0) return -EBADF;  // not all requests reach the kernel
  return number == SYS_fcntl ? control_by_fcntl(a) : control_by_ioctl(a);
}

long copy_file_range(const long (&a)[6]) {
  spend(costs().system_call_ps);
  for (const long fd : {a[0], a[2]}) {
    if (is_shim_fd(static_cast<int>(fd))) return -EBADF;
    if (is_virtual_fd(static_cast<int>(fd))) return -EINVAL;
  }
  if (a[5] != 0) return -EINVAL;
  if (const long error = why_not_copied(a); error != 0) return error;
  CopyEnd from = {a[0], a[1], 0}, to = {a[2], a[3], 0};
  if (!from.begin() || !to.begin()) return -EFAULT;
  if (from.offset < 0 || to.offset < 0 || a[4] < 0) return -EINVAL;
  long done = 0, result = 0;
  while (done < a[4]) {
    const long room = a[4] - done < static_cast<long>(protocol::kMailboxSize) ? a[4] - done : protocol::kMailboxSize;
    result = native(SYS_pread64, from.fd, my_mailbox().bytes, room, from.offset);
    if (result > 0) result = native(SYS_pwrite64, to.fd, my_mailbox().bytes, result, to.offset);
    if (result <= 0) break;
    done += result;
    from.offset += result;
    to.offset += result;
  }
  if (!from.finish() || !to.finish()) return -EFAULT;
  if (done > 0 && is_own_file(to.fd)) note_change({to.fd, nullptr, true});
  if (result < 0) report_machine_error(SYS_copy_file_range, result);
  return done > 0 ? done : result;
}

long splice_file(const long (&a)[6], std::int64_t most) {
  using protocol::Request;
  constexpr std::int64_t kRoom = protocol::kMailboxSize - protocol::kTransfersAt;
  const auto bytes = reinterpret_cast<long>(my_mailbox().bytes + protocol::kTransfersAt);
  const bool from_file = !is_virtual_fd(static_cast<int>(a[0]));
  CopyEnd end = {from_file ? a[0] : a[2], from_file ? a[1] : a[3], 0};
  if (!from_file && (native(SYS_fcntl, end.fd, F_GETFL) & O_APPEND) != 0) return -EINVAL;
  if (!end.begin()) return -EFAULT;
  if (end.offset < 0) return -EINVAL;
  long done = 0, n = 0;
  while (done < most) {
    const long length = most - done < kRoom ? most - done : kRoom;
    n = from_file ? native(SYS_pread64, end.fd, bytes, length, end.offset)
                  : exchange(Request::kSystemCall, SYS_read, {a[0], bytes, length, 0, 0, 0});
    if (n <= 0) break;
    n = from_file ? exchange(Request::kSystemCall, SYS_write, {a[2], bytes, n, 0, 0, 0})
                  : native(SYS_pwrite64, end.fd, bytes, n, end.offset);
    if (n <= 0) break;
    done += n;
    end.offset += n;
    if (n < length) break;
  }
  if (!end.finish()) return -EFAULT;
  if (done > 0 && !from_file && is_own_file(end.fd)) note_change({end.fd, nullptr, true});
  return done > 0 ? done : n;
}

bool is_regular_file(long fd) {
  struct stat status;
  return native(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode);
}

bool makes_device(long number, const long (&a)[6]) {
  if (number != SYS_mknod && number != SYS_mknodat) return false;
  const long mode = a[number == SYS_mknod ? 1 : 2];
  return S_ISCHR(mode) || S_ISBLK(mode);
}

}  // namespace verbatim::shim
