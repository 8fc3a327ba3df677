// Maps service levels to the lanes by which packets leave a port: SLtoVLMappingTable (IBA 7.6.6). A port
// has one table for all inputs; a switch may have others for pairs of ports (`Switch::set_lane_table`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/check.h"
#include "sim/fabric/vl_arbiter.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

struct LevelMapping {
  std::uint32_t level = 0;  // 0 … 15
  std::uint32_t lane = 0;   // 0 … 14; 15: packets of this level are dropped
  friend bool operator==(const LevelMapping&, const LevelMapping&) = default;
};

class LaneTable {
 public:
  // Omitted levels have OpenSM's default lanes (qos_sl2vl 0,1,2, … 14,7).
  explicit LaneTable(const std::vector<LevelMapping>& given) {
    for (std::uint32_t level = 0; level < kLevels; ++level) set(level, level);
    set(15, 7);
    for (const LevelMapping& mapping : given) {
      CHECK(mapping.level < kLevels && mapping.lane <= kManagementLane.value);
      set(mapping.level, mapping.lane);
    }
  }

  // kManagementLane: no lane, the packet must be dropped. Other lanes are taken modulo `operational`, as
  // OpenSM writes tables.
  ib::VirtualLane of(ib::ServiceLevel level, std::uint32_t operational) const {
    const std::uint64_t lane = lanes_ >> 4 * (level.value % kLevels) & 15;
    if (lane == kManagementLane.value) return kManagementLane;
    return ib::VirtualLane{static_cast<std::uint8_t>(lane % operational)};
  }

 private:
  static constexpr std::uint32_t kLevels = 16;

  void set(std::uint32_t level, std::uint64_t lane) { lanes_ = (lanes_ & ~(15ull << 4 * level)) | lane << 4 * level; }

  std::uint64_t lanes_ = 0;  // four bits per level
};

}  // namespace verbatim::fabric
