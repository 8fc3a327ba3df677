// Bytes that adapters have written to a process's memory while none of its threads ran. The thread that gets
// the token stores them first: a copy by the thread replaces a kernel call by the simulator.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/touches.h"

namespace verbatim::protocol {

struct Placement {
  std::uint64_t address;  // in the program
  std::uint32_t length;
  std::uint32_t offset;  // position of the bytes in PlacementList::bytes
};
inline constexpr std::uint32_t kMostPlacements = 64;
inline constexpr std::uint32_t kPlacedBytes = 16 << 10;

// The first ThreadSlot::placements entries are valid, and are stored in order, so that the later of two that
// overlap prevails.
struct PlacementList {
  Placement placements[kMostPlacements];
  alignas(64) std::uint8_t bytes[kPlacedBytes];
};

// Few processes need it, as with touches; the pages are not prefaulted.
inline constexpr std::uint64_t kPlacementsOffset = kTouchesOffset + (sizeof(TouchList) + 4095) / 4096 * 4096;
static_assert(kPlacementsOffset + sizeof(PlacementList) <= kHighDescriptorsOffset);

}  // namespace verbatim::protocol
