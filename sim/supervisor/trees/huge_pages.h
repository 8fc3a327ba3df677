// The huge pages of one host: how many there are, and who has them. A page is taken when it is mapped, and not, as Linux
// does it, reserved then and taken when it is touched: touching is not seen. A copy of a process uses what it has inherited
// without being counted for it; a file's pages are free again when nobody maps it any more.
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

  // Device and inode on the machine.
  using File = std::pair<std::uint64_t, std::uint64_t>;

  // False: there are not as many free.
  bool take(unsigned kind, std::uint32_t pid, std::uint64_t pages);
  void give(unsigned kind, std::uint32_t pid, std::uint64_t pages);
  bool take_file(unsigned kind, std::uint32_t pid, std::uint64_t pages, const File& file);
  void give_file(unsigned kind, std::uint32_t pid, const File& file);
  // The process has ended, or another program has taken it over.
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

// What /proc/meminfo tells of the pool.
std::string huge_page_lines(const HugePagePool& pool);
// /sys/kernel/mm/hugepages and those of the node. `pool` outlives the tree.
void add_huge_pages(VirtualTree& tree, const HugePagePool& pool);

}  // namespace verbatim::supervisor
