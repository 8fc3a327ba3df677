// State of the simulated kernel for one host: names, numbers, files and objects that no other host shares.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/kernel/lock_waits.h"
#include "sim/supervisor/kernel/posix_queue.h"
#include "sim/supervisor/kernel/rdma_cm_file.h"
#include "sim/supervisor/kernel/sysv_ipc.h"
#include "sim/supervisor/machine/host_paths.h"
#include "sim/supervisor/spec/credentials.h"
#include "sim/supervisor/trees/huge_pages.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

class AsyncContext;
class FileWatches;
class Pipe;
class Terminal;

// A file in the host's own folders: its inode number as programs see it, and its owners.
struct OwnFile {
  std::uint64_t number = 0;  // 0: not assigned
  UserId user = kRoot, group = kRoot;
};

// A file on the machine: st_dev, st_ino.
using MachineFile = std::pair<std::uint64_t, std::uint64_t>;

class OwnFiles {
 public:
  // nullptr: no number assigned yet.
  const OwnFile* find(const MachineFile& file) const {
    const auto found = files_.find(file);
    return found == files_.end() ? nullptr : &found->second;
  }
  // Assigns a number at first use. Numbers follow the order of first use, because the file system may reuse
  // inode numbers.
  OwnFile& meet(const MachineFile& file) {
    OwnFile& own = files_[file];
    if (own.number == 0) own.number = ++last_number_;
    return own;
  }
  // For a file that was just created: a new number. Its owners are root until the caller sets others.
  OwnFile& make(const MachineFile& file) {
    files_.erase(file);
    return meet(file);
  }
  void forget(const MachineFile& file) { files_.erase(file); }

 private:
  std::map<MachineFile, OwnFile> files_;
  std::uint64_t last_number_ = 0;
};

struct HostKernel {
  explicit HostKernel(const HugePageCounts& pages) : huge_pages(pages) {}

  HostPaths paths;
  OwnFiles own_files;
  // Inode number of a file without a path, assigned at first use.
  std::uint64_t number_of(VirtualFile& file) {
    if (file.number() == 0) file.set_number(++files_numbered);
    return file.number();
  }
  std::uint64_t files_numbered = 99;  // last of these numbers; netstat(8) ignores sockets with one digit
  std::shared_ptr<VirtualTree> tree;  // nullptr: not yet used
  std::map<unsigned, std::weak_ptr<Terminal>> terminals;  // by number
  HugePagePool huge_pages;
  std::uint64_t huge_segments = 0;  // number of System V segments of huge pages created
  SysvIpc sysv_ipc;  // declared after the pool, whose pages its segments hold
  PosixQueues posix_queues;
  std::shared_ptr<FileWatches> file_watches;
  RdmaCmNumbers rdma_cm_numbers;
  LockWaits lock_waits;
  // By process id and context id.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::shared_ptr<AsyncContext>> async_contexts;
  std::map<MachineFile, std::weak_ptr<Pipe>> fifos;
};

}  // namespace verbatim::supervisor
