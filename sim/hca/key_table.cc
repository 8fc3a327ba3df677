#include "sim/hca/key_table.h"

#include "sim/hca/adapter_memory.h"

namespace verbatim::hca {

namespace {
bool is_within(std::uint64_t va, std::uint64_t length, std::uint64_t start, std::uint64_t whole) {
  return va >= start && length <= whole && va - start <= whole - length;
}

// Pages of a region with on-demand paging must be mapped when they are used; other regions were checked at
// registration.
KeyCheck on_demand(MemoryRegion& region, host::ProgramAddress address, std::uint64_t length, std::uint32_t access) {
  if ((region.access & ib::kOnDemand) == 0 || length == 0) return {&region, address};
  const bool writes = (access & (ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteAtomic)) != 0;
  if (!region.context->program.memory->is_mapped(address, length, writes)) return {};
  return {&region, address};
}

}  // namespace

std::uint32_t KeyTable::add(const Entry& named, Choice choice) {
  constexpr std::size_t kMost = (1u << 24) - kFirstIndex;
  std::uint32_t index = 0;
  const bool is_reused = !free_.empty() && (choice != Choice::kNewIndex || entries_.size() >= kMost);
  if (is_reused) {
    index = free_.back();
    free_.pop_back();
  } else {
    if (entries_.size() >= kMost) return 0;
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  }
  Entry& entry = entries_[index];
  entry.region = named.region;
  entry.window = named.window;
  if (!is_reused || choice != Choice::kSameAgain) ++entry.variant;
  return ((index + kFirstIndex) << kVariantBits) | entry.variant;
}

void KeyTable::remove(std::uint32_t key) {
  CHECK(entry_of(key) != nullptr);
  const std::uint32_t index = index_of(key) - kFirstIndex;
  entries_[index].region = nullptr;
  entries_[index].window = nullptr;
  free_.push_back(index);
}

void KeyTable::rename(MemoryWindow& window, std::uint8_t variant) {
  CHECK(find_window(window.key) == &window);
  entries_[index_of(window.key) - kFirstIndex].variant = variant;
  window.key = (index_of(window.key) << kVariantBits) | variant;
}

const KeyTable::Entry* KeyTable::entry_of(std::uint32_t key) const {
  const std::uint32_t index = index_of(key) - kFirstIndex;  // wraps for small numbers
  if (index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[index];
  return entry.variant == variant_of(key) && (entry.region != nullptr || entry.window != nullptr) ? &entry : nullptr;
}

MemoryRegion* KeyTable::find(std::uint32_t key) const {
  const Entry* entry = entry_of(key);
  if (entry == nullptr) return nullptr;
  return entry->window != nullptr ? entry->window->region : entry->region;
}

bool KeyTable::was_given(std::uint32_t key) const {
  const std::uint32_t index = index_of(key) - kFirstIndex;
  return index < entries_.size() && variant_of(key) <= entries_[index].variant && variant_of(key) > 0;
}

MemoryWindow* KeyTable::find_window(std::uint32_t key) const {
  const Entry* entry = entry_of(key);
  return entry == nullptr ? nullptr : entry->window;
}

KeyCheck KeyTable::check(std::uint32_t key, const Context& context, std::uint32_t pd, std::uint64_t va,
                         std::uint64_t length, std::uint32_t access) const {
  const Entry* entry = entry_of(key);
  return check(entry == nullptr ? nullptr : entry->region, context, pd, va, length, access);
}

KeyCheck KeyTable::check(MemoryRegion* region, const Context& context, std::uint32_t pd, std::uint64_t va,
                         std::uint64_t length, std::uint32_t access) {
  if (region == nullptr || &region->context->objects != &context.objects || region->pd != pd) return {};
  if ((region->access & access) != access) return {};
  if (!is_within(va, length, region->iova, region->length)) return {};
  if (region->start == kNullMemory) return {region, kNullMemory};
  return on_demand(*region, region->start + (va - region->iova), length, access);
}

KeyCheck KeyTable::check_remote(std::uint32_t key, const QueuePair* qp, const Context& context, std::uint32_t pd,
                                std::uint64_t va, std::uint64_t length, std::uint32_t access) const {
  const Entry* entry = entry_of(key);
  if (entry == nullptr) return {};
  const MemoryWindow* window = entry->window;
  if (window == nullptr) return check(entry->region, context, pd, va, length, access);
  if (window->region == nullptr || &window->context->objects != &context.objects) return {};
  const bool serves = window->type == MemoryWindow::kType1 ? window->pd == pd : window->qp.get() == qp;
  if (!serves || (window->access & access) != access) return {};
  const std::uint64_t first = (window->access & ib::kZeroBased) != 0 ? 0 : window->start;
  if (!is_within(va, length, first, window->length)) return {};
  MemoryRegion& region = *window->region;
  return on_demand(region, region.start + (window->start - region.iova) + (va - first), length, access);
}

}  // namespace verbatim::hca
