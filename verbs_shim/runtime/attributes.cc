#include "verbs_shim/runtime/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "verbs_shim/runtime/file_events.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::FileNumber;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kLatestSecond = std::int64_t{1} << 33;  // nanoseconds since 1970 up to it fit into 64 bits
constexpr long kBlock = 4096;

// Conversion between virtual time and the shifted time that the file system stores.
timespec to_file_time(timespec time) { return {time.tv_sec - protocol::kFileTimeShift, time.tv_nsec}; }
timespec from_file_time(timespec time) { return {time.tv_sec + protocol::kFileTimeShift, time.tv_nsec}; }
bool is_machines(const timespec& time) { return time.tv_sec >= protocol::kFirstMachineTime; }

timespec now() {
  const std::int64_t ns = region_header().epoch_ns + my_slot->clock_ps / 1000;
  return {ns / kNsPerSecond, ns % kNsPerSecond};
}

// Sets access and change time. Programs only ever see the change time.
long set_native_times(const NativeFile& file, const timespec (&both)[2]) {
  return native(SYS_utimensat, file.path != nullptr ? AT_FDCWD : file.fd, file.path, both,
                file.path != nullptr && !file.follow ? AT_SYMLINK_NOFOLLOW : 0);
}

// Excluded from file events, because the runtime does it.
void keep_times(const NativeFile& file, timespec time) {
  const OwnFileWork own_work;
  set_native_times(file, {to_file_time(time), to_file_time(time)});
}

// Asks the supervisor for inode numbers and owners; at most as many files as the mailbox holds.
bool ask_numbers(FileNumber* numbers, long count, bool made) {
  memcpy(my_mailbox().bytes, numbers, static_cast<std::size_t>(count) * sizeof *numbers);
  if (exchange(protocol::Request::kSystemCall, protocol::kFileNumbersCall, {count, made ? 1 : 0, 0, 0, 0, 0}) != 0)
    return false;
  memcpy(numbers, my_mailbox().bytes, static_cast<std::size_t>(count) * sizeof *numbers);
  return true;
}

// Time of the last change as programs see it. A time that the file system has set itself is replaced by the
// present.
timespec change_time(timespec native_time, const NativeFile& file) {
  if (!is_machines(native_time)) return from_file_time(native_time);
  const timespec time = now();
  keep_times(file, time);
  return time;
}

long blocks_of(std::uint32_t mode, long size) {
  if (S_ISDIR(mode)) return kBlock / 512;
  return S_ISREG(mode) ? (size + kBlock - 1) / kBlock * (kBlock / 512) : 0;
}

long stat_native(const NativeFile& file, struct stat& status) {
  if (file.path == nullptr) return native(SYS_fstat, file.fd, &status);
  return native(SYS_newfstatat, AT_FDCWD, file.path, &status, file.follow ? 0 : AT_SYMLINK_NOFOLLOW);
}

// Files of the user who runs the simulator, and of users unknown to the kernel's user namespace, belong to
// root.
std::uint32_t user_seen(std::uint32_t user) {
  const protocol::RegionHeader& header = region_header();
  return user == header.machine_user || user == header.unnamed_user ? 0 : user;
}
std::uint32_t group_seen(std::uint32_t group) {
  const protocol::RegionHeader& header = region_header();
  return group == header.machine_group || group == header.unnamed_group ? 0 : group;
}

// Clears the fields that only some file systems fill, and those that newer kernels append (mount id,
// alignments).
void leave_basic(struct statx& status) {
  status.stx_mask &= STATX_BASIC_STATS;
  status.stx_attributes = status.stx_attributes_mask = 0;
  memset(&status.stx_btime, 0, sizeof status.stx_btime);
  constexpr std::size_t kBehind = offsetof(struct statx, stx_dev_minor) + sizeof status.stx_dev_minor;
  memset(reinterpret_cast<char*>(&status) + kBehind, 0, sizeof status - kBehind);
}

