// What adapters have written to the memory of a process while none of its threads ran: the thread that gets the token puts it
// there before anything else, which costs it a copy, and the simulator no call of the kernel.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/touches.h"

namespace verbatim::protocol {

struct Placement {
  std::uint64_t address;  // of the program
  std::uint32_t length;
  std::uint32_t offset;  // of as many bytes in PlacementList::bytes
};
inline constexpr std::uint32_t kMostPlacements = 64;
inline constexpr std::uint32_t kPlacedBytes = 16 << 10;

// The first ThreadSlot::placements of them, one after the other: of two that overlap the later counts.
struct PlacementList {
  Placement placements[kMostPlacements];
  alignas(64) std::uint8_t bytes[kPlacedBytes];
};

// Few processes have one, as of touches.
inline constexpr std::uint64_t kPlacementsOffset = kTouchesOffset + (sizeof(TouchList) + 4095) / 4096 * 4096;
static_assert(kPlacementsOffset + sizeof(PlacementList) <= kHighDescriptorsOffset);

}  // namespace verbatim::protocol
