#include "verbs_shim/runtime/folder_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "verbs_shim/runtime/attributes.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::PathUse;
using protocol::ViewedFile;
using protocol::ViewStep;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

long ask(ViewStep step, std::int64_t argument) {
  return ask_about_view(static_cast<std::int64_t>(step), argument);
}

std::int64_t use_of_open(long flags) {
  std::int64_t use = protocol::kViewOpens | protocol::kViewLists;
  if ((flags & O_ACCMODE) != O_RDONLY) use |= protocol::kViewWrites;
  if ((flags & O_TRUNC) != 0) use |= protocol::kViewEmpties;
  return use;
}

// A new folder has the block size of its file system as its size.
void take_size_of_new_folder(ViewedFile& file, std::uint32_t mode) {
  if (file.has_original != 0 || !S_ISDIR(mode)) return;
  file.seen_size = file.block_size;
  file.blocks = file.block_size / 512;
}

bool look(ViewedFile* files, long count) {
  memcpy(my_mailbox().bytes, files, static_cast<std::size_t>(count) * sizeof *files);
  if (ask(ViewStep::kLook, count) != 0) return false;
  memcpy(files, my_mailbox().bytes, static_cast<std::size_t>(count) * sizeof *files);
  return true;
}

}  // namespace

long prepare_in_view(char (&native_path)[kPathRoom], std::int64_t use) {
  memcpy(my_mailbox().bytes, native_path, strnlen(native_path, kPathRoom - 1) + 1);
  const long result = ask(ViewStep::kPrepare, use);
  if (result != protocol::kUseOriginal) return result;
  memcpy(native_path, my_mailbox().bytes, kPathRoom);
  native_path[kPathRoom - 1] = 0;
  return result;
}

long prepare_in_view(long number, const long (&a)[6], const protocol::PathCall& call, int i, char (&native_path)[kPathRoom]) {
  switch (call.paths[i].use) {
    case PathUse::kLook:
      return prepare_in_view(native_path, number == SYS_inotify_add_watch ? protocol::kViewLists : 0);
    case PathUse::kOpen:
      return prepare_in_view(native_path, use_of_open(number == SYS_creat ? O_WRONLY | O_TRUNC : a[call.flags]));
    case PathUse::kExecute:
      return prepare_in_view(native_path, protocol::kViewOpens);
    case PathUse::kWorkIn:
      return prepare_in_view(native_path, 0);
    case PathUse::kChange:
      return prepare_in_view(native_path, number == SYS_truncate ? protocol::kViewWrites | protocol::kViewOpens
                                                                 : std::int64_t{protocol::kViewLists});
    case PathUse::kMake:
    case PathUse::kRemove:
      return prepare_in_view(native_path, protocol::kViewLists | protocol::kViewNames);
  }
  return 0;
}

void note_shared_change(long number, const long (&a)[6], const protocol::PathCall& call, int i, const ResolvedPath& path) {
  if (path_view().has_written != 0 || !path.known || path.where == ResolvedPath::Where::kMoved) return;
  const PathUse use = call.paths[i].use;
  if (use == PathUse::kLook || use == PathUse::kExecute || use == PathUse::kWorkIn) return;
  if (use == PathUse::kOpen && number != SYS_creat && (a[call.flags] & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY) return;
  char folder[kPathRoom];
  if (!is_in_shared_folder(path.seen, folder)) return;
  path_view().has_written = 1;
  memcpy(my_mailbox().bytes, folder, strlen(folder) + 1);
  ask(ViewStep::kWritten, 0);
}

bool is_in_view(long fd) {
  if (path_view().has_views == 0) return false;
  char name[kPathRoom];
  return leads_into_view(fd, name);
}

void note_made_in_view(long fd, const char* native_path) {
  struct stat status;
  const long result = native_path == nullptr ? native(SYS_fstat, fd, &status)
                                             : native(SYS_newfstatat, AT_FDCWD, native_path, &status, AT_SYMLINK_NOFOLLOW);
  if (result != 0) return;
  const protocol::FileNumber made = {status.st_dev, status.st_ino, 0, 0};
  memcpy(my_mailbox().bytes, &made, sizeof made);
  ask(ViewStep::kMade, 0);
}

void replace_view_attributes(long number, long address) {
  if (number == SYS_statx) {
    struct statx status;
    if (!read_program(address, status)) return;
    ViewedFile file = {};
    file.device = makedev(status.stx_dev_major, status.stx_dev_minor);
    file.inode = status.stx_ino;
    file.size = static_cast<std::int64_t>(status.stx_size);
    file.modified_ns = status.stx_mtime.tv_sec * kNsPerSecond + status.stx_mtime.tv_nsec;
    if (!look(&file, 1)) return;
    take_size_of_new_folder(file, status.stx_mode);
    status.stx_dev_major = major(file.seen_device);
    status.stx_dev_minor = minor(file.seen_device);
    status.stx_ino = file.seen_inode;
    status.stx_size = static_cast<std::uint64_t>(file.seen_size);
    status.stx_blocks = static_cast<std::uint64_t>(file.blocks);
    status.stx_blksize = static_cast<std::uint32_t>(file.block_size);
    if (file.has_original != 0) status.stx_uid = file.user;
    if (file.has_original != 0) status.stx_gid = file.group;
    if (file.is_unchanged != 0) {
      status.stx_nlink = static_cast<std::uint32_t>(file.links);
      status.stx_ctime = {file.changed_ns / kNsPerSecond, static_cast<std::uint32_t>(file.changed_ns % kNsPerSecond), {}};
    }
    write_program(address, status);
    return;
  }
  struct stat status;
  if (!read_program(address, status)) return;
  ViewedFile file = {};
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.size = status.st_size;
  file.modified_ns = status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec;
  if (!look(&file, 1)) return;
  take_size_of_new_folder(file, status.st_mode);
  status.st_dev = file.seen_device;
  status.st_ino = file.seen_inode;
  status.st_size = file.seen_size;
  status.st_blocks = file.blocks;
  status.st_blksize = file.block_size;
  if (file.has_original != 0) status.st_uid = file.user;
  if (file.has_original != 0) status.st_gid = file.group;
  if (file.is_unchanged != 0) {
    status.st_nlink = file.links;
    status.st_ctim = {file.changed_ns / kNsPerSecond, file.changed_ns % kNsPerSecond};
  }
  write_program(address, status);
}

void replace_attributes_of_machine_file(long number, long fd, long address) {
  if (is_in_view(fd)) replace_view_attributes(number, address);
  replace_machine_attributes(number, address);
}

void replace_view_numbers(long folder, std::uint64_t** entries, long count) {
  struct stat status;
  if (native(SYS_fstat, folder, &status) != 0) return;
  const protocol::FileNumber listed = {status.st_dev, status.st_ino, 0, 0};
  memcpy(my_mailbox().bytes, &listed, sizeof listed);
  ask(ViewStep::kListed, 0);
  constexpr long kAtOnce = 64;
  ViewedFile files[kAtOnce];
  for (long from = 0; from < count; from += kAtOnce) {
    const long n = count - from < kAtOnce ? count - from : kAtOnce;
    memset(files, 0, sizeof files);
    for (long i = 0; i < n; ++i) {
      files[i].device = status.st_dev;
      files[i].inode = *entries[from + i];
    }
    if (!look(files, n)) return;
    for (long i = 0; i < n; ++i) *entries[from + i] = files[i].seen_inode;
  }
}

}  // namespace verbatim::shim
