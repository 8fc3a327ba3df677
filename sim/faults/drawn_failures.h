// What fails as a whole though no script says so: links, adapters and programs, at most so many as a run's budget says, each at a
// time that is chosen before the run. So slices of programs end there as they do at what a script says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/choice.h"

namespace verbatim::faults {

// When each fails: as long after the last start of a program as this says; at the default never. Up to 1.5 s.
inline constexpr DelaySite kLinkDown{"link-down", Duration(1'000'000), 20};
inline constexpr DelaySite kAdapterFailure{"adapter-failure", Duration(1'000'000), 20};
inline constexpr DelaySite kProgramKilled{"program-killed", Duration(1'000'000), 20};
// How long a link is down; at the default for good. Up to 2.5 s.
inline constexpr DelaySite kLinkDownTime{"link-down/duration", Duration(10'000'000), 17};

struct DrawnFailure {
  std::size_t index = 0;  // among those that were asked about
  Duration after{};       // the last start
};

// Asks about each of `actors` in turn; `left` is what the budget has left for it and those to come, and becomes less.
inline std::vector<DrawnFailure> draw_failures(Choices& choices, const DelaySite& site, std::span<const ComponentId> actors,
                                               std::int64_t& left) {
  std::vector<DrawnFailure> drawn;
  for (std::size_t i = 0; i < actors.size() && left > 0; ++i) {
    const Duration after = site.choose(choices, actors[i]);
    if (after == Duration::zero()) continue;
    drawn.push_back({i, after});
    --left;
  }
  return drawn;
}

}  // namespace verbatim::faults
