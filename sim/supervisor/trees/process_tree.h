// /proc as a program sees it, at a virtual time: the processes of its host by virtual process id, and kernel
// files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/trees/huge_pages.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

struct ProcessTreeInputs {
  const ProcessTable& table;
  Instant now;
  std::int64_t epoch_ns;
  // Link text of an open file, such as "socket:[3]".
  std::function<std::string(const VirtualFilePtr&)> link_of;
  // Its inode number.
  std::function<std::uint64_t(const VirtualFilePtr&)> inode_of;
  // Inode number, as programs see it, of a file of the machine with this device and inode number.
  std::function<std::uint64_t(std::uint64_t device, std::uint64_t inode)> number_of;
  // Controlling terminal of a process: tty_nr and tpgid of /proc/[pid]/stat; 0 and -1: none.
  std::function<std::pair<std::uint32_t, std::int32_t>(Process&)> terminal_of;
  const HostPaths& paths;
  const HugePagePool& huge_pages;
  // Process id whose /proc/PID/fd is listed in addition to the viewer's own, which is expensive; 0: none.
  std::uint32_t descriptors_of;
  // Files of /proc/sysvipc, by name.
  std::vector<std::pair<const char*, std::function<std::string()>>> objects;
};

// The tree as `viewer` sees it. Its parts are made on first access, which must happen before the simulation
// proceeds.
std::shared_ptr<const VirtualTree> make_process_tree(Thread& viewer, ProcessTreeInputs inputs);

// Parts that do not depend on the viewer (kernel_tree.cc): sysctl(8) settings in /proc/sys, and other kernel
// files.
void add_kernel_settings(VirtualTree& tree, const HugePagePool& huge_pages);
void add_kernel_facts(VirtualTree& tree);

}  // namespace verbatim::supervisor
