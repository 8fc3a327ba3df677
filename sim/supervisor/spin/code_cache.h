// Decoded instructions of one program, kept between analyses. Whether an instruction is found here or decoded
// anew changes nothing but the time it takes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/memory_view.h"

namespace verbatim::spin {

class CodeCache {
 public:
  // Forgets everything. Needed when a page that CodeMemory::is_fixed_code vouched for has been unmapped or
  // replaced: exec, munmap, mmap over it, mprotect.
  void invalidate();

  // A new analysis: code that is not fixed is compared with memory when it is first used.
  void begin();
  // The analysis is over.
  void end() { recent_.reset(); }

  // The instruction at `address`; nullptr when the analysis has written into its page.
  const Instruction* fetch(std::uint64_t address, MemoryView& memory) {
    const Entry* const recent = (*recent_)[address % kRecent];
    if (recent != nullptr && recent->instruction.address == address && recent->analysis == analysis_)
        [[likely]] {
      return &recent->instruction;
    }
    return find(address, memory);
  }

 private:
  struct Entry {
    Instruction instruction;
    std::uint64_t analysis = 0;  // in which it was last found right
  };
  static constexpr std::size_t kMaxEntries = 1 << 16, kRecent = 1024;

  const Instruction* find(std::uint64_t address, MemoryView& memory);

  std::unordered_map<std::uint64_t, Entry> entries_;  // looked up, never walked
  std::unique_ptr<std::array<Entry*, kRecent>> recent_;  // during an analysis
  std::uint64_t analysis_ = 0;
};

}  // namespace verbatim::spin
