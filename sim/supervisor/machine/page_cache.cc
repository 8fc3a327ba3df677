#include "sim/supervisor/machine/page_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kNoPage = ~0ull;
constexpr std::uint64_t kAllLines = ~0ull;

// Lines of page `number` that contain bytes of the range, one bit each.
std::uint64_t lines_of(const spin::MemoryRange& range, std::uint64_t number) {
  const std::uint64_t page = number * PageCache::kPageSize;
  const std::uint64_t begin = std::max(range.address, page) - page;
  const std::uint64_t end = std::min(range.address + range.length - page, PageCache::kPageSize);
  const std::uint64_t first = begin / PageCache::kLineSize, last = (end - 1) / PageCache::kLineSize;
  return ~0ull >> (63 - (last - first)) << first;
}

// Calls visit(number, lines) for every page of the range.
template <class Visit>
void for_each_page(const spin::MemoryRange& range, Visit visit) {
  if (range.length == 0) return;
  const std::uint64_t last = (range.address + range.length - 1) / PageCache::kPageSize;
  for (std::uint64_t number = range.address / PageCache::kPageSize; number <= last; ++number)
    visit(number, lines_of(range, number));
}

}  // namespace

// pages_.size(): not found.
std::size_t PageCache::index_of(std::uint64_t number) const {
  const std::size_t likely = slots_[number % kSlots];
  if (likely < pages_.size() && pages_[likely].number == number) return likely;
  return static_cast<std::size_t>(std::ranges::find(pages_, number, &Page::number) - pages_.begin());
}

void PageCache::add(std::uint64_t number, std::uint64_t present) {
  slots_[number % kSlots] = static_cast<std::uint8_t>(pages_.size());
  pages_.push_back({number, present, 0});
}

// A page of which lines are missing is read completely.
bool PageCache::want(std::uint64_t number, std::uint64_t lines) {
  const std::size_t index = index_of(number);
  if (index != pages_.size() && (pages_[index].present & lines) == lines) return true;
  if (pages_.size() == kMost) return false;
  const std::uint64_t noted = index != pages_.size() ? pages_[index].noted : 0;
  if (index != pages_.size()) pages_[index].number = kNoPage;
  add(number, kAllLines);
  pages_.back().noted = noted;
  return true;
}

bool PageCache::want(std::span<const spin::MemoryRange> ranges) {
  bool has_room = true;
  for (const spin::MemoryRange& range : ranges) {
    // Pointers of the program may have any value.
    const bool wraps = range.address + range.length < range.address;
    if (wraps || ProcessMemory::is_in_region(range.address, range.length) || range.length > kMost * kPageSize) return false;
    for_each_page(range, [&](std::uint64_t number, std::uint64_t lines) { has_room = has_room && want(number, lines); });
  }
  return has_room;
}

// Reads the pages from index `from`. False: one is not mapped, and none of them is kept.
bool PageCache::read(const ProcessMemory& memory, std::size_t from) {
  std::vector<spin::MemoryRange> ranges;
  for (const Page& page : std::span(pages_).subspan(from)) ranges.push_back({page.number * kPageSize, kPageSize});
  if (memory.copy_uncached(ranges, bytes_[from].data())) return true;
  pages_.resize(from);
  return false;
}

void PageCache::note_looked_at() {
  if (owner_ == nullptr) return;
  const auto is_noted = [](const Page& page) { return page.number != kNoPage && page.noted != 0; };
  if (std::ranges::none_of(pages_, is_noted)) return;
  owner_->looked_at_.clear();
  for (const Page& page : pages_) {
    if (is_noted(page)) owner_->looked_at_.push_back({page.number, page.noted});
  }
}

void PageCache::turn_to(const ProcessMemory& memory) {
  if (owner_ == &memory && epoch_ == memory.epoch()) return;
  note_looked_at();
  owner_ = &memory;
  epoch_ = memory.epoch();
  is_ahead_ = false;
  pages_.clear();
  bytes_.resize(kMost);
}

std::vector<protocol::PageLines> PageCache::looked_at(const ProcessMemory& memory) {
  if (owner_ == &memory) note_looked_at();
  return memory.looked_at_;
}

void PageCache::keep(const ProcessMemory& memory, std::span<const protocol::PageLines> pages, const std::uint8_t* lines) {
  turn_to(memory);
  if (!pages_.empty() || pages.size() > kMost) return;
  for (const auto& [number, brought] : pages) {
    Bytes& bytes = bytes_[pages_.size()];
    add(number, brought);
    for (std::uint64_t left = brought; left != 0; left &= left - 1, lines += kLineSize)
      std::memcpy(bytes.data() + static_cast<std::size_t>(std::countr_zero(left)) * kLineSize, lines, kLineSize);
  }
}

bool PageCache::copy(const ProcessMemory& memory, std::span<const spin::MemoryRange> ranges, std::uint8_t* to,
                     bool again) {
  turn_to(memory);
  const std::size_t before = pages_.size();
  if (!want(ranges)) {
    pages_.resize(before);
    return false;
  }
  const std::size_t wanted = pages_.size();
  // Read ahead once per epoch, and only if something has to be read anyway.
  if (again && !is_ahead_ && wanted > before) {
    is_ahead_ = true;
    for (const auto& [number, lines] : std::exchange(memory.looked_at_, {})) want(number, lines);
  }
  const bool has_more = pages_.size() > wanted;
  if (pages_.size() > before && !read(memory, before)) {
    // A page read ahead may be unmapped by now: without those, once more.
    if (!has_more || !want(ranges) || !read(memory, before)) return false;
  }
  for (const spin::MemoryRange& range : ranges) {
    for_each_page(range, [&](std::uint64_t number, std::uint64_t lines) {
      const std::size_t index = index_of(number);
      if (again) pages_[index].noted |= lines;
      const std::uint64_t page = number * kPageSize;
      const std::uint64_t begin = std::max(range.address, page);
      const std::uint64_t end = std::min(range.address + range.length, page + kPageSize);
      std::memcpy(to, bytes_[index].data() + (begin - page), end - begin);
      to += end - begin;
    });
  }
  return true;
}

}  // namespace verbatim::supervisor
