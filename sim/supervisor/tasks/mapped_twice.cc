#include "sim/supervisor/tasks/mapped_twice.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kPage = spin::MemoryView::kPageSize;

struct FilePage {
  std::uint64_t device = 0, inode = 0, offset = 0;
  std::uint64_t address = 0;
  bool is_shared = false;

  auto file() const { return std::tie(device, inode, offset); }
};

void add_pages(std::uint64_t address, std::uint64_t length, std::vector<std::uint64_t>& pages) {
  if (length == 0 || ProcessMemory::is_in_region(address, length)) return;
  for (std::uint64_t page = address / kPage * kPage; page < address + length; page += kPage) pages.push_back(page);
}

// The pages of a file among `pages`.
std::vector<FilePage> file_pages(ProcessMemory& memory, std::vector<std::uint64_t> pages) {
  std::ranges::sort(pages);
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  std::vector<FilePage> found;
  for (const std::uint64_t page : pages) {
    if (memory.is_private(page, kPage)) continue;
    const auto mapping = memory.mapping_at(page);
    if (!mapping || (!mapping->is_shared && mapping->inode == 0)) continue;
    found.push_back({mapping->device, mapping->inode, mapping->offset + (page - mapping->begin), page, mapping->is_shared});
  }
  return found;
}

}  // namespace

bool are_private(const ProcessMemory& memory, std::span<const spin::MemoryRange> ranges) {
  std::uint64_t asked_before = 0;  // end of the pages that were asked for
  for (const spin::MemoryRange& range : ranges) {
    const std::uint64_t begin = std::max(range.address, asked_before), end = range.address + range.length;
    if (begin >= end || ProcessMemory::is_in_region(range.address, range.length)) continue;
    if (!memory.is_private(begin, end - begin)) return false;
    asked_before = (end - 1) / kPage * kPage + kPage;
  }
  return true;
}

bool are_mapped_twice(ProcessMemory& memory, std::span<const spin::MemoryRange> changed, std::span<const spin::ByteRun> reads,
                      std::span<const spin::ByteRun> writes) {
  std::vector<std::uint64_t> pages;
  for (const spin::MemoryRange& range : changed) add_pages(range.address, range.length, pages);
  std::vector<FilePage> stored_to = file_pages(memory, std::move(pages));
  std::erase_if(stored_to, [](const FilePage& page) { return !page.is_shared; });
  if (stored_to.empty()) return false;
  std::vector<std::uint64_t> accessed;
  for (const std::span<const spin::ByteRun> runs : {reads, writes}) {
    for (const spin::ByteRun& run : runs) add_pages(run.address, run.bytes.size(), accessed);
  }
  const std::vector<FilePage> others = file_pages(memory, std::move(accessed));
  return std::ranges::any_of(stored_to, [&](const FilePage& page) {
    return std::ranges::any_of(others, [&](const FilePage& other) {
      return other.address != page.address && other.file() == page.file();
    });
  });
}

}  // namespace verbatim::supervisor
