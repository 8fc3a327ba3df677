// /dev and /sys files that are equal on all simulated hosts.
#include <cerrno>

#include "sim/supervisor/trees/host_tree.h"
#include "verbs_shim/protocol/huge_pages.h"

namespace verbatim::supervisor {

void add_devices(VirtualTree& tree) {
  // Device numbers of Linux' devices.txt.
  constexpr unsigned kMemory = 1, kTerminal = 5;
  const std::pair<const char*, unsigned> same_everywhere[] = {
      {"/dev/null", 3}, {"/dev/zero", 5}, {"/dev/full", 7}};
  for (const auto& [path, minor] : same_everywhere) tree.add_device(path, kMemory, minor).is_machines = true;
  tree.add_device("/dev/random", kMemory, 8);
  tree.add_device("/dev/urandom", kMemory, 9);
  // Opening /dev/tty or /dev/ptmx is special (kernel/terminals.h).
  tree.add_device("/dev/tty", kTerminal, 0).open_error = ENXIO;
  tree.add_device("/dev/console", kTerminal, 1).open_error = ENODEV;
  tree.add_device("/dev/ptmx", kTerminal, 2);
  tree.mark_complete("/dev/pts");
  tree.mark_complete("/dev/infiniband");
  tree.add_folder("/dev/shm");
  tree.add_folder(protocol::kHugeFolder);
  tree.add_link("/dev/fd", "/proc/self/fd");
  tree.add_link("/dev/stdin", "/proc/self/fd/0");
  tree.add_link("/dev/stdout", "/proc/self/fd/1");
  tree.add_link("/dev/stderr", "/proc/self/fd/2");

  // Transparent huge pages are off.
  tree.add_file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  tree.add_file("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise madvise [never]\n");
  tree.add_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
                "always within_size advise [never] deny force\n");
  tree.add_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
}

}  // namespace verbatim::supervisor
