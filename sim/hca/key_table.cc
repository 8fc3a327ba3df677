#include "sim/hca/key_table.h"

namespace verbatim::hca {

std::uint32_t KeyTable::add(MemoryRegion& region) {
  std::uint32_t index = 0;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    if (entries_.size() + kFirstIndex >= (1u << 24)) return 0;
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  }
  Entry& entry = entries_[index];
  entry.region = &region;
  ++entry.variant;
  return ((index + kFirstIndex) << 8) | entry.variant;
}

void KeyTable::remove(std::uint32_t key) {
  CHECK(find(key) != nullptr);
  const std::uint32_t index = (key >> 8) - kFirstIndex;
  entries_[index].region = nullptr;
  free_.push_back(index);
}

MemoryRegion* KeyTable::find(std::uint32_t key) const {
  const std::uint32_t index = (key >> 8) - kFirstIndex;  // wraps for small numbers
  if (index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[index];
  return entry.variant == (key & 0xff) ? entry.region : nullptr;
}

KeyCheck KeyTable::check(std::uint32_t key, const Context& context, std::uint32_t pd, std::uint64_t va,
                         std::uint64_t length, std::uint32_t access) const {
  MemoryRegion* region = find(key);
  if (region == nullptr || region->context != &context || region->pd != pd) return {};
  if ((region->access & access) != access) return {};
  constexpr std::uint32_t kRemote = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;
  if (region->is_invalidated && (access & kRemote) != 0) return {};
  if (va < region->iova || length > region->length || va - region->iova > region->length - length) return {};
  return {region, region->start + (va - region->iova)};
}

}  // namespace verbatim::hca