void replace_statx(long address, const NativeFile& file) {
  struct statx status;
  if (!read_program(address, status)) return;
  FileNumber number = {makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino, 0, 0};
  ask_numbers(&number, 1, false);
  const timespec time = change_time({status.stx_mtime.tv_sec, status.stx_mtime.tv_nsec}, file);
  leave_basic(status);
  status.stx_ino = number.inode;
  status.stx_uid = number.user;
  status.stx_gid = number.group;
  status.stx_dev_major = 0;
  status.stx_dev_minor = protocol::kOwnDevice;
  status.stx_blksize = kBlock;
  if (S_ISDIR(status.stx_mode)) {
    status.stx_size = kBlock;
    status.stx_nlink = 1;
  }
  status.stx_blocks = static_cast<std::uint64_t>(blocks_of(status.stx_mode, static_cast<long>(status.stx_size)));
  status.stx_mtime.tv_sec = time.tv_sec;
  status.stx_mtime.tv_nsec = static_cast<std::uint32_t>(time.tv_nsec);
  status.stx_atime = status.stx_ctime = status.stx_mtime;
  write_program(address, status);
}

void put_file_times(struct stat& status, timespec time) {
  status.st_atim = status.st_mtim = status.st_ctim = time;
}

}  // namespace

void replace_attributes(long number, long address, const NativeFile& file) {
  if (number == SYS_statx) return replace_statx(address, file);
  struct stat status;
  if (!read_program(address, status)) return;
  FileNumber asked = {status.st_dev, status.st_ino, 0, 0};
  ask_numbers(&asked, 1, false);
  put_file_times(status, change_time(status.st_mtim, file));
  status.st_ino = asked.inode;
  status.st_uid = asked.user;
  status.st_gid = asked.group;
  status.st_dev = protocol::kOwnDevice;
  status.st_blksize = kBlock;
  if (S_ISDIR(status.st_mode)) {
    status.st_size = kBlock;
    status.st_nlink = 1;
  }
  status.st_blocks = blocks_of(status.st_mode, status.st_size);
  write_program(address, status);
}

namespace {

// Whether a file of the machine has changed since the run began. Such times would differ between runs;
// programs see the start of virtual time instead. A time in the future was set explicitly and stays.
bool is_of_run(std::int64_t seconds, std::int64_t nanoseconds) {
  if (seconds < 0 || seconds >= kLatestSecond) return false;
  const std::int64_t changed = seconds * kNsPerSecond + nanoseconds;
  if (changed <= region_header().machine_began_ns) return false;
  timespec present{};
  return native(SYS_clock_gettime, CLOCK_REALTIME, &present) == 0 && changed <= present.tv_sec * kNsPerSecond + present.tv_nsec;
}

void hide_time_of_run(timespec& time) {
  if (!is_of_run(time.tv_sec, time.tv_nsec)) return;
  const std::int64_t epoch = region_header().epoch_ns;
  time = {epoch / kNsPerSecond, epoch % kNsPerSecond};
}

void hide_time_of_run(statx_timestamp& time) {
  timespec of_run{time.tv_sec, time.tv_nsec};
  hide_time_of_run(of_run);
  time.tv_sec = of_run.tv_sec;
  time.tv_nsec = static_cast<std::uint32_t>(of_run.tv_nsec);
}

}  // namespace

void replace_machine_attributes(long number, long address) {
  if (number == SYS_statx) {
    struct statx status;
    if (!read_program(address, status)) return;
    status.stx_uid = user_seen(status.stx_uid);
    status.stx_gid = group_seen(status.stx_gid);
    hide_time_of_run(status.stx_mtime);
    hide_time_of_run(status.stx_ctime);
    status.stx_atime = status.stx_mtime;
    leave_basic(status);
    write_program(address, status);
    return;
  }
  struct stat status;
  if (!read_program(address, status)) return;
  status.st_uid = user_seen(status.st_uid);
  status.st_gid = group_seen(status.st_gid);
  hide_time_of_run(status.st_mtim);
  hide_time_of_run(status.st_ctim);
  status.st_atim = status.st_mtim;
  write_program(address, status);
}

// A new owner: set-user-id and set-group-id bits of a program no longer apply.
static void clear_set_ids(const NativeFile& file, std::uint32_t mode) {
  if (S_ISDIR(mode) || S_ISLNK(mode)) return;
  constexpr std::uint32_t kPermissions = 07777, kRunsAsGroup = S_ISGID | S_IXGRP;
  const std::uint32_t cleared = S_ISUID | ((mode & kRunsAsGroup) == kRunsAsGroup ? S_ISGID : 0u);
  if ((mode & cleared) == 0) return;
  const OwnFileWork own_work;
  const long left = static_cast<long>(mode & kPermissions & ~cleared);
  file.path != nullptr ? native(SYS_chmod, file.path, left) : native(SYS_fchmod, file.fd, left);
}

