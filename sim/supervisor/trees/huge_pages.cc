#include "sim/supervisor/trees/huge_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

bool HugePagePool::take(unsigned kind, std::uint32_t pid, std::uint64_t pages) {
  if (pages > free(kind)) return false;
  taken_[kind] += pages;
  of_process_[pid][kind] += pages;
  return true;
}

void HugePagePool::give(unsigned kind, std::uint32_t pid, std::uint64_t pages) {
  const auto found = of_process_.find(pid);
  if (found == of_process_.end()) return;
  const std::uint64_t given = std::min(pages, found->second[kind]);
  found->second[kind] -= given;
  taken_[kind] -= given;
}

bool HugePagePool::take_file(unsigned kind, std::uint32_t pid, std::uint64_t pages, const File& file) {
  const auto found = files_[kind].find(file);
  const std::uint64_t has = found == files_[kind].end() ? 0 : found->second.pages;
  const std::uint64_t more = pages > has ? pages - has : 0;
  if (more > free(kind)) return false;
  taken_[kind] += more;
  MappedFile& mapped = files_[kind][file];
  mapped.pages += more;
  mapped.mapped_by.insert(pid);
  return true;
}

void HugePagePool::give_file(unsigned kind, std::uint32_t pid, const File& file) {
  const auto found = files_[kind].find(file);
  if (found == files_[kind].end() || found->second.mapped_by.erase(pid) == 0 || !found->second.mapped_by.empty()) return;
  taken_[kind] -= found->second.pages;
  files_[kind].erase(found);
}

void HugePagePool::forget(std::uint32_t pid) {
  for (unsigned kind = 0; kind < protocol::kHugePageKinds; ++kind) {
    give(kind, pid, total_[kind]);
    for (auto it = files_[kind].begin(); it != files_[kind].end();) give_file(kind, pid, (it++)->first);
  }
  of_process_.erase(pid);
}

std::string huge_page_lines(const HugePagePool& pool) {
  std::uint64_t all = 0;
  for (unsigned kind = 0; kind < protocol::kHugePageKinds; ++kind) {
    all += pool.total(kind) * (protocol::kHugePageSize[kind] >> 10);
  }
  return fmt::format(
      "HugePages_Total:   {:5}\nHugePages_Free:    {:5}\nHugePages_Rsvd:        0\nHugePages_Surp:        0\n"
      "Hugepagesize:       2048 kB\nHugetlb:        {:8} kB\n",
      pool.total(0), pool.free(0), all);
}

void add_huge_pages(VirtualTree& tree, const HugePagePool& pool) {
  for (const bool of_node : {false, true}) {
    const std::string folder = of_node ? "/sys/devices/system/node/node0/hugepages" : "/sys/kernel/mm/hugepages";
    for (unsigned kind = 0; kind < protocol::kHugePageKinds; ++kind) {
      const std::string at = fmt::format("{}/hugepages-{}kB/", folder, protocol::kHugePageSize[kind] >> 10);
      tree.add_file(at + "nr_hugepages", fmt::format("{}\n", pool.total(kind)));
      tree.add_file(at + "free_hugepages", [&pool, kind] { return fmt::format("{}\n", pool.free(kind)); });
      tree.add_file(at + "surplus_hugepages", "0\n");
      if (of_node) continue;
      tree.add_file(at + "nr_hugepages_mempolicy", fmt::format("{}\n", pool.total(kind)));
      tree.add_file(at + "nr_overcommit_hugepages", "0\n");
      tree.add_file(at + "resv_hugepages", "0\n");
    }
    tree.mark_complete(folder);
  }
}

}  // namespace verbatim::supervisor
