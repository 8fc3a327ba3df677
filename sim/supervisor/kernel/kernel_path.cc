// Calls that name a file of the host's own trees, see virtual_tree.h. The runtime brings every path as far as the place
// where it enters a tree (verbs_shim/runtime/path.cc); here it is walked on.
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
#include "sim/supervisor/trees/host_tree.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/trees/process_tree.h"
#include "sim/supervisor/kernel/rdma_cm_file.h"
#include "sim/supervisor/kernel/sysv_ipc.h"
#include "sim/supervisor/kernel/umad_file.h"
#include "sim/supervisor/trees/tree_files.h"
#include "sim/supervisor/trees/virtual_paths.h"
#include "verbs_shim/protocol/path_calls.h"

namespace verbatim::supervisor {

namespace {

using protocol::Action;
using protocol::PathUse;
using End = TreeWalk::End;

bool tells_attributes(std::uint32_t number) {
  return number == SYS_stat || number == SYS_lstat || number == SYS_newfstatat || number == SYS_statx;
}

bool tells_access(std::uint32_t number) {
  return number == SYS_access || number == SYS_faccessat || number == SYS_faccessat2;
}

// As the kernel of a process knows it: its own number means nothing there.
std::string native_spelling(const std::string& path, const Process& process) {
  const std::string own = fmt::format("/proc/{}", process.pid());
  return is_below(path, own) ? "/proc/self" + path.substr(own.size()) : path;
}

// 1003 of "/proc/1003" and what lies there, else 0.
std::uint32_t process_of(const std::string& path) {
  unsigned pid = 0;
  return std::sscanf(path.c_str(), "/proc/%u", &pid) == 1 ? pid : 0;
}

// 1003 of "/proc/1003/fd" and what lies there, else 0.
std::uint32_t whose_descriptors(const std::string& path) {
  unsigned pid = 0;
  int length = 0;
  return std::sscanf(path.c_str(), "/proc/%u/fd%n", &pid, &length) == 1 && length != 0 ? pid : 0;
}

Answer with_path(Process& process, const Thread& thread, Action action, int index, const std::string& path) {
  const auto mailbox = process.region().mailbox(thread.slot());
  if (path.size() >= protocol::kPathRoom) return {-ENAMETOOLONG};
  std::memcpy(mailbox.data(), path.c_str(), path.size() + 1);
  return {0, action, {index, 0}};
}

// A number of /proc that no process has.
bool names_no_process(const TreeWalk& walk) {
  constexpr std::string_view kProc = "/proc/";
  if (!walk.path.starts_with(kProc) || walk.path.size() == kProc.size()) return false;
  const std::string number = walk.path.substr(0, walk.path.find('/', kProc.size()));
  return number[kProc.size()] >= '1' && number[kProc.size()] <= '9' && walk.tree->find(number) == nullptr;
}

// What making, removing and changing comes to where nothing can be changed.
int error_of_change(PathUse use, std::uint32_t number, const TreeWalk& walk) {
  if (use == PathUse::kMake) {
    const bool exists = walk.end != End::kMissing;
    return exists && number != SYS_rename && number != SYS_renameat && number != SYS_renameat2 ? EEXIST : EACCES;
  }
  return use == PathUse::kRemove || number == SYS_truncate ? EACCES : EPERM;
}

}  // namespace

const HostPaths& Kernel::paths_of(const Process& process) const { return host_of(process).paths; }

TreeWalk Kernel::walk(Thread& thread, const std::string& path, bool follow) {
  const bool plain = path.starts_with('/') && (path + "/").find("/./") == std::string::npos &&
                     (path + "/").find("/../") == std::string::npos;
  if (!path.starts_with('/') || (plain && paths_of(thread.process()).has_row(path)))
    return {End::kOut, false, path, nullptr, nullptr, -1};
  std::shared_ptr<const VirtualTree> processes;  // the same for the whole way
  return walk_trees(path, follow, [&](const std::string& at) -> std::shared_ptr<const VirtualTree> {
    if (!paths_of(thread.process()).in_tree(at)) return nullptr;
    if (!is_below(at, "/proc")) return tree_of(thread, at);
    // Whose descriptors are asked for stands in the whole path; /dev/fd leads to one's own.
    if (processes == nullptr) processes = tree_of(thread, is_below(path, "/proc") ? path : at);
    return processes;
  });
}

std::shared_ptr<const VirtualTree> Kernel::tree_of(Thread& thread, const std::string& path) {
  if (is_below(path, "/proc")) {
    return make_process_tree(thread, {table_, now(), options_.epoch_ns,
                                      [this, &thread](const VirtualFilePtr& file) { return link_of(thread.process(), file); },
                                      [this](Process& process) { return terminal_in_proc(process); },
                                      paths_of(thread.process()), host_of(thread.process()).huge_pages,
                                      whose_descriptors(path), ipc_of(thread.process()).lines()});
  }
  HostKernel& own = host_of(thread.process());
  auto& tree = own.tree;
  if (tree == nullptr) {
    if (hosts_file_ == nullptr) hosts_file_ = std::make_shared<const std::string>(hosts_file(hosts_));
    const HostSpec& host = thread.process().host();
    auto& common = common_trees_[host.timestamp_counter_hz];
    if (common == nullptr) common = make_common_tree(host.timestamp_counter_hz);
    tree = make_host_tree(common, host, hosts_file_, own.huge_pages);
    for (const auto& [number, terminal] : own.terminals)
      tree->add_device("/dev/pts/" + std::to_string(number), Terminal::kMajor, number);
  }
  if (!own.terminals.empty()) forget_terminals(thread.process().host_index());
  return tree;
}

std::uint64_t Kernel::number_of(const Process& process, VirtualFile& file) {
  if (file.number() == 0) file.set_number(++host_of(process).files_numbered);
  return file.number();
}

std::string Kernel::link_of(const Process& process, const VirtualFilePtr& file) {
  if (const auto* opened = dynamic_cast<const TreeFile*>(file.get())) return opened->path();
  const std::uint64_t number = number_of(process, *file);
  if (S_ISSOCK(file->mode())) return fmt::format("socket:[{}]", number);
  if (S_ISFIFO(file->mode())) return fmt::format("pipe:[{}]", number);
  if (dynamic_cast<const InotifyFile*>(file.get()) != nullptr) return "anon_inode:inotify";
  if (const auto* terminal = dynamic_cast<const TerminalFile*>(file.get()))
    return major(file->device()) == Terminal::kMajor ? terminal->terminal().path() : "/dev/tty";
  if (dynamic_cast<const TerminalMaster*>(file.get()) != nullptr) return "/dev/ptmx";
  return fmt::format("anon_inode:[{}]", file->describe());
}

// Denied by default: the program hears that it is not there, and the run says so once by name.
Answer Kernel::deny(Thread& thread, int index, const std::string& path, int error) {
  Process& process = thread.process();
  std::string name = path;
  const std::string own = fmt::format("/proc/{}", process.pid());
  if (is_below(path, own)) name = "/proc/self" + path.substr(own.size());
  ++refused_files_;
  if (options_.lets_unknown_calls_through) {
    report_(process, name + " is not simulated; the program got the machine's own", true);
    return with_path(process, thread, Action::kNativePath, index, native_spelling(path, process));
  }
  warn(process, fmt::format("{} is not simulated; the program got {} (with --strict=warn it would get the "
                            "machine's own)",
                            name, error == ENOENT ? "ENOENT" : error == EPERM ? "EPERM" : "EACCES"));
  return {-error};
}

// What every call says about a path that leads to nothing in a tree; nullopt: there is something.
Kernel::Outcome Kernel::missing(Thread& thread, int index, const TreeWalk& walk) {
  switch (walk.end) {
    case End::kLoop:
      return Answer{-ELOOP};
    case End::kNoFolder:
      return Answer{-ENOTDIR};
    case End::kOut:
      return with_path(thread.process(), thread, Action::kOtherPath, index, walk.path);
    case End::kMissing:
      return walk.tree->is_complete(walk.path) || names_no_process(walk)
                 ? Answer{-ENOENT}
                 : deny(thread, index, walk.path, ENOENT);
    default:
      return std::nullopt;
  }
}

// Which descriptors a process has is for itself, for who may look into it, and for who may read any folder.
bool Kernel::may_list(Thread& thread, const std::string& folder) {
  const std::uint32_t pid = whose_descriptors(folder);
  if (pid == 0 || thread.credentials.may(kCapDacOverride) || thread.credentials.may(kCapDacReadSearch)) return true;
  return std::ranges::none_of(table_.processes(), [&](const auto& process) {
    return process->pid() == pid && process->host_index() == thread.process().host_index() && !may_look_into(thread, *process);
  });
}

// The file, folder or device that a walk has found, opened.
Kernel::Outcome Kernel::open_node(Thread& thread, const TreeWalk& walk, int flags) {
  Process& process = thread.process();
  const VirtualNode& node = *walk.node;
  if (node.kind == VirtualNode::Kind::kLink) return Answer{-ELOOP};
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if ((flags & O_DIRECTORY) != 0 && node.kind != VirtualNode::Kind::kFolder) return Answer{-ENOTDIR};
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Answer{-EEXIST};
  VirtualFilePtr file;
  // The file asks its opener, and what /proc tells of a process asks that one.
  process.outlives_its_end = true;
  if (const std::uint32_t pid = process_of(walk.path); pid != 0) {
    for (const auto& other : table_.processes()) other->outlives_its_end |= other->pid() == pid;
  }
  switch (node.kind) {
    case VirtualNode::Kind::kFolder: {
      if (writes || (flags & O_CREAT) != 0) return Answer{-EISDIR};
      if ((flags & O_PATH) == 0 && !may_list(thread, walk.path)) return Answer{-EACCES};
      const bool processes = is_below(walk.path, "/proc");
      auto list = [this, &process, processes, tree = walk.tree, at = walk.path]() {
        if (!processes) return tree->names(at);
        Thread* viewer = nullptr;
        for (auto& one : process.threads()) {
          if (viewer == nullptr && one->state() != Thread::State::kDead) viewer = one.get();
        }
        return viewer == nullptr ? FolderFile::Names{} : tree_of(*viewer, at)->names(at);
      };
      file = std::make_shared<FolderFile>(walk.path, std::move(list));
      break;
    }
    case VirtualNode::Kind::kDevice:
      if ((flags & O_PATH) == 0) {
        if (auto opened = open_terminal(thread, walk.path, flags)) return *opened;
      }
      if ((flags & O_PATH) == 0 && node.open_error == ENODEV) {
        warn(process, fmt::format("terminals are not simulated; the program that opened {} got ENODEV", walk.path));
      }
      if ((flags & O_PATH) == 0 && node.open_error != 0) return Answer{-node.open_error};
      if (node.is_machines) return with_path(process, thread, Action::kNativePath, 0, walk.path);
      if (is_random_device(walk.path)) {
        file = std::make_shared<RandomFile>(process.random());
      } else if (walk.path == kRdmaCmDevice && process.host().rdma_cm != nullptr) {
        table_.note_use_of_adapter(process.host_index());
        file = std::make_shared<RdmaCmFile>(*process.host().rdma_cm, host_of(process).rdma_cm_numbers);
      } else if (auto of_port = open_port_management(walk.path, process.host().port_management)) {
        table_.note_use_of_adapter(process.host_index());
        file = std::move(of_port);
      } else {
        file = std::make_shared<DeviceFile>(walk.path);
      }
      file->set_device(node.device);
      break;
    default:
      if (writes && !node.written_at.empty())
        return with_path(process, thread, Action::kNativePath, 0, node.written_at);
      if (writes) return deny(thread, 0, walk.path, EACCES);
      file = std::make_shared<ContentFile>(walk.path, node);
  }
  file->set_number(number_of_path(walk.path));
  return install(process, std::move(file), (flags & O_NONBLOCK) != 0);
}

int Kernel::attributes_at(std::uint32_t number) {
  return number == SYS_newfstatat ? 2 : number == SYS_statx ? 4 : 1;
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

Kernel::Outcome Kernel::store_file_system(Process& process, std::uint64_t address, const std::string& path) {
  constexpr long kProc = 0x9fa0, kSys = 0x62656572, kTmpfs = 0x01021994, kExt = 0xef53;
  struct statfs status {};
  status.f_type = is_below(path, "/proc") ? kProc : is_below(path, "/sys") ? kSys : is_below(path, "/dev") ? kTmpfs : kExt;
  status.f_bsize = status.f_frsize = 4096;
  status.f_namelen = 255;
  status.f_fsid.__val[0] = 13;
  return Answer{process.memory().store(address, status) ? 0 : -EFAULT};
}

// `path`, from where the call says; nullopt: the descriptor itself is meant, or it leads to a file of the machine.
std::optional<std::string> Kernel::whole_path(Thread& thread, const protocol::PathArgument& argument, int* error) {
  Process& process = thread.process();
  const auto& a = thread.call().arguments;
  auto path = process.memory().load_string(static_cast<std::uint64_t>(a[argument.path]), protocol::kPathRoom);
  *error = 0;
  if (!path || path->empty()) return std::nullopt;
  if (!path->starts_with('/') && argument.folder >= 0 && process.file(a[argument.folder]) != nullptr) {
    const auto folder = std::dynamic_pointer_cast<FolderFile>(process.file(a[argument.folder]));
    if (folder == nullptr) *error = -ENOTDIR;
    if (folder == nullptr) return std::nullopt;
    path = folder->path() + "/" + *path;
  }
  return path;
}

// A path that the call names by its descriptor alone, or not at all.
Kernel::Outcome Kernel::sys_descriptor_path(Thread& thread, const protocol::PathArgument& argument) {
  const PendingCall& call = thread.call();
  if (argument.folder < 0 || thread.process().file(call.arguments[argument.folder]) == nullptr)
    return Answer{0, Action::kNative};  // the kernel says what is wrong with it
  if (tells_attributes(call.number)) return sys_stat(thread);
  const auto path = thread.process().memory().load_string(
      static_cast<std::uint64_t>(call.arguments[argument.path]), protocol::kPathRoom);
  const bool names_descriptor = !path || call.number == SYS_fchownat || call.number == SYS_faccessat2;
  return Answer{!names_descriptor ? -ENOENT : tells_access(call.number) ? 0 : -EPERM};
}

Kernel::Outcome Kernel::sys_path(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  const protocol::PathCall& row = *protocol::path_call(call.number);
  std::optional<TreeWalk> found[2];
  for (int i = 0; i < 2 && row.paths[i].path >= 0; ++i) {
    int error;
    const auto path = whole_path(thread, row.paths[i], &error);
    if (error != 0) return Answer{error};
    if (!path) return sys_descriptor_path(thread, row.paths[i]);
    const bool follow = protocol::follows(row, row.paths[i], a);
    TreeWalk one = walk(thread, *path, follow);
    if (!one.entered) continue;
    const bool may_miss = row.paths[i].use == PathUse::kMake && one.end == End::kMissing;
    if (const Outcome answer = may_miss ? std::nullopt : missing(thread, i, one)) return answer;
    found[i] = std::move(one);
  }
  if (!found[0] && !found[1]) return Answer{0, Action::kNative};
  if (row.paths[1].path >= 0) {  // link and rename
    if (!found[0] || !found[1]) return Answer{-EXDEV};
    return deny(thread, 1, found[1]->path, error_of_change(row.paths[1].use, call.number, *found[1]));
  }
  return answer_about(thread, row, *found[0]);
}

// What a call with one path does with what is there.
Kernel::Outcome Kernel::answer_about(Thread& thread, const protocol::PathCall& row, const TreeWalk& found) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  Process& process = thread.process();
  const int path_at = row.paths[0].path;
  if (found.end == End::kDescriptor) {
    Process& owner = owner_of(process, found);
    if (!may_look_into(thread, owner)) return Answer{-EACCES};
    const VirtualFilePtr file = owner.file(found.descriptor);
    if (file == nullptr) {
      if (call.number == SYS_chown || call.number == SYS_lchown || call.number == SYS_fchownat) return Answer{-EPERM};
      return with_path(process, thread, Action::kNativePath, 0, native_descriptor(process, owner, found.descriptor));
    }
    if (const auto* folder = dynamic_cast<const FolderFile*>(file.get())) {
      return missing(thread, 0, {End::kOut, true, folder->path(), nullptr, nullptr, -1});
    }
    if (row.paths[0].use == PathUse::kWorkIn) return Answer{-ENOTDIR};
    if (!tells_attributes(call.number)) return Answer{0};
    number_of(process, *file);
    return store_attributes(process, call.number, static_cast<std::uint64_t>(a[attributes_at(call.number)]),
                            file->device() != 0 ? S_IFCHR | 0666 : file->mode(), file->number(), file->device());
  }
  const PathUse use = row.paths[0].use;
  if (use == PathUse::kMake || use == PathUse::kChange || use == PathUse::kRemove) {
    const int error = error_of_change(use, call.number, found);
    return error == EEXIST ? Answer{-EEXIST} : deny(thread, 0, found.path, error);
  }
  const VirtualNode& node = *found.node;
  if (use == PathUse::kWorkIn) {
    if (node.kind != VirtualNode::Kind::kFolder) return Answer{-ENOTDIR};
    return work_in(process, found.path);
  }
  if (tells_attributes(call.number)) {
    return store_attributes(process, call.number, static_cast<std::uint64_t>(a[attributes_at(call.number)]),
                            node.mode(), number_of_path(found.path), node.device);
  }
  if (tells_access(call.number)) {  // as for the owner of read-only files
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
      const bool stored = process.memory().put(static_cast<std::uint64_t>(a[path_at + 1]), bytes);
      return Answer{stored ? static_cast<std::int64_t>(bytes.size()) : -EFAULT};
    }
    case SYS_statfs:
      return store_file_system(process, static_cast<std::uint64_t>(a[1]), found.path);
    case SYS_listxattr:
    case SYS_llistxattr:
      return Answer{0};  // none has attributes of its own
    default:
      return Answer{-ENODATA};
  }
}

