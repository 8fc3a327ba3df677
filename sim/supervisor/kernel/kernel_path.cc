// Calls that name a file of the host's own trees (trees/virtual_tree.h). The runtime resolves each path up to
// the point where it enters a tree (verbs_shim/runtime/path.cc); the kernel resolves the rest.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/kernel/file_calls.h"
#include "sim/supervisor/kernel/memory_calls.h"
#include "sim/supervisor/kernel/rdma_cm_file.h"
#include "sim/supervisor/kernel/sysv_ipc.h"
#include "sim/supervisor/kernel/terminals.h"
#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/kernel/umad_file.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/trees/host_tree.h"
#include "sim/supervisor/trees/process_tree.h"
#include "sim/supervisor/trees/tree_files.h"
#include "sim/supervisor/trees/virtual_paths.h"
#include "verbs_shim/protocol/path_calls.h"

namespace verbatim::supervisor {

namespace {

using protocol::Action;
using protocol::PathUse;
using End = TreeWalk::End;

bool returns_attributes(std::uint32_t number) {
  return number == SYS_stat || number == SYS_lstat || number == SYS_newfstatat || number == SYS_statx;
}

// The path as the kernel of the machine knows it: the process's virtual id is meaningless there.
std::string native_spelling(const std::string& path, const Process& process) {
  const std::string own = fmt::format("/proc/{}", process.pid());
  return is_below(path, own) ? "/proc/self" + path.substr(own.size()) : path;
}

// 1003 for "/proc/1003" and paths below it, else 0.
std::uint32_t process_of(const std::string& path) {
  unsigned pid = 0;
  return std::sscanf(path.c_str(), "/proc/%u", &pid) == 1 ? pid : 0;
}

int attributes_at(std::uint32_t number) { return number == SYS_newfstatat ? 2 : number == SYS_statx ? 4 : 1; }

Answer with_path(Process& process, const Thread& thread, Action action, int index, const std::string& path) {
  const auto mailbox = process.region().mailbox(thread.slot());
  if (path.size() >= protocol::kPathRoom) return {-ENAMETOOLONG};
  std::memcpy(mailbox.data(), path.c_str(), path.size() + 1);
  return {0, action, {index, 0}};
}

// A path below /proc with the number of no process.
bool names_no_process(const TreeWalk& walk) {
  constexpr std::string_view kProc = "/proc/";
  if (!walk.path.starts_with(kProc) || walk.path.size() == kProc.size()) return false;
  const std::string number = walk.path.substr(0, walk.path.find('/', kProc.size()));
  return number[kProc.size()] >= '1' && number[kProc.size()] <= '9' && walk.tree->find(number) == nullptr;
}

// The errno of a call that creates, removes or changes a file of a read-only tree.
int error_of_change(PathUse use, std::uint32_t number, const TreeWalk& walk) {
  if (use == PathUse::kMake) {
    const bool exists = walk.end != End::kMissing;
    return exists && !protocol::renames(number) ? EEXIST : EACCES;
  }
  return use == PathUse::kRemove || number == SYS_truncate ? EACCES : EPERM;
}

// Denied by default: the program gets `error`, and the run reports the name once.
Answer deny(CallContext& call, HostTrees& trees, int index, const std::string& path, int error) {
  Process& process = call.process;
  std::string name = path;
  const std::string own = fmt::format("/proc/{}", process.pid());
  if (is_below(path, own)) name = "/proc/self" + path.substr(own.size());
  trees.count_refused_file();
  if (call.services.options.lets_unknown_calls_through) {
    call.warn(name + " is not simulated; the program got the machine's own", true);
    return with_path(process, call.thread, Action::kNativePath, index, native_spelling(path, process));
  }
  call.warn(
      fmt::format("{} is not simulated; the program got {} (with --strict=warn it would get the "
                  "machine's own)",
                  name,
                  error == ENOENT  ? "ENOENT"
                  : error == EPERM ? "EPERM"
                                   : "EACCES"));
  return {-error};
}

// A terminal of the machine, or its multiplexer. A read would sleep in the machine's kernel, where virtual
// time stops. /dev/tty is excluded: the process has no controlling terminal on the machine, and Linux returns
// ENXIO.
bool is_terminal(const struct stat& status) {
  if (!S_ISCHR(status.st_mode)) return false;
  const unsigned kind = major(status.st_rdev);
  constexpr unsigned kTty = 4, kOther = 5, kPseudoFirst = 136, kPseudoLast = 143;
  return kind == kTty || (kind == kOther && minor(status.st_rdev) != 0) ||
         (kind >= kPseudoFirst && kind <= kPseudoLast);
}

}  // namespace

// The common answer of all calls to a path that leads to nothing in a tree; nullopt: there is a file.
CallOutcome missing(CallContext& call, HostTrees& trees, int index, const TreeWalk& walk) {
  switch (walk.end) {
    case End::kLoop:
      return Answer{-ELOOP};
    case End::kNoFolder:
      return Answer{-ENOTDIR};
    case End::kOut:
      return with_path(call.process, call.thread, Action::kOtherPath, index, walk.path);
    case End::kMissing:
      return walk.tree->is_complete(walk.path) || names_no_process(walk)
                 ? Answer{-ENOENT}
                 : deny(call, trees, index, walk.path, ENOENT);
    default:
      return std::nullopt;
  }
}

namespace {

// /proc/PID/fd may be listed by the process itself, by a thread that may trace it, and with
// CAP_DAC_READ_SEARCH.
bool may_list(CallContext& call, const std::string& folder) {
  const std::uint32_t pid = process_of_descriptors(folder);
  if (pid == 0 || call.thread.credentials.may(kCapDacOverride) ||
      call.thread.credentials.may(kCapDacReadSearch))
    return true;
  return std::ranges::none_of(call.table.processes(), [&](const auto& other) {
    return other->pid() == pid && other->host_index() == call.process.host_index() &&
           !may_look_into(call.thread, *other);
  });
}

// Opens the file, folder or device that a walk has found.
CallOutcome open_node(CallContext& call, HostTrees& trees, const TreeWalk& walk, int flags) {
  Process& process = call.process;
  const VirtualNode& node = *walk.node;
  if (node.kind == VirtualNode::Kind::kLink) return Answer{-ELOOP};
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if ((flags & O_DIRECTORY) != 0 && node.kind != VirtualNode::Kind::kFolder) return Answer{-ENOTDIR};
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Answer{-EEXIST};
  VirtualFilePtr file;
  // The file uses the opener later, and a file of /proc/PID uses that process.
  process.outlives_its_end = true;
  if (const std::uint32_t pid = process_of(walk.path); pid != 0) {
    for (const auto& other : call.table.processes()) other->outlives_its_end |= other->pid() == pid;
  }
  switch (node.kind) {
    case VirtualNode::Kind::kFolder: {
      if (writes || (flags & O_CREAT) != 0) return Answer{-EISDIR};
      if ((flags & O_PATH) == 0 && !may_list(call, walk.path)) return Answer{-EACCES};
      const bool processes = is_below(walk.path, "/proc");
      auto list = [&trees, &process, processes, tree = walk.tree, at = walk.path]() {
        if (!processes) return tree->names(at);
        Thread* viewer = nullptr;
        for (auto& one : process.threads()) {
          if (viewer == nullptr && one->state() != Thread::State::kDead) viewer = one.get();
        }
        return viewer == nullptr ? FolderFile::Names{} : trees.tree_of(*viewer, at)->names(at);
      };
      file = std::make_shared<FolderFile>(walk.path, std::move(list));
      break;
    }
    case VirtualNode::Kind::kDevice:
      if ((flags & O_PATH) == 0) {
        if (auto opened = open_terminal(call, walk.path, flags)) return *opened;
      }
      if ((flags & O_PATH) == 0 && node.open_error == ENODEV) {
        call.warn(
            fmt::format("terminals are not simulated; the program that opened {} got ENODEV", walk.path));
      }
      if ((flags & O_PATH) == 0 && node.open_error != 0) return Answer{-node.open_error};
      if (node.is_machines) return with_path(process, call.thread, Action::kNativePath, 0, walk.path);
      if (is_random_device(walk.path)) {
        file = std::make_shared<RandomFile>(process.random());
      } else if (walk.path == kRdmaCmDevice && process.host().rdma_cm != nullptr) {
        call.table.note_use_of_adapter(process.host_index());
        file = std::make_shared<RdmaCmFile>(*process.host().rdma_cm, call.host.rdma_cm_numbers);
      } else if (auto of_port = open_port_management(walk.path, process.host().port_management)) {
        call.table.note_use_of_adapter(process.host_index());
        file = std::move(of_port);
      } else {
        file = std::make_shared<DeviceFile>(walk.path);
      }
      file->set_device(node.device);
      break;
    default:
      if (writes && !node.written_at.empty())
        return with_path(process, call.thread, Action::kNativePath, 0, node.written_at);
      if (writes) return deny(call, trees, 0, walk.path, EACCES);
      file = std::make_shared<ContentFile>(walk.path, node);
  }
  file->set_number(number_of_path(walk.path));
  return call.install(std::move(file), (flags & O_NONBLOCK) != 0);
}

}  // namespace

CallOutcome store_attributes(CallContext& call, std::uint64_t address, std::uint32_t mode,
                             std::uint64_t inode, std::uint64_t device) {
  const std::int64_t seconds = call.epoch_ns() / 1'000'000'000;
  if (call.number == SYS_statx) {
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
    return Answer{call.process.memory().store(address, status) ? 0 : -EFAULT};
  }
  struct stat status {};
  status.st_mode = mode;
  status.st_nlink = 1;  // for folders, too: 1 means that the number of subfolders is unknown
  status.st_blksize = 4096;
  status.st_dev = 13;
  status.st_ino = inode;
  status.st_rdev = device;
  status.st_atim.tv_sec = status.st_mtim.tv_sec = status.st_ctim.tv_sec = seconds;
  return Answer{call.process.memory().store(address, status) ? 0 : -EFAULT};
}

CallOutcome store_attributes(CallContext& call, std::uint64_t address, VirtualFile& file) {
  const std::uint64_t inode = call.host.number_of(file);
  return store_attributes(call, address, file.device() != 0 ? S_IFCHR | 0666 : file.mode(), inode,
                          file.device());
}

CallOutcome store_file_system(CallContext& call, std::uint64_t address, const std::string& path) {
  constexpr long kProc = 0x9fa0, kSys = 0x62656572, kTmpfs = 0x01021994, kExt = 0xef53;
  struct statfs status {};
  status.f_type = is_below(path, "/proc") ? kProc : is_below(path, "/sys") ? kSys : is_below(path, "/dev") ? kTmpfs : kExt;
  status.f_bsize = status.f_frsize = 4096;
  status.f_namelen = 255;
  status.f_fsid.__val[0] = 13;
  return Answer{call.process.memory().store(address, status) ? 0 : -EFAULT};
}

// The call's path, appended to its folder's path. nullopt: the path is empty or invalid; `error`: the folder
// is none.
std::optional<std::string> whole_path(CallContext& call, const protocol::PathArgument& argument, int* error) {
  Process& process = call.process;
  const auto& a = call.arguments;
  auto path = process.memory().load_string(call.address(argument.path), protocol::kPathRoom);
  *error = 0;
  if (!path || path->empty()) return std::nullopt;
  if (!path->starts_with('/') && argument.folder >= 0 && process.files().at(a[argument.folder]) != nullptr) {
    const VirtualFilePtr folder = process.files().at(a[argument.folder]);
    if (!S_ISDIR(folder->mode())) *error = -ENOTDIR;
    if (*error != 0) return std::nullopt;
    path = folder->tree_path() + "/" + *path;
  }
  return path;
}

namespace {

// A call that names its file by a descriptor alone, or has an invalid path.
CallOutcome sys_descriptor_path(CallContext& call, const protocol::PathArgument& argument) {
  if (argument.folder < 0 || call.process.files().at(call.arguments[argument.folder]) == nullptr)
    return Answer{0, Action::kNative};  // the kernel returns the error
  if (returns_attributes(call.number)) return sys_stat(call);
  const auto path = call.process.memory().load_string(
      static_cast<std::uint64_t>(call.arguments[argument.path]), protocol::kPathRoom);
  const bool names_descriptor = !path || call.number == SYS_fchownat || call.number == SYS_faccessat2;
  return Answer{!names_descriptor ? -ENOENT : protocol::checks_access(call.number) ? 0 : -EPERM};
}

// The answer of a call with one path to the file that it names.
CallOutcome answer_about(CallContext& call, HostTrees& trees, const protocol::PathCall& row,
                         const TreeWalk& found) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const int path_at = row.paths[0].path;
  if (found.end == End::kDescriptor) {
    Process& owner = owner_of(call, found);
    if (!may_look_into(call.thread, owner)) return Answer{-EACCES};
    const VirtualFilePtr file = owner.files().at(found.descriptor);
    if (file == nullptr) {
      if (call.number == SYS_chown || call.number == SYS_lchown || call.number == SYS_fchownat) return Answer{-EPERM};
      return with_path(process, call.thread, Action::kNativePath, 0,
                       native_descriptor(process, owner, found.descriptor));
    }
    if (S_ISDIR(file->mode()))
      return missing(call, trees, 0, {End::kOut, true, file->tree_path(), nullptr, nullptr, -1});
    if (row.paths[0].use == PathUse::kWorkIn) return Answer{-ENOTDIR};
    if (!returns_attributes(call.number)) return Answer{0};
    return store_attributes(call, call.address(attributes_at(call.number)), *file);
  }
  const PathUse use = row.paths[0].use;
  if (use == PathUse::kMake || use == PathUse::kChange || use == PathUse::kRemove) {
    const int error = error_of_change(use, call.number, found);
    return error == EEXIST ? Answer{-EEXIST} : deny(call, trees, 0, found.path, error);
  }
  const VirtualNode& node = *found.node;
  if (use == PathUse::kWorkIn) {
    if (node.kind != VirtualNode::Kind::kFolder) return Answer{-ENOTDIR};
    return work_in(call, found.path);
  }
  if (returns_attributes(call.number)) {
    return store_attributes(call, call.address(attributes_at(call.number)), node.mode(),
                            number_of_path(found.path), node.device);
  }
  if (protocol::checks_access(call.number)) {  // as for the owner of read-only files
    const std::int64_t wanted = a[path_at + 1];
    if ((wanted & ~std::int64_t{R_OK | W_OK | X_OK}) != 0) return Answer{-EINVAL};
    const bool writes =
        (wanted & W_OK) != 0 && node.kind == VirtualNode::Kind::kFile && node.written_at.empty();
    const bool executes = (wanted & X_OK) != 0 && node.kind != VirtualNode::Kind::kFolder;
    return Answer{writes || executes ? -EACCES : 0};
  }
  switch (call.number) {
    case SYS_readlink:
    case SYS_readlinkat: {
      if (node.kind != VirtualNode::Kind::kLink) return Answer{-EINVAL};
      const std::string target = *node.content();
      const std::int64_t room = a[path_at + 2];
      if (room <= 0) return Answer{-EINVAL};
      const auto bytes = std::as_bytes(std::span(target)).first(std::min<std::uint64_t>(target.size(), room));
      const bool stored = process.memory().put(call.address(path_at + 1), bytes);
      return Answer{stored ? static_cast<std::int64_t>(bytes.size()) : -EFAULT};
    }
    case SYS_statfs:
      return store_file_system(call, call.address(1), found.path);
    case SYS_listxattr:
    case SYS_llistxattr:
      return Answer{0};  // no file has extended attributes
    default:
      return Answer{-ENODATA};
  }
}

}  // namespace

