// /proc as a program sees it: the processes of its host under their virtual numbers, and what the kernel
// tells of itself, in virtual time.
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
  // Names of opened files, "socket:[3]".
  std::function<std::string(const VirtualFilePtr&)> link_of;
  // The controlling terminal of a process: its device as /proc tells it, and its foreground group; 0 and -1: it has none.
  std::function<std::pair<std::uint32_t, std::int32_t>(Process&)> terminal_of;
  const HostPaths& paths;
  const HugePagePool& huge_pages;
  // The process, beside the one that asks, of which it is told what it has open: to look costs much. 0: none.
  std::uint32_t descriptors_of;
  // Of System V objects: the files of /proc/sysvipc, by name.
  std::vector<std::pair<const char*, std::function<std::string()>>> objects;
};

// As `viewer` sees it now; what lies in it is made as it is looked for, which has to happen before anything else does. Files are
// read at once or soon.
std::shared_ptr<const VirtualTree> make_process_tree(Thread& viewer, ProcessTreeInputs inputs);

// What does not depend on the process that asks (kernel_tree.cc): sysctl(8)'s settings below /proc/sys, and what else
// /proc tells of the kernel.
void add_kernel_settings(VirtualTree& tree, const HugePagePool& huge_pages);
void add_kernel_facts(VirtualTree& tree);

}  // namespace verbatim::supervisor
