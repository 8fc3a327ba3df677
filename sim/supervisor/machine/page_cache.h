// Cache of pages of one program's memory, valid until a program of the host runs or memory is written.
// Saves system calls for users that read the same places repeatedly, such as the analysis of a loop.
// See MEMORY_ACCESS.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/supervisor/spin/code_memory.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

class ProcessMemory;

class PageCache {
 public:
  static constexpr std::uint64_t kPageSize = 4096;
  static constexpr std::uint64_t kLineSize = protocol::kBroughtLine;  // a 64th of a page

  // The memory is about to be destroyed.
  void forget(const ProcessMemory& memory) {
    if (owner_ == &memory) owner_ = nullptr;
  }
  // Copies the ranges, concatenated. `again`: the ranges will be read again in later epochs, and are then
  // read ahead. False: they are too many, or not completely mapped; the caller must read them itself.
  bool copy(const ProcessMemory& memory, std::span<const spin::MemoryRange> ranges, std::uint8_t* to, bool again);
  // Adds lines that a thread has read, in their present state, concatenated at `lines`.
  void keep(const ProcessMemory& memory, std::span<const protocol::PageLines> pages, const std::uint8_t* lines);
  // Lines that were last copied with `again`.
  std::vector<protocol::PageLines> looked_at(const ProcessMemory& memory);

 private:
  static constexpr std::size_t kMost = 96;  // pages
  static constexpr std::size_t kSlots = 128;
  struct Page {
    std::uint64_t number = 0;
    std::uint64_t present = 0;  // valid lines, one bit each
    std::uint64_t noted = 0;    // lines copied with `again`
  };
  using Bytes = std::array<std::uint8_t, kPageSize>;

  void turn_to(const ProcessMemory& memory);
  void note_looked_at();
  std::size_t index_of(std::uint64_t number) const;
  void add(std::uint64_t number, std::uint64_t present);
  // False: the cache is full.
  bool want(std::span<const spin::MemoryRange> ranges);
  bool want(std::uint64_t number, std::uint64_t lines);
  bool read(const ProcessMemory& memory, std::size_t from);

  const ProcessMemory* owner_ = nullptr;
  std::uint64_t epoch_ = 0;  // of the owner's memory, in which the pages were read
  bool is_ahead_ = false;  // the lines of the last epoch have been read ahead
  std::vector<Page> pages_;
  std::vector<Bytes> bytes_;                  // one per page; kMost after the first read
  std::array<std::uint8_t, kSlots> slots_{};  // by page number modulo kSlots: likely index in pages_
};

}  // namespace verbatim::supervisor