CallOutcome sys_path(CallContext& call, HostTrees& trees) {
  const auto& a = call.arguments;
  const protocol::PathCall& row = *protocol::path_call(call.number);
  std::optional<TreeWalk> found[2];
  for (int i = 0; i < 2 && row.paths[i].path >= 0; ++i) {
    int error;
    const auto path = whole_path(call, row.paths[i], &error);
    if (error != 0) return Answer{error};
    if (!path) return sys_descriptor_path(call, row.paths[i]);
    const bool follow = protocol::follows(row, row.paths[i], a);
    TreeWalk one = trees.walk(call.thread, *path, follow);
    if (!one.entered) continue;
    const bool may_miss = row.paths[i].use == PathUse::kMake && one.end == End::kMissing;
    if (const CallOutcome answer = may_miss ? std::nullopt : missing(call, trees, i, one)) return answer;
    found[i] = std::move(one);
  }
  if (!found[0] && !found[1]) return Answer{0, Action::kNative};
  if (row.paths[1].path >= 0) {  // link and rename
    if (!found[0] || !found[1]) return Answer{-EXDEV};
    return deny(call, trees, 1, found[1]->path, error_of_change(row.paths[1].use, call.number, *found[1]));
  }
  return answer_about(call, trees, row, *found[0]);
}

