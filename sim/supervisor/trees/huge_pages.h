// Huge pages of one host: their number and their owners. A page is taken when it is mapped (Linux reserves it
// then and takes it at the first access, which the simulator does not see). A forked process uses inherited
// pages without being charged. Pages of a file are free again when no process maps it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::supervisor {

class VirtualTree;

class HugePagePool {
 public:
  explicit HugePagePool(const HugePageCounts& total) : total_(total) {}

  // Device and inode number on the machine.
  using File = std::pair<std::uint64_t, std::uint64_t>;

  // False: too few free pages.
  bool take(unsigned kind, std::uint32_t pid, std::uint64_t pages);
  void give(unsigned kind, std::uint32_t pid, std::uint64_t pages);
  bool take_file(unsigned kind, std::uint32_t pid, std::uint64_t pages, const File& file);
  void give_file(unsigned kind, std::uint32_t pid, const File& file);
  // The process has ended or called exec: frees its pages.
  void forget(std::uint32_t pid);

  std::uint64_t total(unsigned kind) const { return total_[kind]; }
  std::uint64_t free(unsigned kind) const { return total_[kind] - taken_[kind]; }

 private:
  struct MappedFile {
    std::uint64_t pages = 0;
    std::set<std::uint32_t> mapped_by;
  };
  HugePageCounts total_;
  HugePageCounts taken_{};
  std::map<std::uint32_t, HugePageCounts> of_process_;
  std::array<std::map<File, MappedFile>, protocol::kHugePageKinds> files_;
};

// The lines of /proc/meminfo about huge pages.
std::string huge_page_lines(const HugePagePool& pool);
// Adds /sys/kernel/mm/hugepages and the node's hugepages folder. `pool` outlives the tree.
void add_huge_pages(VirtualTree& tree, const HugePagePool& pool);

}  // namespace verbatim::supervisor
