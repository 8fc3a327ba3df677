#include "sim/supervisor/spin/code_cache.h"

#include <algorithm>
#include <cstring>

namespace verbatim::spin {

void CodeCache::invalidate() {
  entries_ = {};  // with the memory of the table itself
  if (recent_ != nullptr) recent_->fill(nullptr);
}

void CodeCache::begin() {
  ++analysis_;
  if (entries_.size() > kMaxEntries) invalidate();
  recent_ = std::make_unique<std::array<Entry*, kRecent>>();
}

const Instruction* CodeCache::find(std::uint64_t address, MemoryView& memory) {
  auto [place, is_new] = entries_.try_emplace(address);
  Entry& entry = place->second;
  if (entry.analysis != analysis_) {
    bool fresh = is_new || entry.instruction.length == 0;
    if (!fresh) {
      const std::uint64_t first = address & ~std::uint64_t{MemoryView::kPageSize - 1};
      const std::uint64_t last =
          (address + entry.instruction.length - 1) & ~std::uint64_t{MemoryView::kPageSize - 1};
      if (!memory.is_fixed_code(first) || (last != first && !memory.is_fixed_code(last))) {
        std::uint8_t now[sizeof entry.instruction.bytes];
        const unsigned length = entry.instruction.length;
        fresh = memory.read_code(address, now, length) != length ||
                std::memcmp(now, entry.instruction.bytes, length) != 0;
      }
      // What could not be decoded because bytes were missing may have got them.
      fresh = fresh || entry.instruction.refusal == Reason::kUnreadable;
    }
    if (fresh) {
      std::uint8_t bytes[sizeof entry.instruction.bytes];
      entry.instruction = decode(address, bytes, memory.read_code(address, bytes, sizeof bytes));
    }
    entry.analysis = analysis_;
    if (!memory.mark_executed(address, std::max<unsigned>(entry.instruction.length, 1))) {
      entry.analysis = 0;
      return nullptr;
    }
  }
  (*recent_)[address % kRecent] = &entry;
  return &entry.instruction;
}

}  // namespace verbatim::spin
