// A program's memory and registers as an interpreter of its code (spin/) wants them.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/spin/code_memory.h"
#include "sim/supervisor/spin/registers.h"

namespace verbatim::supervisor {

// The program's memory without what it shares with the simulator, which changes with virtual time; its code as it was
// before instructions were replaced in it.
class AnalysedMemory final : public spin::CodeMemory {
 public:
  AnalysedMemory(ProcessMemory& memory, const code::CodePatches& patches) : memory_(memory), patches_(patches) {}

  bool read(std::uint64_t address, void* to, std::size_t n) override {
    if (ProcessMemory::is_in_region(address, n)) return false;
    const std::span bytes(static_cast<std::byte*>(to), n);
    const spin::MemoryRange range{address, n};
    if (!memory_.read_ranges({&range, 1}, static_cast<std::uint8_t*>(to))) return false;
    patches_.show_original(address, bytes);
    return true;
  }

  bool read_all(std::span<const spin::MemoryRange> ranges, std::uint8_t* to) override {
    if (!memory_.read_ranges(ranges, to)) return false;
    for (const spin::MemoryRange& range : ranges) {
      patches_.show_original(range.address, std::as_writable_bytes(std::span(to, range.length)));
      to += range.length;
    }
    return true;
  }

 private:
  ProcessMemory& memory_;
  const code::CodePatches& patches_;
};

// What a signal has saved of its thread; pages of it are read once, and with those that a loop looks at.
struct SavedContext {
  gregset_t general;
  std::uint64_t floating;  // the address of the rest (VectorContext)

  // `context`: the address of the ucontext_t.
  static std::uint64_t place_in(std::uint64_t context) {
    static_assert(offsetof(mcontext_t, fpregs) == offsetof(mcontext_t, gregs) + sizeof(gregset_t));
    return context + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, gregs);
  }
  // nullopt: it cannot be read.
  static std::optional<SavedContext> read(ProcessMemory& memory, std::uint64_t context) {
    SavedContext saved;
    const spin::MemoryRange place{place_in(context), sizeof saved};
    if (!memory.read_ranges({&place, 1}, reinterpret_cast<std::uint8_t*>(&saved))) return std::nullopt;
    return saved;
  }
};

}  // namespace verbatim::supervisor
