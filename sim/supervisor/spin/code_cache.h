// Decoded instructions of one program, kept between analyses. The cache affects time only, never results.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/memory_view.h"

namespace verbatim::spin {

class CodeCache {
 public:
  // Clears the cache. Required when a page for which CodeMemory::is_fixed_code() returned true is unmapped or
  // replaced: by exec, munmap, mmap over it, mprotect.
  void invalidate();

  // Begins an analysis. Code that is not fixed is compared with memory, line by line, at its first use.
  void begin();

  // Code that this analysis has looked at and that changes unnoticed (CodeMemory), in lines; sorted.
  std::vector<ByteRun> changing_lines(MemoryView& memory) const;

  // The instruction at `address`. nullptr: the analysis has written into its page.
  const Instruction* fetch(std::uint64_t address, MemoryView& memory) {
    Entry* const recent = (*recent_)[address % kRecent];
    if (recent != nullptr && recent->instruction.address == address &&
        (recent->analysis == analysis_ || is_unchanged(*recent, memory))) [[likely]] {
      return &recent->instruction;
    }
    return find(address, memory);
  }

 private:
  // Bytes of code as last read.
  struct Line {
    std::uint64_t analysis = 0;  // the analysis that read them
    std::uint64_t changes = 0;   // number of changes seen
    bool is_readable = false;
    std::array<std::uint8_t, MemoryView::kLineSize> bytes;
  };
  struct Entry {
    Instruction instruction;
    std::uint64_t analysis = 0;  // the last analysis that found it unchanged
    // Lines of its first and last byte, and their `changes` when it was decoded.
    const Line* first = nullptr;
    const Line* last = nullptr;
    std::uint64_t first_changes = 0, last_changes = 0;
  };
  static constexpr std::size_t kMaxEntries = 1 << 16, kRecent = kMaxEntries;

  const Instruction* find(std::uint64_t address, MemoryView& memory);
  const Line* look(std::uint64_t address, MemoryView& memory);
  bool is_unchanged(Entry& entry, MemoryView& memory);
  bool decode_anew(Entry& entry, std::uint64_t address, const Line& first, MemoryView& memory);

  std::unordered_map<std::uint64_t, Entry> entries_;  // looked up, never walked
  std::unordered_map<std::uint64_t, Line> lines_;     // by address / kLineSize; looked up, never walked
  std::unique_ptr<std::array<Entry*, kRecent>> recent_;
  std::uint64_t analysis_ = 0;
  std::vector<std::uint64_t> looked_at_;  // addresses of the lines of this analysis
};

}  // namespace verbatim::spin
