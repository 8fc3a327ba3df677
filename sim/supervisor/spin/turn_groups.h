// The growing values of a turn that depend on each other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {

// Registers and cells that must be at the same turn, because an instruction has combined their values. Those
// of other groups may be at other turns: a counter of all waits and a counter of the present wait.
struct TurnGroup {
  Sources sources = 0;
  std::vector<TurnLimit> limits;

  // Number of turns, from turn `turn` of the group on, for which the limits hold; 0: they do not hold in this
  // turn.
  std::uint64_t left(std::uint64_t turn) const;
};

// The groups of all values whose growth was assumed in a turn that ends with the steps with which it began.
// `registers` are the assumed ones.
std::vector<TurnGroup> groups_of(const Growth& growth, const std::array<GrowingRegister, 16>& registers);

}  // namespace verbatim::spin
