// Files of /proc/[pid] about a process's memory. Values that the simulation does not count are 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

class HostPaths;

// Memory in /proc/[pid]/status.
inline constexpr const char* kMemoryLines =
    "VmPeak:\t       0 kB\nVmSize:\t       0 kB\nVmLck:\t       0 kB\nVmPin:\t       0 kB\nVmHWM:\t       0 "
    "kB\n"
    "VmRSS:\t       0 kB\nRssAnon:\t       0 kB\nRssFile:\t       0 kB\nRssShmem:\t       0 kB\nVmData:\t    "
    "   0 kB\n"
    "VmStk:\t       0 kB\nVmExe:\t       0 kB\nVmLib:\t       0 kB\nVmPTE:\t       0 kB\nVmSwap:\t       0 "
    "kB\n"
    "HugetlbPages:\t       0 kB\n";

// `native`: /proc/[pid] on the machine. `number_of`: inode number, as programs see it, of a file of the
// machine.
void add_memory_files(
    VirtualTree& tree, Process& process, const std::string& folder, const std::string& native,
    const HostPaths& paths,
    const std::function<std::uint64_t(std::uint64_t device, std::uint64_t inode)>& number_of);

}  // namespace verbatim::supervisor
