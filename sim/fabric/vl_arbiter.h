// Which virtual lane of an output may send next (IBA 7.6.9). Round robin over the lanes that have a packet
// ready and credits for it; the weighted high and low priority tables will replace what is inside pick().
#pragma once

#include <bit>
#include <cstdint>

#include "sim/core/check.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

class VlArbiter {
 public:
  // `eligible` has bit n set when lane n may send; not 0.
  ib::VirtualLane pick(std::uint32_t eligible) {
    CHECK(eligible != 0);
    const std::uint32_t from_next = eligible & (~0u << next_);
    const int lane = std::countr_zero(from_next != 0 ? from_next : eligible);
    next_ = (static_cast<std::uint32_t>(lane) + 1) % 32;
    return ib::VirtualLane{static_cast<std::uint8_t>(lane)};
  }

 private:
  std::uint32_t next_ = 0;  // the lane that has gone longest without a turn
};

}  // namespace verbatim::fabric
