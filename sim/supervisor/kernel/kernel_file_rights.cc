// Access rights of a thread to files in its host's own folders and to socket files. They follow Linux' rules
// with the owners that programs see, and do not depend on the user who runs the simulator.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/net/unix_socket.h"
#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/protocol/path_view.h"

namespace verbatim::supervisor {

namespace {

using protocol::PathUse;

// A file on the machine, with the owners that programs see.
struct Found {
  bool exists;
  std::uint32_t mode;
  UserId user, group;
};

// Files owned by the user who runs the simulator appear as root's.
Found find_file(const OwnFiles& files, const std::string& native) {
  struct stat status;
  if (lstat(native.c_str(), &status) != 0) return {false, 0, kRoot, kRoot};
  if (const OwnFile* own = files.find({status.st_dev, status.st_ino})) return {true, status.st_mode, own->user, own->group};
  return {true, status.st_mode, status.st_uid == geteuid() ? kRoot : status.st_uid,
          status.st_gid == getegid() ? kRoot : status.st_gid};
}

bool may(const Credentials& who, const Found& file, int wanted) { return who.may_use(file.user, file.group, file.mode, wanted); }

bool owns(const Credentials& who, const Found& file) {
  return file.user == who.users().file_system || who.may(kCapFowner);
}

bool changes_mode(std::uint32_t number) {
  return number == SYS_chmod || number == SYS_fchmod || number == SYS_fchmodat || number == protocol::kFchmodat2;
}

int wanted_by_open(std::int64_t flags) {
  if ((flags & O_PATH) != 0) return 0;
  const std::int64_t access = flags & O_ACCMODE;
  int wanted = access == O_RDONLY ? R_OK : access == O_WRONLY ? W_OK : R_OK | W_OK;
  if ((flags & O_TRUNC) != 0) wanted |= W_OK;
  return wanted;
}

bool sets_times(std::uint32_t number) {
  return number == SYS_utimensat || number == SYS_utime || number == SYS_utimes || number == SYS_futimesat;
}

// 0 or -errno for the removal of an existing name from its folder (Linux' may_delete()).
int error_of_removing(const Credentials& who, const Found& folder, const Found& file) {
  if (!may(who, folder, W_OK | X_OK)) return -EACCES;
  const bool is_sticky = (folder.mode & S_ISVTX) != 0;
  return is_sticky && !owns(who, file) && folder.user != who.users().file_system ? -EPERM : 0;
}

// True if fs.protected_hardlinks (1) allows a link to a file of another user.
bool is_safe_to_link(const Credentials& who, const Found& file) {
  const bool gives_group = (file.mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
  return S_ISREG(file.mode) && (file.mode & S_ISUID) == 0 && !gives_group && may(who, file, R_OK | W_OK);
}

// `argument`: flags of open; mode of access; for calls that set times, 1 if to the current time.
int error_of_use(const Credentials& who, const Found& file, std::uint32_t number, PathUse use, std::int64_t argument) {
  switch (use) {
    case PathUse::kLook: {
      const bool asks = protocol::checks_access(number);
      const bool reads = number == SYS_inotify_add_watch || number == SYS_getxattr || number == SYS_lgetxattr;
      const int wanted = asks ? static_cast<int>(argument & 7) : reads ? R_OK : 0;
      return may(who, file, wanted) ? 0 : -EACCES;
    }
    case PathUse::kOpen:
      if ((argument & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) return 0;  // the kernel returns EEXIST
      if ((argument & O_NOATIME) != 0 && !owns(who, file)) return -EPERM;
      return may(who, file, wanted_by_open(argument)) ? 0 : -EACCES;
    case PathUse::kExecute:
    case PathUse::kWorkIn:
      return may(who, file, X_OK) ? 0 : -EACCES;
    default:
      break;
  }
  if (number == SYS_fchdir) return may(who, file, X_OK) ? 0 : -EACCES;
  if (number == SYS_link || number == SYS_linkat) return owns(who, file) || is_safe_to_link(who, file) ? 0 : -EPERM;
  if (number == SYS_chown || number == SYS_lchown || number == SYS_fchownat) return 0;  // checked where owners are changed
  if (changes_mode(number)) return owns(who, file) ? 0 : -EPERM;
  if (!sets_times(number)) return may(who, file, W_OK) ? 0 : -EACCES;
  if (owns(who, file)) return 0;
  if (argument == 0) return -EPERM;
  return may(who, file, W_OK) ? 0 : -EACCES;
}

}  // namespace

CallOutcome sys_file_rights(CallContext& call) {
  const auto& a = call.arguments;
  const auto number = call.as_u32(0);
  const OwnFiles& files = call.host.own_files;
  const Credentials who = a[2] != 0 ? call.thread.credentials.of_real_user() : call.thread.credentials;
  const auto mailbox = call.process.region().mailbox(call.thread.slot());
  protocol::FileRights asked;
  static_assert(sizeof asked <= protocol::kMailboxSize);
  std::memcpy(&asked, mailbox.data(), sizeof asked);

  const auto find = [&](const std::string& path) { return find_file(files, path); };
  const protocol::PathCall* const row = protocol::path_call(number);
  for (int i = 0; i < 2 && (i == 0 || (row != nullptr && row->paths[i].path >= 0)); ++i) {
    const std::size_t begin = asked.begin[i];
    asked.native[i][protocol::kPathRoom - 1] = 0;
    std::string path = asked.native[i];
    if (begin == 0 || begin > path.size()) continue;
    while (path.size() > begin && path.back() == '/') path.pop_back();
    Found folder = {false, 0, kRoot, kRoot};
    for (std::size_t end = begin; end < path.size(); end = std::min(path.find('/', end + 1), path.size())) {
      folder = find(path.substr(0, end));
      if (!folder.exists || !S_ISDIR(folder.mode)) return Answer{0};  // the kernel returns the error
      if (!may(who, folder, X_OK)) return Answer{-EACCES};
    }
    const Found file = find(path);
    const PathUse use = row != nullptr ? row->paths[i].use : PathUse::kChange;
    int error = 0;
    if (use == PathUse::kMake || use == PathUse::kRemove) {
      if (!folder.exists) continue;  // the root of the own folder
      if (file.exists && (use == PathUse::kRemove || protocol::renames(number))) error = error_of_removing(who, folder, file);
      if (!file.exists && use == PathUse::kMake && !may(who, folder, W_OK | X_OK)) error = -EACCES;
      // Moving a folder changes its "..".
      if (error == 0 && use == PathUse::kRemove && protocol::renames(number) && S_ISDIR(file.mode) && !may(who, file, W_OK))
        error = -EACCES;
    } else if (file.exists) {
      const bool is_nameless = use == PathUse::kOpen && (call.flags(1) & O_TMPFILE) == O_TMPFILE;
      error = is_nameless ? (may(who, file, W_OK | X_OK) ? 0 : -EACCES) : error_of_use(who, file, number, use, a[1]);
    } else if (use == PathUse::kOpen && (call.flags(1) & O_CREAT) != 0 && folder.exists) {
      if (!may(who, folder, W_OK | X_OK)) error = -EACCES;
    }
    if (error != 0) return Answer{error};
    if (changes_mode(number) && file.exists && !who.is_in_group(file.group) && !who.may(kCapFsetId))
      return Answer{protocol::kClearsSetGroupId};
  }
  return Answer{0};
}

namespace {

// The name that programs see for a path on the machine, with links in its folders resolved.
std::string seen_name(const HostPaths& paths, const std::string& native) {
  const std::filesystem::path path(native), folder = canonical_folder(path.parent_path());
  return folder.empty() ? "" : paths.seen((folder / path.filename()).string());
}

}  // namespace

int error_of_socket_name(CallContext& call, std::span<const std::byte> name, bool makes) {
  const Credentials& who = call.thread.credentials;
  if (who.may(kCapDacOverride)) return 0;
  const auto named = path_of_unix_name(name);
  if (!named) return 0;
  const HostPaths& paths = call.host.paths;
  const std::string seen = seen_name(paths, call.process.native_path(AT_FDCWD, *named));
  if (seen.empty()) return 0;  // no such folder, or not one of the host's folders
  const OwnFiles& files = call.host.own_files;
  const auto find = [&](const std::string& path) { return find_file(files, paths.native(path)); };
  Found folder{false, 0, kRoot, kRoot};
  for (std::size_t end = seen.find('/', 1); end != std::string::npos; end = seen.find('/', end + 1)) {
    folder = find(seen.substr(0, end));
    if (!folder.exists || !S_ISDIR(folder.mode)) return 0;  // the call returns the error
    if (!may(who, folder, X_OK)) return -EACCES;
  }
  const Found file = find(seen);
  if (makes) return file.exists || !folder.exists || may(who, folder, W_OK | X_OK) ? 0 : -EACCES;
  return !file.exists || S_ISLNK(file.mode) || may(who, file, W_OK) ? 0 : -EACCES;
}

void own_socket_file(CallContext& call, std::span<const std::byte> name) {
  const auto named = path_of_unix_name(name);
  if (!named) return;
  const std::string native = call.process.native_path(AT_FDCWD, *named);
  struct stat status;
  if (lstat(native.c_str(), &status) != 0) return;
  OwnFiles& files = call.host.own_files;
  const UserId user = call.thread.credentials.users().file_system,
               group = call.thread.credentials.groups().file_system;
  // The file system may have reused the inode number of a deleted file of another owner.
  files.forget({status.st_dev, status.st_ino});
  if (user == kRoot) return;
  OwnFile& own = files.make({status.st_dev, status.st_ino});
  own.user = user;
  own.group = group;
}

}  // namespace verbatim::supervisor