long change_owner(const NativeFile& file, bool own, long user, long group) {
  struct stat status;
  const long found = stat_native(file, status);
  if (found != 0) return found;
  const FileNumber number = {status.st_dev, status.st_ino, user_seen(status.st_uid), group_seen(status.st_gid)};
  memcpy(my_mailbox().bytes, &number, sizeof number);
  const long result =
      exchange(protocol::Request::kSystemCall, protocol::kFileOwnerCall, {user, group, own ? 1 : 0, 0, 0, 0});
  if (result == 0 && own) clear_set_ids(file, status.st_mode);
  // Reports IN_ATTRIB to watchers: the kernel does not see a change of the virtual owner.
  if (result == 0 && own && (static_cast<int>(user) != -1 || static_cast<int>(group) != -1) && files_are_watched())
    set_native_times(file, {status.st_mtim, status.st_mtim});
  return result;
}

long access_as_root(const char* path, long wanted) {
  struct stat status;
  const long found = stat_native({-1, path, true}, status);
  if (found != 0) return found;
  constexpr unsigned kAnyExecutes = S_IXUSR | S_IXGRP | S_IXOTH;
  return (wanted & X_OK) != 0 && !S_ISDIR(status.st_mode) && (status.st_mode & kAnyExecutes) == 0 ? -EACCES : 0;
}

bool open_to_owner(const char* path, std::uint32_t* mode) {
  struct stat status;
  if (stat_native({-1, path, true}, status) != 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) return false;
  constexpr std::uint32_t kPermissions = 07777;
  *mode = status.st_mode & kPermissions;
  const std::uint32_t open = *mode | S_IRUSR | S_IWUSR | (S_ISDIR(status.st_mode) ? S_IXUSR : 0u);
  const OwnFileWork own_work;
  return open != *mode && native(SYS_chmod, path, open) == 0;
}

bool replace_device_attributes(long number, long address) {
  if (number != SYS_fstat && number != SYS_newfstatat) return false;
  struct stat status;
  if (!read_program(address, status) || !S_ISCHR(status.st_mode) || major(status.st_rdev) != 1) return false;
  const unsigned kind = minor(status.st_rdev);
  const char* const path = kind == 3   ? "/dev/null"
                           : kind == 5 ? "/dev/zero"
                           : kind == 7 ? "/dev/full"
                                       : nullptr;
  if (path == nullptr) return false;
  const std::uint64_t device = status.st_rdev;
  memset(&status, 0, sizeof status);
  status.st_dev = protocol::kTreeDevice;
  status.st_ino = protocol::number_of_path(path, strlen(path));
  status.st_mode = S_IFCHR | 0666;
  status.st_nlink = 1;
  status.st_rdev = device;
  status.st_blksize = kBlock;
  put_file_times(status, {region_header().epoch_ns / kNsPerSecond, 0});
  write_program(address, status);
  return true;
}

void replace_file_system_status(long address, bool own, unsigned long huge_page) {
  constexpr long kTmpfs = 0x01021994, kHugetlbfs = 0x958458f6, kExt = 0xef53, kBlocks = 1l << 22;
  struct statfs status;
  memset(&status, 0, sizeof status);
  status.f_type = huge_page != 0 ? kHugetlbfs : own ? kTmpfs : kExt;
  status.f_bsize = status.f_frsize = huge_page != 0 ? static_cast<long>(huge_page) : kBlock;
  status.f_blocks = kBlocks;
  status.f_bfree = status.f_bavail = kBlocks / 2;
  status.f_files = kBlocks;
  status.f_ffree = kBlocks / 2;
  status.f_namelen = 255;
  status.f_fsid.__val[0] = own ? protocol::kOwnDevice : protocol::kTreeDevice;
  write_program(address, status);
}

void note_change(const NativeFile& file) { keep_times(file, now()); }

