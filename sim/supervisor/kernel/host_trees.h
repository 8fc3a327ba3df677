// The trees that programs see: those of their host and /proc (trees/virtual_tree.h), and paths through them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

class HostTrees {
 public:
  HostTrees(const CallServices& services, std::deque<HostKernel>& host_kernels,
            const std::vector<HostSpec>& hosts)
      : services_(services), host_kernels_(host_kernels), hosts_(hosts) {}

  // Follows an absolute path through the trees. `follow`: also a link at its end.
  TreeWalk walk(Thread& thread, const std::string& path, bool follow);
  // The tree, as the thread sees it, that contains `path`.
  std::shared_ptr<const VirtualTree> tree_of(Thread& thread, const std::string& path);

  // Number of calls denied because the trees lack the file or cannot be changed.
  std::uint64_t refused_files() const { return refused_files_; }
  void count_refused_file() { ++refused_files_; }

 private:
  HostKernel& host_of(Thread& thread) { return host_kernels_[thread.process().host_index()]; }

  const CallServices& services_;
  std::deque<HostKernel>& host_kernels_;
  const std::vector<HostSpec>& hosts_;
  VirtualNode::Text hosts_file_;  // shared by the trees: it is long with thousands of hosts
  std::uint64_t refused_files_ = 0;
};

// 1003 for "/proc/1003/fd" and paths below it, else 0.
std::uint32_t process_of_descriptors(const std::string& path);
// Link text of an open file in /proc/PID/fd.
std::string link_of(HostKernel& host, const VirtualFilePtr& file);

}  // namespace verbatim::supervisor
