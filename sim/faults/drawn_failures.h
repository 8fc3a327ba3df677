// What fails as a whole though no script says so: links, adapters and programs, at most so many as a run's budget says, each at a
// time that is chosen before the run. So slices of programs end there as they do at what a script says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/choice.h"

namespace verbatim::faults {

// When each fails: as long after the last start of a program as this says; at the default never. Up to 1.5 s.
inline constexpr DelaySite kLinkDown{"link-down", Duration(1'000'000), 20};
inline constexpr DelaySite kAdapterFailure{"adapter-failure", Duration(1'000'000), 20};
inline constexpr DelaySite kProgramKilled{"program-killed", Duration(1'000'000), 20};
// How long a link is down; at the default for good. Up to 2.5 s.
inline constexpr DelaySite kLinkDownTime{"link-down/duration", Duration(10'000'000), 17};

// Which of those that would fail does, where they are more than the budget has left.
inline constexpr std::string_view kWhichFails = "failure/which";

// What may fail: a link, an adapter or a program.
struct MayFail {
  const DelaySite* site = nullptr;
  ComponentId actor;
  std::size_t index = 0;  // among those of its site
};

struct DrawnFailure {
  MayFail what;
  Duration after{};  // the last start
};

// Asks about each; of those that would fail, at most `budget` do, each as likely as the others.
inline std::vector<DrawnFailure> draw_failures(Choices& choices, std::span<const MayFail> all, std::int64_t budget) {
  std::vector<DrawnFailure> drawn;
  for (const MayFail& one : all) {
    const Duration after = one.site->choose(choices, one.actor);
    if (after != Duration::zero()) drawn.push_back({one, after});
  }
  const std::size_t most = std::min(drawn.size(), static_cast<std::size_t>(budget));
  for (std::size_t kept = 0; kept < most && most < drawn.size(); ++kept) {
    const auto others = static_cast<std::uint32_t>(drawn.size() - kept);
    std::swap(drawn[kept], drawn[kept + choices.choose(kWhichFails, all.front().actor, others)]);
  }
  drawn.resize(most);
  return drawn;
}

}  // namespace verbatim::faults
