// /proc as a program sees it: the processes of its host under their virtual numbers, and what the kernel
// tells of itself, in virtual time. What does not differ from run to run is left to the real /proc.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/supervisor/process.h"
#include "sim/supervisor/virtual_tree.h"

namespace verbatim::supervisor {

struct ProcessTreeInputs {
  const ProcessTable& table;
  Instant now;
  std::int64_t epoch_ns;
  // Names of opened files, "socket:[3]".
  std::function<std::string(const VirtualFilePtr&)> link_of;
};

// As `viewer` sees it now; files are read at once or soon.
std::shared_ptr<const VirtualTree> make_process_tree(Thread& viewer, const ProcessTreeInputs& inputs);

// The number in a path that names an open descriptor of `process` itself ("/dev/fd/3", "/proc/self/fd/3",
// "/dev/stdin").
std::optional<int> descriptor_of_path(const std::string& path, const Process& process);

}  // namespace verbatim::supervisor
