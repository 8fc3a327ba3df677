// Packet memory of a device for links without credits, as specified at the heads of
// sim/fabric/shared_buffer.h and switch_buffer.h. Each cell is counted where it is.
#pragma once

#include <algorithm>
#include <cstdint>

namespace verbatim::timing::clocked {

// A lane of an ingress port; all in cells.
struct MemoryGroup {
  bool is_lossless = false;
  std::uint64_t reserve = 0, headroom = 0, resume_offset = 0;
  int alpha = 0;  // power of two
  std::uint64_t in_reserve = 0, in_pool = 0, in_headroom = 0;

  bool is_empty() const { return in_reserve + in_pool + in_headroom == 0; }
};

struct PacketMemory {
  std::uint64_t cell_bytes = 64;
  std::uint64_t free_pool = 0;  // cells

  std::uint64_t cells(std::uint64_t bytes) const {
    std::uint64_t count = 0;
    while (count * cell_bytes < bytes) ++count;
    return count;
  }
  // 2^alpha times what is free of the pool, whole cells.
  std::uint64_t threshold(int alpha) const {
    std::uint64_t cells = free_pool;
    for (int i = 0; i < alpha; ++i) cells *= 2;
    for (int i = 0; i > alpha; --i) cells /= 2;
    return cells;
  }

  // Reserve first, then the pool up to the threshold, else headroom; false: no room.
  bool take(MemoryGroup& group, std::uint64_t bytes) {
    const std::uint64_t needed = cells(bytes);
    const std::uint64_t from_reserve = std::min(needed, group.reserve - group.in_reserve);
    const std::uint64_t from_pool = needed - from_reserve;
    if (from_pool == 0 || (from_pool <= free_pool && group.in_pool + from_pool <= threshold(group.alpha))) {
      group.in_reserve += from_reserve;
      group.in_pool += from_pool;
      free_pool -= from_pool;
      return true;
    }
    if (!group.is_lossless || group.in_headroom + needed > group.headroom) return false;
    group.in_headroom += needed;
    return true;
  }
  // Headroom first, then the pool, then the reserve.
  void give_back(MemoryGroup& group, std::uint64_t bytes) {
    for (std::uint64_t left = cells(bytes); left > 0; --left) {
      if (group.in_headroom > 0) {
        --group.in_headroom;
      } else if (group.in_pool > 0) {
        --group.in_pool;
        ++free_pool;
      } else {
        --group.in_reserve;
      }
    }
  }

  // The group has used up its reserve and its share of the pool. Threshold and pool are those of this moment.
  bool is_full(const MemoryGroup& group) const {
    if (!group.is_lossless || group.is_empty()) return false;
    return group.in_headroom > 0 || group.in_reserve + group.in_pool >= group.reserve + threshold(group.alpha);
  }
  bool has_room_again(const MemoryGroup& group) const {
    if (group.is_empty()) return true;
    return !is_full(group) &&
           group.in_reserve + group.in_pool + group.resume_offset <= group.reserve + threshold(group.alpha);
  }
};

}  // namespace verbatim::timing::clocked
