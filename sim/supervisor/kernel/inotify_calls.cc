// inotify(7) calls; see files/inotify_file.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/kernel/inotify_calls.h"
#include "sim/supervisor/kernel/memory_calls.h"
#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint32_t kEveryBit = IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_ISDIR | IN_ONLYDIR |
                                    IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD | IN_ONESHOT;

// Watches a file of the host's own folders with root's rights, independent of the user who runs the
// simulator: a file without read permission becomes readable for the duration of the call.
int watch_as_root(InotifyFile& file, const std::string& path, std::uint32_t mask) {
  const int number = file.watch_own(path, mask);
  struct stat status;
  if (number != -EACCES || lstat(path.c_str(), &status) != 0 || S_ISLNK(status.st_mode)) return number;
  constexpr mode_t kPermissions = 07777;
  if (chmod(path.c_str(), (status.st_mode & kPermissions) | S_IRUSR) != 0) return number;
  const int again = file.watch_own(path, mask);
  chmod(path.c_str(), status.st_mode & kPermissions);
  return again;
}

}  // namespace

std::shared_ptr<FileWatches> make_file_watches(ProcessTable& table, std::size_t index) {
  return std::make_shared<FileWatches>([&table, index](bool on) {
    for (const auto& process : table.processes()) {
      if (process->alive && process->host_index() == index)
        process->region().header().watches_files = on ? 1 : 0;
    }
  });
}

// The runtime has made the supervisor fetch events; delivers them.
CallOutcome sys_file_events(CallContext& call) {
  call.host.file_watches->deliver();
  return Answer{0};
}

CallOutcome sys_inotify_init(CallContext& call) {
  const std::int64_t flags = call.number == SYS_inotify_init1 ? call.as_int(0) : 0;
  if ((flags & ~std::int64_t{IN_CLOEXEC | IN_NONBLOCK}) != 0) return Answer{-EINVAL};
  const auto& watches = call.host.file_watches;
  if (watches->instances() >= FileWatches::kMostInstances) return Answer{-EMFILE};
  return call.install(std::make_shared<InotifyFile>(watches), (flags & IN_NONBLOCK) != 0);
}

namespace {

Answer watch_unchanging(CallContext& call, InotifyFile& file, const std::string& name,
                        const std::string& path, std::uint32_t mask) {
  const std::string shown = path.substr(0, path.find_last_not_of('/') + 1);
  call.warn(fmt::format("{} is not in one of the host's own folders, so inotify reports no changes of it",
                        shown.empty() ? "/" : shown));
  return {file.watch_unchanging(name, mask)};
}

// Watches a real file or folder; `path` as programs see it.
Answer watch_real(CallContext& call, InotifyFile& file, const std::string& path, std::uint32_t mask) {
  if (!path.starts_with('/')) return {-ENOENT};  // the working folder was removed
  const std::string native = call.host.paths.native_in_use(path);
  if (native != path) {
    const OwnFileWork own_work(*call.host.file_watches);
    const int number = watch_as_root(file, native, mask);
    const bool is_limit = call.host.file_watches->watches() >= FileWatches::kMostWatches;
    if (number == -EMFILE || number == -ENOMEM || (number == -ENOSPC && !is_limit)) {
      call.warn(fmt::format("the machine refused inotify_add_watch: {}; the result depends on this machine",
                            strerrordesc_np(-number)),
                true);
    }
    return {number};
  }
  struct stat status;
  const bool follow = (mask & IN_DONT_FOLLOW) == 0;
  if ((follow ? stat(path.c_str(), &status) : lstat(path.c_str(), &status)) != 0) return {-errno};
  if ((mask & IN_ONLYDIR) != 0 && !S_ISDIR(status.st_mode)) return {-ENOTDIR};
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS | (follow ? 0 : AT_SYMLINK_NOFOLLOW)) != 0) return {-errno};
  return watch_unchanging(call, file, fmt::format("{}/{}", status.st_dev, status.st_ino), path, mask);
}

}  // namespace

CallOutcome sys_inotify_add_watch(CallContext& call, HostTrees& trees) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto mask = call.as_u32(2);
  if ((mask & kEveryBit) == 0) return Answer{-EINVAL};
  int error;
  const auto file = call.file_of_kind<InotifyFile>(call.arguments[0], -EINVAL, &error);
  if (file == nullptr) return Answer{error};
  if ((mask & IN_MASK_ADD) != 0 && (mask & IN_MASK_CREATE) != 0) return Answer{-EINVAL};
  const protocol::PathCall& row = *protocol::path_call(call.number);
  const auto path = whole_path(call, row.paths[0], &error);
  if (!path) {
    const bool is_empty = process.memory().load_string(call.address(1), protocol::kPathRoom).has_value();
    return Answer{is_empty ? -ENOENT : -EFAULT};
  }
  const TreeWalk found = trees.walk(call.thread, *path, protocol::follows(row, row.paths[0], a));
  if (!found.entered) return watch_real(call, *file, *path, mask);
  if (const CallOutcome answer = missing(call, trees, 0, found)) return answer;
  if (found.end != TreeWalk::End::kDescriptor) {
    if ((mask & IN_ONLYDIR) != 0 && found.node->kind != VirtualNode::Kind::kFolder) return Answer{-ENOTDIR};
    return watch_unchanging(call, *file, found.path, found.path, mask);
  }
  Process& owner = owner_of(call, found);
  if (!may_look_into(call.thread, owner)) return Answer{-EACCES};
  std::error_code failed;
  const std::string link = native_descriptor(process, owner, found.descriptor);
  const bool is_real = owner.files().at(found.descriptor) == nullptr;
  const std::string target = is_real ? std::filesystem::read_symlink(link, failed).string() : "";
  if (!target.starts_with('/')) return watch_unchanging(call, *file, found.path, found.path, mask);
  return watch_real(call, *file, call.host.paths.seen(target), mask);
}

CallOutcome sys_inotify_rm_watch(CallContext& call) {
  int error;
  const auto file = call.file_of_kind<InotifyFile>(call.arguments[0], -EINVAL, &error);
  if (file == nullptr) return Answer{error};
  FileWatches& watches = *call.host.file_watches;
  watches.fetch();
  const int result = file->remove(call.as_int(1));
  watches.deliver();
  return Answer{result};
}

}  // namespace verbatim::supervisor
