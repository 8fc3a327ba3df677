// A program's memory and registers, as input for the interpreter of its code (spin/).
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/spin/code_memory.h"
#include "sim/supervisor/spin/registers.h"

namespace verbatim::supervisor {

// The program's memory with its original code instead of patched instructions. Memory shared with the
// simulator is unreadable here, because it changes with virtual time.
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

  // Pages of private file mappings change by calls that report new code, unless they have been written to.
  bool changes_unnoticed(std::uint64_t page) override {
    const auto [asked, is_new] = asked_.try_emplace(page, true);
    if (!is_new) return asked->second;
    const auto mapping = memory_.mapping_at(page);
    const bool is_of_file = mapping && mapping->inode != 0 && !mapping->is_shared && !memory_.is_private(page, 1);
    return asked->second = !is_of_file;
  }
  // Mappings of code may have changed.
  void forget_pages() { asked_.clear(); }

  bool read_all(std::span<const spin::MemoryRange> ranges, std::uint8_t* to) override {
    if (!memory_.read_ranges(ranges, to)) return false;
    for (const spin::MemoryRange& range : ranges) {
      patches_.show_original(range.address, std::as_writable_bytes(std::span(to, range.length)));
      to += range.length;
    }
    return true;
  }

 private:
  std::unordered_map<std::uint64_t, bool> asked_;  // by page; looked up, never walked
  ProcessMemory& memory_;
  const code::CodePatches& patches_;
};

// Part of a signal frame: the registers of the interrupted thread. The memory's cache keeps the pages read
// here for the analysis that follows.
struct SavedContext {
  gregset_t general;
  std::uint64_t floating;  // address of the remaining registers (VectorContext)

  // `context`: address of the ucontext_t.
  static std::uint64_t place_in(std::uint64_t context) {
    static_assert(offsetof(mcontext_t, fpregs) == offsetof(mcontext_t, gregs) + sizeof(gregset_t));
    return context + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, gregs);
  }
  // nullopt: not readable.
  static std::optional<SavedContext> read(ProcessMemory& memory, std::uint64_t context) {
    SavedContext saved;
    const spin::MemoryRange place{place_in(context), sizeof saved};
    if (!memory.read_ranges({&place, 1}, reinterpret_cast<std::uint8_t*>(&saved))) return std::nullopt;
    return saved;
  }
};

}  // namespace verbatim::supervisor