CallOutcome sys_open(CallContext& call, HostTrees& trees) {
  Process& process = call.process;
  const protocol::PathCall& row = *protocol::path_call(call.number);
  const int flags =
      call.number == SYS_creat ? O_CREAT | O_WRONLY | O_TRUNC : static_cast<int>(call.arguments[row.flags]);
  if (call.pending_open.end != nullptr)
    return open_fifo(call, {}, flags);  // found by an earlier try; the path may have changed
  int error;
  const auto path = whole_path(call, row.paths[0], &error);
  if (error != 0) return Answer{error};
  if (!path) return Answer{0, protocol::Action::kNative};  // the kernel returns the error
  const TreeWalk found = trees.walk(call.thread, *path, protocol::follows(row, row.paths[0], call.arguments));
  if (found.entered) {
    const bool makes = (flags & O_CREAT) != 0 && found.end == TreeWalk::End::kMissing;
    if (makes) return deny(call, trees, 0, found.path, EACCES);
    if (const CallOutcome nothing = missing(call, trees, 0, found)) return nothing;
    if (found.end == TreeWalk::End::kNode) return open_node(call, trees, found, flags);
    // /dev/fd/3 and similar paths of a virtual descriptor: a new number for the same open file.
    Process& owner = owner_of(call, found);
    if (!may_look_into(call.thread, owner)) return Answer{-EACCES};
    if (const VirtualFilePtr file = owner.files().at(found.descriptor)) {
      if (&owner != &process && S_ISSOCK(file->mode())) return Answer{-ENXIO};
      return call.install(file, file->nonblocking());
    }
    const std::string own = native_descriptor(process, owner, found.descriptor);
    const auto mailbox = process.region().mailbox(call.thread.slot());
    std::memcpy(mailbox.data(), own.c_str(), own.size() + 1);
    return Answer{0, protocol::Action::kNativePath, {0, 0}};
  }
  const std::int64_t folder = row.paths[0].folder >= 0 ? call.arguments[row.paths[0].folder] : AT_FDCWD;
  const std::string native = process.native_path(static_cast<int>(folder), *path);
  // The machine's kernel refuses the other opens. Only one that succeeds waits for the far end of a named
  // pipe.
  const bool may_succeed = (flags & O_DIRECTORY) == 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
  struct stat status;
  const bool exists = may_succeed && fstatat(AT_FDCWD, native.c_str(), &status,
                                             (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0) == 0;
  if (exists && S_ISFIFO(status.st_mode) && (flags & O_PATH) == 0) return open_fifo(call, native, flags);
  if (exists && is_terminal(status)) {
    call.warn(fmt::format("terminals are not simulated; the program that opened {} got ENODEV", *path));
    return Answer{-ENODEV};
  }
  if (exists && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) && (flags & O_PATH) == 0) {
    call.warn(fmt::format("{} is a device of the machine's; the program that opened it got EPERM", *path));
    return Answer{-EPERM};
  }
  return Answer{0, protocol::Action::kNative};
}

