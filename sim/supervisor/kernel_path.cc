// Calls that name a file of the host's own trees, see virtual_tree.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/device_files.h"
#include "sim/supervisor/host_tree.h"
#include "sim/supervisor/kernel.h"
#include "sim/supervisor/process_tree.h"
#include "sim/supervisor/tree_files.h"

namespace verbatim::supervisor {

namespace {

bool below(const std::string& path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// Files that would tell of the machine's own network.
bool tells_of_sockets(const std::string& path) {
  for (const char* const folder : {"/proc/net", "/proc/self/net", "/proc/thread-self/net"}) {
    if (below(path, folder)) return true;
  }
  return false;
}

}  // namespace

// Also a real path that a virtual link leads to: then the tree is there and the node is not.
std::optional<Kernel::TreePath> Kernel::tree_path(Thread& thread, std::int64_t folder,
                                                  const std::string& name, bool follow) {
  Process& process = thread.process();
  std::string path = name;
  if (!path.starts_with('/')) {
    const auto opened = std::dynamic_pointer_cast<FolderFile>(process.file(folder));
    if (opened == nullptr) return std::nullopt;
    path = opened->path() + "/" + path;
  }
  std::shared_ptr<const VirtualTree> tree = tree_of(thread, normal_path(path));
  if (tree == nullptr) return std::nullopt;
  TreePath found{tree, tree->resolve(path, follow || path.ends_with('/')), nullptr};
  found.node = tree->find(found.path);
  return found;
}

std::shared_ptr<const VirtualTree> Kernel::tree_of(Thread& thread, const std::string& path) {
  if (below(path, "/proc")) {
    return make_process_tree(thread, {table_, now(), options_.epoch_ns,
                                      [this](const VirtualFilePtr& file) { return link_of(file); }});
  }
  if (!below(path, "/sys") && !below(path, "/dev/infiniband")) return nullptr;
  auto& tree = host_trees_[thread.process().host_index()];
  if (tree == nullptr) tree = make_host_tree(thread.process().host());
  return tree;
}

std::string Kernel::link_of(const VirtualFilePtr& file) {
  if (const auto* opened = dynamic_cast<const TreeFile*>(file.get())) return opened->path();
  if (!file->number()) file->set_number(++files_numbered_);
  if (S_ISSOCK(file->mode())) return fmt::format("socket:[{}]", file->number());
  if (S_ISFIFO(file->mode())) return fmt::format("pipe:[{}]", file->number());
  return fmt::format("anon_inode:[{}]", file->describe());
}

// What is not in the tree: of /proc the real one's, except that other processes are not there.
bool Kernel::left_to_linux(const TreePath& found) const {
  if (found.node != nullptr) return false;
  if (below(found.path, "/sys") || below(found.path, "/dev/infiniband")) return false;
  if (!below(found.path, "/proc")) return true;  // a virtual link has led out
  const std::string rest = found.path.substr(std::min<std::size_t>(found.path.size(), 6));
  return rest.empty() || rest[0] < '0' || rest[0] > '9';
}

Kernel::Outcome Kernel::open_in_tree(Thread& thread, std::int64_t folder, const std::string& path,
                                     int flags) {
  Process& process = thread.process();
  const auto found = tree_path(thread, folder, path, (flags & O_NOFOLLOW) == 0);
  if (!found) return std::nullopt;
  if (found->node == nullptr && tells_of_sockets(path)) {
    warn(process, fmt::format("{} is not simulated; the program got ENOENT", path));
    return Answer{-ENOENT};
  }
  if (found->node == nullptr) {
    // Files of the process itself that the tree does not have: its own number means nothing to Linux.
    const bool own = path.starts_with("/proc/self/") || path.starts_with("/proc/thread-self/");
    return Answer{own || left_to_linux(*found) ? 0 : -ENOENT,
                  own || left_to_linux(*found) ? protocol::Action::kNative : protocol::Action::kReturn};
  }
  const VirtualNode& node = *found->node;
  if (node.kind == VirtualNode::Kind::kLink) return Answer{-ELOOP};
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if ((flags & O_DIRECTORY) != 0 && node.kind != VirtualNode::Kind::kFolder) return Answer{-ENOTDIR};
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Answer{-EEXIST};
  VirtualFilePtr file;
  switch (node.kind) {
    case VirtualNode::Kind::kFolder: {
      if (writes) return Answer{-EISDIR};
      const bool processes = below(found->path, "/proc");
      auto list = [this, &process, processes, tree = found->tree, at = found->path]() {
        if (!processes) return tree->names(at);
        Thread* viewer = nullptr;
        for (auto& one : process.threads()) {
          if (viewer == nullptr && one->state() != Thread::State::kDead) viewer = one.get();
        }
        return viewer == nullptr ? FolderFile::Names{} : tree_of(*viewer, at)->names(at);
      };
      file = std::make_shared<FolderFile>(found->path, std::move(list));
      break;
    }
    case VirtualNode::Kind::kDevice:
      file = std::make_shared<DeviceFile>(found->path);
      break;
    default:
      if (writes) return Answer{-EACCES};
      file = std::make_shared<ContentFile>(found->path, node.content);
  }
  file->set_number(number_of_path(found->path));
  return install(process, std::move(file), (flags & O_NONBLOCK) != 0);
}

Kernel::Outcome Kernel::store_attributes(Process& process, std::uint32_t number, std::uint64_t address,
                                         std::uint32_t mode, std::uint64_t inode, std::uint64_t device) {
  const std::int64_t seconds = options_.epoch_ns / 1'000'000'000;
  if (number == SYS_statx) {
    struct statx status {};
    status.stx_mask = STATX_BASIC_STATS;
    status.stx_mode = static_cast<std::uint16_t>(mode);
    status.stx_nlink = 1;
    status.stx_blksize = 4096;
    status.stx_ino = inode;
    status.stx_dev_minor = 13;
    status.stx_rdev_major = major(device);
    status.stx_rdev_minor = minor(device);
    status.stx_atime.tv_sec = status.stx_mtime.tv_sec = status.stx_ctime.tv_sec = seconds;
    return Answer{process.memory().store(address, status) ? 0 : -EFAULT};
  }
  struct stat status {};
  status.st_mode = mode;
  status.st_nlink = 1;  // of a folder: nothing is said about how many are in it
  status.st_blksize = 4096;
  status.st_dev = 13;
  status.st_ino = inode;
  status.st_rdev = device;
  status.st_atim.tv_sec = status.st_mtim.tv_sec = status.st_ctim.tv_sec = seconds;
  return Answer{process.memory().store(address, status) ? 0 : -EFAULT};
}

Kernel::Outcome Kernel::sys_path(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Process& process = thread.process();
  const bool at = call.number == SYS_newfstatat || call.number == SYS_statx ||
                  call.number == SYS_readlinkat || call.number == SYS_faccessat ||
                  call.number == SYS_faccessat2;
  const auto path = process.memory().load_string(static_cast<std::uint64_t>(a[at ? 1 : 0]), 4096);
  if (!path) return Answer{-EFAULT};
  const std::int64_t folder = at ? a[0] : AT_FDCWD;
  if (path->empty() || (!path->starts_with('/') && process.file(folder) != nullptr &&
                        dynamic_cast<FolderFile*>(process.file(folder).get()) == nullptr)) {
    return sys_stat(thread);
  }
  const std::int64_t flags = call.number == SYS_newfstatat || call.number == SYS_faccessat2 ? a[3]
                             : call.number == SYS_statx                                     ? a[2]
                                                                                            : 0;
  const bool reads_link = call.number == SYS_readlink || call.number == SYS_readlinkat;
  const bool follow = call.number != SYS_lstat && call.number != SYS_lgetxattr &&
                      call.number != SYS_llistxattr && !reads_link && (flags & AT_SYMLINK_NOFOLLOW) == 0;
  const bool asks_attributes = call.number == SYS_stat || call.number == SYS_lstat ||
                               call.number == SYS_newfstatat || call.number == SYS_statx;
  const auto out = static_cast<std::uint64_t>(a[call.number == SYS_newfstatat ? 2
                                                : call.number == SYS_statx    ? 4
                                                                              : 1]);
  if (const auto fd = descriptor_of_path(*path, process); fd && follow) {
    const VirtualFilePtr file = process.file(*fd);
    if (file == nullptr) return Answer{0, protocol::Action::kNative};
    if (!asks_attributes) return Answer{0};
    if (!file->number()) file->set_number(++files_numbered_);
    return store_attributes(process, call.number, out, file->mode(), file->number(), 0);
  }
  const auto found = tree_path(thread, folder, *path, follow);
  if (!found) return Answer{0, protocol::Action::kNative};
  if (found->node == nullptr) {
    const bool own = path->starts_with("/proc/self/") || path->starts_with("/proc/thread-self/");
    if (own || left_to_linux(*found)) return Answer{0, protocol::Action::kNative};
    return Answer{-ENOENT};
  }
  const VirtualNode& node = *found->node;
  switch (call.number) {  // none has attributes of its own
    case SYS_getxattr:
    case SYS_lgetxattr:
      return Answer{-ENODATA};
    case SYS_listxattr:
    case SYS_llistxattr:
      return Answer{0};
    default:
      break;
  }
  if (call.number == SYS_chdir) {
    if (node.kind != VirtualNode::Kind::kFolder) return Answer{-ENOTDIR};
    if (found->path == "/proc") return Answer{0, protocol::Action::kNative};
    warn(process,
         fmt::format(
             "working in {} is not simulated, name its files by their whole path; the program got EACCES",
             found->path));
    return Answer{-EACCES};
  }
  if (reads_link) {
    if (node.kind != VirtualNode::Kind::kLink) return Answer{-EINVAL};
    const std::string target = node.content();
    const auto room = static_cast<std::int64_t>(a[at ? 3 : 2]);
    if (room <= 0) return Answer{-EINVAL};
    const auto bytes = std::as_bytes(std::span(target)).first(std::min<std::uint64_t>(target.size(), room));
    const bool stored = process.memory().put(static_cast<std::uint64_t>(a[at ? 2 : 1]), bytes);
    return Answer{stored ? static_cast<std::int64_t>(bytes.size()) : -EFAULT};
  }
  if (!asks_attributes) {  // access: as for the owner of read-only files
    const std::int64_t wanted = a[at ? 2 : 1];
    if ((wanted & ~std::int64_t{R_OK | W_OK | X_OK}) != 0) return Answer{-EINVAL};
    const bool writes = (wanted & W_OK) != 0 && node.kind == VirtualNode::Kind::kFile;
    const bool executes = (wanted & X_OK) != 0 && node.kind != VirtualNode::Kind::kFolder;
    return Answer{writes || executes ? -EACCES : 0};
  }
  return store_attributes(process, call.number, out, node.mode(), number_of_path(found->path), node.device);
}

}  // namespace verbatim::supervisor
