// What adapters of the host do to the memory of a process while one of its threads runs ahead of them: the thread does it in
// their place when its clock comes there. The list is made whenever a thread gets the token with a horizon.
#pragma once

#include <cstdint>
#include <limits>

#include "verbs_shim/protocol/region.h"

namespace verbatim::protocol {

struct MemoryTouch {
  std::int64_t due_ps;    // later than when the thread got the token, and before its horizon
  std::uint64_t address;  // of the program
  std::uint32_t length;
  std::uint32_t offset;   // of as many bytes in TouchList::bytes
  std::uint32_t is_write;  // 1: from there to the program; 0: to there
  std::uint32_t reserved;
};
inline constexpr std::uint32_t kMostTouches = 64;
inline constexpr std::uint32_t kTouchedBytes = 64 << 10;

struct TouchList {
  std::uint32_t count;  // in the order in which they are due
  std::uint32_t done;   // of them, from the first on; by the threads
  MemoryTouch touches[kMostTouches];
  alignas(4096) std::uint8_t bytes[kTouchedBytes];
};

// ThreadSlot::next_touch_ps when there is none.
inline constexpr std::int64_t kNoTouch = std::numeric_limits<std::int64_t>::max();

// Few processes have one: the pages are there when they are touched.
inline constexpr std::uint64_t kTouchesOffset = 1019ull << 20;
static_assert(kThreadsOffset + std::uint64_t{kMaxThreads} * sizeof(ThreadPart) <= kTouchesOffset);
static_assert(kTouchesOffset + sizeof(TouchList) <= kHighDescriptorsOffset);

}  // namespace verbatim::protocol