Process& owner_of(CallContext& call, const TreeWalk& found) {
  Process* const owner = call.find_process(found.owner);
  return owner == nullptr ? call.process : *owner;
}

std::string native_descriptor(const Process& viewer, const Process& owner, int descriptor) {
  if (&viewer == &owner) return fmt::format("/proc/self/fd/{}", descriptor);
  return fmt::format("/proc/{}/fd/{}", owner.native_pid(), descriptor);
}

CallOutcome find_executable(CallContext& call, HostTrees& trees, std::string& path) {
  const TreeWalk found = trees.walk(call.thread, path, true);
  if (!found.entered) return std::nullopt;
  if (found.end == End::kOut) return missing(call, trees, 0, found);
  if (found.end == End::kMissing || found.end == End::kNoFolder) {
    return Answer{found.end == End::kMissing ? -ENOENT : -ENOTDIR};
  }
  if (found.end != End::kDescriptor) return Answer{-EACCES};
  Process& owner = owner_of(call, found);
  if (!may_look_into(call.thread, owner) || owner.files().at(found.descriptor) != nullptr) return Answer{-EACCES};
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(
      fmt::format("/proc/{}/fd/{}", owner.native_pid(), found.descriptor), error);
  if (!target.starts_with('/')) return Answer{-EACCES};
  path = call.host.paths.seen(target);
  return std::nullopt;
}