namespace {

void copy_folder_of(const char* path, char (&folder)[kPathRoom]) {
  std::size_t size = strnlen(path, kPathRoom - 1);
  memcpy(folder, path, size);
  while (size > 1 && folder[size - 1] == '/') --size;
  while (size > 1 && folder[size - 1] != '/') --size;
  folder[size] = 0;
}

// A file made in a set-group-id folder gets the folder's group. The kernel has kept the mode bit of an executable
// file, because the simulator's user may be in the machine's group; a program's user may not be in the folder's.
void take_group_of_folder(const NativeFile& file, const struct stat& status, const struct stat& folder) {
  FileNumber numbers[2] = {{status.st_dev, status.st_ino, 0, 0}, {folder.st_dev, folder.st_ino, 0, 0}};
  memcpy(my_mailbox().bytes, numbers, sizeof numbers);
  const long is_stranger = exchange(protocol::Request::kSystemCall, protocol::kFileNumbersCall, {1, 1, 1, 0, 0, 0});
  constexpr std::uint32_t kRunsAsGroup = S_ISGID | S_IXGRP;
  if (is_stranger != 1 || S_ISDIR(status.st_mode) || (status.st_mode & kRunsAsGroup) != kRunsAsGroup) return;
  const OwnFileWork own_work;
  const long mode = status.st_mode & 07777 & ~S_ISGID;
  file.path == nullptr ? native(SYS_fchmod, file.fd, mode) : native(SYS_chmod, file.path, mode);
}

}  // namespace

void note_folder_of(const char* path) {
  char folder[kPathRoom];
  copy_folder_of(path, folder);
  note_change({-1, folder, true});
}

void note_made(const NativeFile& file, const char* native_path, bool is_nameless) {
  struct stat status, folder;
  if (stat_native(file, status) != 0) return;
  char name[kPathRoom];
  if (!is_nameless) copy_folder_of(native_path, name);
  const bool found = stat_native({-1, is_nameless ? native_path : name, true}, folder) == 0;
  if (found && (folder.st_mode & S_ISGID) != 0) {
    take_group_of_folder(file, status, folder);
  } else {
    FileNumber number = {status.st_dev, status.st_ino, 0, 0};
    ask_numbers(&number, 1, true);
  }
  note_change(file);
}

long set_times(long number, long times, const NativeFile& file) {
  constexpr timespec kOmitted = {0, UTIME_OMIT};
  timespec wanted = now();
  bool of_access = true;
  if (times != 0 && number == SYS_utimensat) {
    timespec both[2];
    if (!read_program(times, both)) return -EFAULT;
    for (const timespec& one : both) {
      if (one.tv_nsec != UTIME_NOW && one.tv_nsec != UTIME_OMIT && (one.tv_nsec < 0 || one.tv_nsec >= kNsPerSecond))
        return -EINVAL;
    }
    of_access = both[0].tv_nsec != UTIME_OMIT;
    if (both[1].tv_nsec == UTIME_OMIT) {  // the access time is the change time
      struct stat status;
      return of_access ? set_native_times(file, {to_file_time(wanted), kOmitted}) : stat_native(file, status);
    }
    if (both[1].tv_nsec != UTIME_NOW) wanted = both[1];
  } else if (times != 0 && number == SYS_utime) {
    utimbuf both;
    if (!read_program(times, both)) return -EFAULT;
    wanted = {both.modtime, 0};
  } else if (times != 0) {
    timeval both[2];
    if (!read_program(times, both)) return -EFAULT;
    if (both[1].tv_usec < 0 || both[1].tv_usec >= 1'000'000) return -EINVAL;
    wanted = {both[1].tv_sec, both[1].tv_usec * 1000};
  }
  return set_native_times(file, {of_access ? to_file_time(wanted) : kOmitted, to_file_time(wanted)});
}

void replace_entry_numbers(long folder, std::uint64_t** entries, long count) {
  struct stat status;
  if (native(SYS_fstat, folder, &status) != 0) return;
  constexpr long kAtOnce = 64;
  FileNumber numbers[kAtOnce];
  for (long from = 0; from < count; from += kAtOnce) {
    const long n = count - from < kAtOnce ? count - from : kAtOnce;
    for (long i = 0; i < n; ++i) numbers[i] = {status.st_dev, *entries[from + i], 0, 0};
    ask_numbers(numbers, n, false);
    for (long i = 0; i < n; ++i) *entries[from + i] = numbers[i].inode;
  }
}

}  // namespace verbatim::shim
