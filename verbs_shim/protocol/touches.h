// Memory accesses of the host's adapters that fall into the time for which a thread runs ahead of them. The
// thread performs each one when its clock reaches the due time. The list is built whenever a thread gets the
// token with a horizon.
#pragma once

#include <cstdint>
#include <limits>

#include "verbs_shim/protocol/region.h"

namespace verbatim::protocol {

struct MemoryTouch {
  std::int64_t due_ps;    // after the time at which the thread got the token, and before its horizon
  std::uint64_t address;  // in the program
  std::uint32_t length;
  std::uint32_t offset;   // position of the bytes in TouchList::bytes
  std::uint32_t is_write;  // 1: the bytes are copied to the program; 0: from it
  std::uint32_t reserved;
};
inline constexpr std::uint32_t kMostTouches = 64;
inline constexpr std::uint32_t kTouchedBytes = 64 << 10;

struct TouchList {
  std::uint32_t count;  // in ascending order of due_ps
  std::uint32_t done;   // number performed by threads, from the first on
  MemoryTouch touches[kMostTouches];
  alignas(4096) std::uint8_t bytes[kTouchedBytes];
};

// ThreadSlot::next_touch_ps without an access.
inline constexpr std::int64_t kNoTouch = std::numeric_limits<std::int64_t>::max();

// Few processes need it; the pages are not prefaulted.
inline constexpr std::uint64_t kTouchesOffset = 1019ull << 20;
static_assert(kThreadsOffset + std::uint64_t{kMaxThreads} * sizeof(ThreadPart) <= kTouchesOffset);
static_assert(kTouchesOffset + sizeof(TouchList) <= kHighDescriptorsOffset);

}  // namespace verbatim::protocol
