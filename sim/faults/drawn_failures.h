// Unscripted failures of whole links, adapters and programs, within a run's budget. Their times are chosen
// before the run, so that slices of programs end at them as at scripted faults.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/choice.h"

namespace verbatim::faults {

// Time of the failure, counted from the last start of a program, up to 1.5 s; default: no failure.
inline constexpr DelaySite kLinkDown{"link-down", Duration(1'000'000), 20};
inline constexpr DelaySite kAdapterFailure{"adapter-failure", Duration(1'000'000), 20};
inline constexpr DelaySite kProgramKilled{"program-killed", Duration(1'000'000), 20};
// Time until the link is up again, up to 2.5 s; default: never.
inline constexpr DelaySite kLinkDownTime{"link-down/duration", Duration(10'000'000), 17};

// Selects the failures that happen if there are more than the budget permits.
inline constexpr std::string_view kWhichFails = "failure/which";

// A link, adapter or program that may fail.
struct MayFail {
  const DelaySite* site = nullptr;
  ComponentId actor;
  std::size_t index = 0;  // among those of its site
};

struct DrawnFailure {
  MayFail what;
  Duration after{};  // from the last program start
};

// Chooses for each; of those that would fail, at most `budget` do, with equal probability.
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