CallOutcome sys_file_numbers(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto mailbox = process.region().mailbox(call.thread.slot());
  if (a[0] < 0 || a[0] > static_cast<std::int64_t>(mailbox.size() / sizeof(protocol::FileNumber))) return Answer{-EINVAL};
  std::vector<protocol::FileNumber> files(static_cast<std::size_t>(a[0]));
  std::memcpy(files.data(), mailbox.data(), files.size() * sizeof files[0]);
  for (protocol::FileNumber& file : files) {
    const bool is_new = a[1] != 0;
    OwnFiles& files_of_host = call.host.own_files;
    OwnFile& own = is_new ? files_of_host.make({file.device, file.inode}) : files_of_host.meet({file.device, file.inode});
    if (is_new) {
      own.user = call.thread.credentials.users().file_system;
      own.group = call.thread.credentials.groups().file_system;
    }
    file = {file.device, own.number, own.user, own.group};
  }
  std::memcpy(mailbox.data(), files.data(), files.size() * sizeof files[0]);
  return Answer{0};
}

CallOutcome sys_lock_holder(CallContext& call) {
  const auto native = static_cast<pid_t>(call.arguments[0]);
  for (const auto& process : call.table.processes()) {
    const bool near = process->alive && process->host_index() == call.process.host_index();
    if (near && process->native_pid() == native) return Answer{process->pid()};
  }
  return Answer{0};
}

// Owners of the machine's files never change, whoever runs the simulator; setting the present owner succeeds.
CallOutcome sys_file_owner(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto user = static_cast<UserId>(a[0]), group = static_cast<UserId>(a[1]);
  protocol::FileNumber file;
  std::memcpy(&file, process.region().mailbox(call.thread.slot()).data(), sizeof file);
  if (a[2] == 0) {
    if ((user == kNoUser || user == file.user) && (group == kNoUser || group == file.group)) return Answer{0};
    call.warn("the owners of the machine's files are not changed; the program got EPERM");
    return Answer{-EPERM};
  }
  OwnFile& own = call.host.own_files.meet({file.device, file.inode});
  if (!call.thread.credentials.may_give(own.user, own.group, user, group)) return Answer{-EPERM};
  if (user != kNoUser) own.user = user;
  if (group != kNoUser) own.group = group;
  return Answer{0};
}

CallOutcome work_in(CallContext& call, const std::string& folder) {
  call.host.paths.store(call.process.region(), folder);
  return Answer{0};
}

}  // namespace verbatim::supervisor
