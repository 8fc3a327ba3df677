// Pages of one simulated program's memory, as they are until a program runs or memory is written. Who looks at the same places
// again and again meanwhile, as the analysis of a loop does, asks the kernel once.
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

  // The memory is about to go.
  void forget(const ProcessMemory& memory) {
    if (owner_ == &memory) owner_ = nullptr;
  }
  // Copies the ranges one after the other. `again`: they will be looked at the next time, too, and are then read ahead.
  // False: they cannot be had this way, being too many or not mapped in whole.
  bool copy(const ProcessMemory& memory, std::span<const spin::MemoryRange> ranges, std::uint8_t* to, bool again);
  // Keeps lines of pages that somebody else has read, as they are now: one after the other at `lines`.
  void keep(const ProcessMemory& memory, std::span<const protocol::PageLines> pages, const std::uint8_t* lines);
  // What was last copied to be looked at again.
  std::vector<protocol::PageLines> looked_at(const ProcessMemory& memory);

 private:
  static constexpr std::size_t kMost = 96;  // pages
  static constexpr std::size_t kSlots = 128;
  struct Page {
    std::uint64_t number = 0;
    std::uint64_t present = 0;  // lines, one bit each
    std::uint64_t noted = 0;    // of these, such that will be looked at again
  };
  using Bytes = std::array<std::uint8_t, kPageSize>;

  void turn_to(const ProcessMemory& memory);
  void note_looked_at();
  std::size_t index_of(std::uint64_t number) const;
  void add(std::uint64_t number, std::uint64_t present);
  // False: there is no room.
  bool want(std::span<const spin::MemoryRange> ranges);
  bool want(std::uint64_t number, std::uint64_t lines);
  bool read(const ProcessMemory& memory, std::size_t from);

  const ProcessMemory* owner_ = nullptr;
  std::uint64_t epoch_ = 0;  // of the owner's memory, in which the pages were read
  bool is_ahead_ = false;  // what was looked at the last time has been read
  std::vector<Page> pages_;
  std::vector<Bytes> bytes_;                  // of each page; kMost, once one was read
  std::array<std::uint8_t, kSlots> slots_{};  // by number: where the page may lie
};

}  // namespace verbatim::supervisor
