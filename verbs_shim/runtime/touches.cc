#include "verbs_shim/runtime/touches.h"

#include "verbs_shim/protocol/placements.h"
#include "verbs_shim/protocol/touches.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

bool touch_memory(std::int64_t until_ps) {
  auto& list = *reinterpret_cast<protocol::TouchList*>(protocol::kRegionAddress + protocol::kTouchesOffset);
  protocol::ThreadSlot& slot = *my_slot;
  while (list.done < list.count && list.done < protocol::kMostTouches) {
    const protocol::MemoryTouch& touch = list.touches[list.done];
    slot.next_touch_ps = touch.due_ps;
    if (touch.due_ps > until_ps) return true;
    void* const program = reinterpret_cast<void*>(touch.address);
    void* const bytes = &list.bytes[touch.offset % protocol::kTouchedBytes];
    const bool is_write = touch.is_write != 0;
    if (!copy_bytes(is_write ? program : bytes, is_write ? bytes : program, touch.length)) return false;
    ++list.done;
  }
  slot.next_touch_ps = protocol::kNoTouch;
  return true;
}

bool take_placements() {
  const auto& list = *reinterpret_cast<const protocol::PlacementList*>(protocol::kRegionAddress + protocol::kPlacementsOffset);
  const std::uint32_t count = my_slot->placements;
  for (std::uint32_t i = 0; i < count && i < protocol::kMostPlacements; ++i) {
    const protocol::Placement& placement = list.placements[i];
    const void* const bytes = &list.bytes[placement.offset % protocol::kPlacedBytes];
    if (!copy_bytes(reinterpret_cast<void*>(placement.address), bytes, placement.length)) return false;
  }
  return true;
}

}  // namespace verbatim::shim