Process& Kernel::owner_of(Process& viewer, const TreeWalk& found) const {
  Process* const owner = find_process(viewer, found.owner);
  return owner == nullptr ? viewer : *owner;
}

std::string Kernel::native_descriptor(const Process& viewer, const Process& owner, int descriptor) {
  if (&viewer == &owner) return fmt::format("/proc/self/fd/{}", descriptor);
  return fmt::format("/proc/{}/fd/{}", owner.native_pid(), descriptor);
}

Kernel::Outcome Kernel::find_executable(Thread& thread, std::string& path) {
  Process& process = thread.process();
  const TreeWalk found = walk(thread, path, true);
  if (!found.entered) return std::nullopt;
  if (found.end == End::kOut) return missing(thread, 0, found);
  if (found.end == End::kMissing || found.end == End::kNoFolder) {
    return Answer{found.end == End::kMissing ? -ENOENT : -ENOTDIR};
  }
  if (found.end != End::kDescriptor) return Answer{-EACCES};
  Process& owner = owner_of(process, found);
  if (!may_look_into(thread, owner) || owner.file(found.descriptor) != nullptr) return Answer{-EACCES};
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(
      fmt::format("/proc/{}/fd/{}", owner.native_pid(), found.descriptor), error);
  if (!target.starts_with('/')) return Answer{-EACCES};
  path = paths_of(process).seen(target);
  return std::nullopt;
}

