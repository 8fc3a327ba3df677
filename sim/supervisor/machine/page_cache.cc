#include "sim/supervisor/machine/page_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

namespace {

template <class Visit>
void for_each_page(const spin::MemoryRange& range, Visit visit) {
  if (range.length == 0) return;
  const std::uint64_t last = (range.address + range.length - 1) / PageCache::kPageSize;
  for (std::uint64_t number = range.address / PageCache::kPageSize; number <= last; ++number) visit(number);
}

}  // namespace

// pages_.size(): it is not there.
std::size_t PageCache::index_of(std::uint64_t number) const {
  const std::size_t likely = slots_[number % kSlots];
  if (likely < pages_.size() && pages_[likely].number == number) return likely;
  return static_cast<std::size_t>(std::ranges::find(pages_, number, &Page::number) - pages_.begin());
}

bool PageCache::want(std::uint64_t number) {
  if (index_of(number) != pages_.size()) return true;
  if (pages_.size() == kMost) return false;
  slots_[number % kSlots] = static_cast<std::uint8_t>(pages_.size());
  pages_.push_back({number});
  return true;
}

bool PageCache::want(std::span<const spin::MemoryRange> ranges) {
  bool has_room = true;
  for (const spin::MemoryRange& range : ranges) {
    // A program may have written any address where a pointer belongs.
    const bool wraps = range.address + range.length < range.address;
    if (wraps || ProcessMemory::is_in_region(range.address, range.length) || range.length > kMost * kPageSize) return false;
    for_each_page(range, [&](std::uint64_t number) { has_room = has_room && want(number); });
  }
  return has_room;
}

// The pages from `from` on. False: one is not mapped, and none of them is kept.
bool PageCache::read(const ProcessMemory& memory, std::size_t from) {
  std::vector<spin::MemoryRange> ranges;
  for (const Page& page : std::span(pages_).subspan(from)) ranges.push_back({page.number * kPageSize, kPageSize});
  if (memory.copy_uncached(ranges, bytes_[from].data())) return true;
  pages_.resize(from);
  return false;
}

bool PageCache::copy(const ProcessMemory& memory, std::span<const spin::MemoryRange> ranges, std::uint8_t* to,
                     bool again) {
  if (owner_ != &memory || epoch_ != memory.epoch()) {
    owner_ = &memory;
    epoch_ = memory.epoch();
    is_ahead_ = false;
    pages_.clear();
    bytes_.resize(kMost);
  }
  const std::size_t before = pages_.size();
  if (!want(ranges)) {
    pages_.resize(before);
    return false;
  }
  const std::size_t wanted = pages_.size();
  // Unless it has been done already.
  if (again && !is_ahead_) {
    is_ahead_ = true;
    for (const std::uint64_t number : std::exchange(memory.looked_at_, {})) want(number);
  }
  const bool has_more = pages_.size() > wanted;
  if (pages_.size() > before && !read(memory, before)) {
    // Perhaps it is one of those only that is not mapped any more.
    if (!has_more || !want(ranges) || !read(memory, before)) return false;
  }
  for (const spin::MemoryRange& range : ranges) {
    for_each_page(range, [&](std::uint64_t number) {
      const std::size_t index = index_of(number);
      if (again && !std::exchange(pages_[index].is_noted, true)) memory.looked_at_.push_back(number);
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
