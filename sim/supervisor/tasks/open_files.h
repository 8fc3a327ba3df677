// The virtual descriptors of a process: their numbers and files. The kernel's table has a placeholder with
// the same number, which the shim creates when it receives the answer to the call.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class Process;

class OpenFiles {
 public:
  // Owned by `process`.
  explicit OpenFiles(Process& process) : process_(process) {}

  // The file of virtual descriptor `fd`; nullptr: not virtual.
  VirtualFilePtr at(std::int64_t fd) const;
  const std::map<int, VirtualFilePtr>& all() const { return files_; }
  DescriptorTable table() const;

  // RLIMIT_NOFILE, limited to the supported numbers. New descriptors are below it.
  int limit() const;
  // First number of the shim's own descriptors. The program has none in the kernel's table from there on.
  int own_descriptors() const;
  // True if `fd` is open in the kernel's table, as a real file or as a placeholder.
  bool natively_open(int fd) const;
  // natively_open(), except descriptors that only name a file (O_PATH): most calls return EBADF for them.
  bool natively_usable(int fd) const;
  // True if exec closes virtual descriptor `fd`, which is not in the kernel's table.
  bool closes_unknown_by_exec(int fd) const;

  // Lowest free number from `least` on, as in Linux, or -EMFILE. Numbers in `taken` are not free.
  int lowest_free_number(int least = 0, std::span<const int> taken = {});
  // Installs the file at that number. Returns the number or -EMFILE.
  int install(VirtualFilePtr file, int least = 0);
  void install_at(int fd, VirtualFilePtr file);
  // False if `fd` is not virtual.
  bool close(int fd);
  void close_all();
  // exec: the process has a new region.
  void move_to_region();

  // Signals of the signalfds among them, bit n - 1 for signal n.
  std::uint64_t watched_signals() const;
  // Notifies the signalfds of changes to Process::pending.
  void notify_signal_files();

 private:
  Process& process_;
  std::map<int, VirtualFilePtr> files_;
  std::set<int> signal_files_;  // the signalfds among them
  int least_free_ = 0;          // all lower numbers were in use; the kernel may have closed some since
};

}  // namespace verbatim::supervisor
