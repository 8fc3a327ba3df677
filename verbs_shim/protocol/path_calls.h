// System calls that name files by paths: the arguments that are paths, the descriptors from which they start,
// and whether a symbolic link at the end is followed. Shim and supervisor both find paths by this table.
#pragma once

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

#include <cstdint>

namespace verbatim::protocol {

enum class Follow : std::uint8_t {
  kAlways,
  kNever,
  kUnless,  // unless `flag` is set in the flags
  kIf,      // if `flag` is set
  kOpen,    // as open(2): unless O_NOFOLLOW, or O_CREAT with O_EXCL, is set
};

// Effect of a call on the file at a path.
enum class PathUse : std::uint8_t {
  kLook,    // reads attributes, a link, or file system data
  kOpen,
  kExecute,
  kWorkIn,  // chdir
  kChange,  // changes content or attributes
  kMake,    // creates a name
  kRemove,  // removes a name
};

struct PathArgument {
  std::int8_t path = -1;    // index of the argument; -1: none
  std::int8_t folder = -1;  // index of the directory descriptor for relative paths; -1: the working directory
  Follow follow = Follow::kAlways;
  PathUse use = PathUse::kLook;
};

struct PathCall {
  std::uint16_t number;
  PathArgument paths[2];
  std::int8_t flags = -1;  // index of the flags argument
  std::int32_t flag = 0;   // for Follow::kUnless and kIf
};

inline constexpr std::uint16_t kFchmodat2 = 452;  // Linux 6.6, missing from some headers
inline constexpr int kNoFollow = AT_SYMLINK_NOFOLLOW;

inline constexpr PathCall kPathCalls[] = {
    {SYS_open, {{0, -1, Follow::kOpen, PathUse::kOpen}}, 1},
    {SYS_openat, {{1, 0, Follow::kOpen, PathUse::kOpen}}, 2},
    {SYS_creat, {{0, -1, Follow::kAlways, PathUse::kOpen}}},
    {SYS_stat, {{0}}},
    {SYS_lstat, {{0, -1, Follow::kNever}}},
    {SYS_newfstatat, {{1, 0, Follow::kUnless}}, 3, kNoFollow},
    {SYS_statx, {{1, 0, Follow::kUnless}}, 2, kNoFollow},
    {SYS_access, {{0}}},
    {SYS_faccessat, {{1, 0}}},
    {SYS_faccessat2, {{1, 0, Follow::kUnless}}, 3, kNoFollow},
    {SYS_readlink, {{0, -1, Follow::kNever}}},
    {SYS_readlinkat, {{1, 0, Follow::kNever}}},
    {SYS_statfs, {{0}}},
    {SYS_getxattr, {{0}}},
    {SYS_lgetxattr, {{0, -1, Follow::kNever}}},
    {SYS_listxattr, {{0}}},
    {SYS_llistxattr, {{0, -1, Follow::kNever}}},
    {SYS_inotify_add_watch, {{1, -1, Follow::kUnless}}, 2, IN_DONT_FOLLOW},
    {SYS_chdir, {{0, -1, Follow::kAlways, PathUse::kWorkIn}}},
    {SYS_execve, {{0, -1, Follow::kAlways, PathUse::kExecute}}},
    {SYS_execveat, {{1, 0, Follow::kUnless, PathUse::kExecute}}, 4, kNoFollow},
    {SYS_truncate, {{0, -1, Follow::kAlways, PathUse::kChange}}},
    {SYS_chmod, {{0, -1, Follow::kAlways, PathUse::kChange}}},
    {SYS_fchmodat, {{1, 0, Follow::kAlways, PathUse::kChange}}},
    {kFchmodat2, {{1, 0, Follow::kUnless, PathUse::kChange}}, 3, kNoFollow},
    {SYS_chown, {{0, -1, Follow::kAlways, PathUse::kChange}}},
    {SYS_lchown, {{0, -1, Follow::kNever, PathUse::kChange}}},
    {SYS_fchownat, {{1, 0, Follow::kUnless, PathUse::kChange}}, 4, kNoFollow},
    {SYS_utime, {{0, -1, Follow::kAlways, PathUse::kChange}}},
    {SYS_utimes, {{0, -1, Follow::kAlways, PathUse::kChange}}},
    {SYS_futimesat, {{1, 0, Follow::kAlways, PathUse::kChange}}},
    {SYS_utimensat, {{1, 0, Follow::kUnless, PathUse::kChange}}, 3, kNoFollow},
    {SYS_setxattr, {{0, -1, Follow::kAlways, PathUse::kChange}}},
    {SYS_lsetxattr, {{0, -1, Follow::kNever, PathUse::kChange}}},
    {SYS_removexattr, {{0, -1, Follow::kAlways, PathUse::kChange}}},
    {SYS_lremovexattr, {{0, -1, Follow::kNever, PathUse::kChange}}},
    {SYS_mkdir, {{0, -1, Follow::kNever, PathUse::kMake}}},
    {SYS_mkdirat, {{1, 0, Follow::kNever, PathUse::kMake}}},
    {SYS_mknod, {{0, -1, Follow::kNever, PathUse::kMake}}},
    {SYS_mknodat, {{1, 0, Follow::kNever, PathUse::kMake}}},
    {SYS_symlink, {{1, -1, Follow::kNever, PathUse::kMake}}},
    {SYS_symlinkat, {{2, 1, Follow::kNever, PathUse::kMake}}},
    {SYS_link, {{0, -1, Follow::kNever, PathUse::kChange}, {1, -1, Follow::kNever, PathUse::kMake}}},
    {SYS_linkat, {{1, 0, Follow::kIf, PathUse::kChange}, {3, 2, Follow::kNever, PathUse::kMake}}, 4,
     AT_SYMLINK_FOLLOW},
    {SYS_unlink, {{0, -1, Follow::kNever, PathUse::kRemove}}},
    {SYS_unlinkat, {{1, 0, Follow::kNever, PathUse::kRemove}}},
    {SYS_rmdir, {{0, -1, Follow::kNever, PathUse::kRemove}}},
    {SYS_rename, {{0, -1, Follow::kNever, PathUse::kRemove}, {1, -1, Follow::kNever, PathUse::kMake}}},
    {SYS_renameat, {{1, 0, Follow::kNever, PathUse::kRemove}, {3, 2, Follow::kNever, PathUse::kMake}}},
    {SYS_renameat2, {{1, 0, Follow::kNever, PathUse::kRemove}, {3, 2, Follow::kNever, PathUse::kMake}}},
};

// nullptr: the call names no files.
constexpr const PathCall* path_call(std::uint64_t number) {
  for (const PathCall& call : kPathCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

constexpr bool checks_access(std::uint64_t number) {
  return number == SYS_access || number == SYS_faccessat || number == SYS_faccessat2;
}
constexpr bool renames(std::uint64_t number) {
  return number == SYS_rename || number == SYS_renameat || number == SYS_renameat2;
}

template <class Arguments>
constexpr bool follows(const PathCall& call, const PathArgument& argument, const Arguments& a) {
  const auto flags = call.flags < 0 ? 0 : static_cast<std::int64_t>(a[call.flags]);
  switch (argument.follow) {
    case Follow::kAlways:
      return true;
    case Follow::kNever:
      return false;
    case Follow::kUnless:
      return (flags & call.flag) == 0;
    case Follow::kIf:
      return (flags & call.flag) != 0;
    case Follow::kOpen:
      return (flags & O_NOFOLLOW) == 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
  }
  return true;
}

}  // namespace verbatim::protocol
