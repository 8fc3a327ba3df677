#include "sim/hca/arena.h"

#include <algorithm>
#include <cstring>

#include "sim/core/check.h"

namespace verbatim::hca {

Arena::Arena(std::span<std::byte> memory) : memory_(memory) {
  const std::uint64_t size = memory.size() & ~std::uint64_t{63};
  if (size > 0) free_[0] = size;
}

std::optional<std::uint64_t> Arena::allocate(std::uint64_t size) {
  if (size == 0 || size > memory_.size()) return std::nullopt;
  size = round_up(size);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < size) continue;
    const std::uint64_t offset = it->first;
    const std::uint64_t rest = it->second - size;
    free_.erase(it);
    if (rest > 0) free_[offset + size] = rest;
    in_use_ += size;
    // Old completions must not look like new ones. Memory never handed out is zero, and stays untouched: it
    // is sparse. A program that wrote there all the same deceives only itself.
    const std::uint64_t dirty_end = std::min(offset + size, high_water_);
    if (offset < dirty_end) std::memset(memory_.data() + offset, 0, dirty_end - offset);
    high_water_ = std::max(high_water_, offset + size);
    return offset;
  }
  return std::nullopt;
}

void Arena::release(std::uint64_t offset, std::uint64_t size) {
  size = round_up(size);
  CHECK(in_use_ >= size);
  in_use_ -= size;
  auto [it, inserted] = free_.emplace(offset, size);
  CHECK(inserted);
  const auto next = std::next(it);
  if (next != free_.end()) {
    CHECK(offset + size <= next->first);
    if (offset + size == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
  }
  if (it != free_.begin()) {
    const auto previous = std::prev(it);
    CHECK(previous->first + previous->second <= offset);
    if (previous->first + previous->second == offset) {
      previous->second += it->second;
      free_.erase(it);
    }
  }
}

}  // namespace verbatim::hca