Kernel::Outcome Kernel::sys_file_numbers(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const auto mailbox = process.region().mailbox(thread.slot());
  if (a[0] < 0 || a[0] > static_cast<std::int64_t>(mailbox.size() / sizeof(protocol::FileNumber))) return Answer{-EINVAL};
  std::vector<protocol::FileNumber> files(static_cast<std::size_t>(a[0]));
  std::memcpy(files.data(), mailbox.data(), files.size() * sizeof files[0]);
  for (protocol::FileNumber& file : files) {
    const bool is_new = a[1] != 0;
    OwnFiles& files_of_host = host_of(process).own_files;
    OwnFile& own = is_new ? files_of_host.make({file.device, file.inode}) : files_of_host.meet({file.device, file.inode});
    if (is_new) {
      own.user = thread.credentials.users().file_system;
      own.group = thread.credentials.groups().file_system;
    }
    file = {file.device, own.number, own.user, own.group};
  }
  std::memcpy(mailbox.data(), files.data(), files.size() * sizeof files[0]);
  return Answer{0};
}

Kernel::Outcome Kernel::sys_lock_holder(Thread& thread) {
  const auto native = static_cast<pid_t>(thread.call().arguments[0]);
  for (const auto& process : table_.processes()) {
    const bool near = process->alive && process->host_index() == thread.process().host_index();
    if (near && process->native_pid() == native) return Answer{process->pid()};
  }
  return Answer{0};
}

// Nobody changes the machine's owners, whoever runs the simulator; what says what is so already is right.
Kernel::Outcome Kernel::sys_file_owner(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const auto user = static_cast<UserId>(a[0]), group = static_cast<UserId>(a[1]);
  protocol::FileNumber file;
  std::memcpy(&file, process.region().mailbox(thread.slot()).data(), sizeof file);
  if (a[2] == 0) {
    if ((user == kNoUser || user == file.user) && (group == kNoUser || group == file.group)) return Answer{0};
    warn(process, "the owners of the machine's files are not changed; the program got EPERM");
    return Answer{-EPERM};
  }
  OwnFile& own = host_of(process).own_files.meet({file.device, file.inode});
  if (!thread.credentials.may_give(own.user, own.group, user, group)) return Answer{-EPERM};
  if (user != kNoUser) own.user = user;
  if (group != kNoUser) own.group = group;
  return Answer{0};
}

Kernel::Outcome Kernel::work_in(Process& process, const std::string& folder) {
  paths_of(process).store(process.region(), folder);
  return Answer{0};
}

}  // namespace verbatim::supervisor
