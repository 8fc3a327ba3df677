#include "sim/supervisor/spin/turn_groups.h"

#include <algorithm>

namespace verbatim::spin {

std::uint64_t TurnGroup::left(std::uint64_t turn) const {
  std::uint64_t turns = kEveryTurn;
  for (const TurnLimit& limit : limits) {
    if (limit.period != 0 && limit.last >= limit.period - 1) continue;
    const std::uint64_t at = limit.period == 0 ? turn : turn % limit.period;
    turns = std::min(turns, at <= limit.last ? limit.last - at + 1 : 0);
  }
  return turns;
}

// A value that becomes the next turn's value of another one must be at its turn.
std::vector<TurnGroup> groups_of(const Growth& growth, const std::array<GrowingRegister, 16>& registers) {
  std::vector<TurnGroup> groups;
  const auto combine = [&groups](Sources sources) {
    std::erase_if(groups, [&sources](const TurnGroup& group) {
      if ((group.sources & sources) == 0) return false;
      sources |= group.sources;
      return true;
    });
    groups.push_back({sources, {}});
  };
  for (unsigned index = 0; index < registers.size(); ++index) {
    if (registers[index].step != 0) combine(Sources{1} << index | growth.registers()[index].sources);
  }
  for (const GrowingCell& cell : growth.assumed()) {
    combine(cell.sources);
    const auto left = std::ranges::find(growth.cells(), cell);
    if (left != growth.cells().end()) combine(cell.sources | left->sources);
  }
  for (const Sources sources : growth.combined()) combine(sources);
  for (const TurnLimit& limit : growth.limits()) {
    for (TurnGroup& group : groups) {
      if (limit.sources == 0 || (group.sources & limit.sources) != 0) group.limits.push_back(limit);
    }
  }
  return groups;
}

}  // namespace verbatim::spin
