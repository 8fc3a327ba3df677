// Which lane packets of a service level leave a port by: the SLtoVLMappingTable (IBA 7.6.6), one for all inputs.
#pragma once

#include <algorithm>
#include <array>
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
  // Levels that are left out have the lanes that OpenSM gives them (qos_sl2vl 0,1,2, … 14,7).
  explicit LaneTable(const std::vector<LevelMapping>& given) {
    for (std::size_t level = 0; level < lanes_.size(); ++level) lanes_[level] = static_cast<std::uint8_t>(level);
    lanes_[15] = 7;
    for (const LevelMapping& mapping : given) {
      CHECK(mapping.level < lanes_.size() && mapping.lane <= kManagementLane.value);
      lanes_[mapping.level] = static_cast<std::uint8_t>(mapping.lane);
    }
  }

  // kManagementLane: there is none, the packet is to be dropped. Of `operational` lanes the others are, as OpenSM writes
  // tables, those modulo that number.
  ib::VirtualLane of(ib::ServiceLevel level, std::uint32_t operational) const {
    const std::uint8_t lane = lanes_[level.value % lanes_.size()];
    if (lane == kManagementLane.value) return kManagementLane;
    return ib::VirtualLane{static_cast<std::uint8_t>(lane % operational)};
  }

 private:
  std::array<std::uint8_t, 16> lanes_{};
};

}  // namespace verbatim::fabric
