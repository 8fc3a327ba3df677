#include "tools/verbatim/run_windows.h"

#include <algorithm>
#include <map>
#include <utility>

namespace verbatim::cli {

namespace {

std::int64_t first_known(std::int64_t a, std::int64_t b, std::int64_t c) { return a >= 0 ? a : b >= 0 ? b : c; }

}  // namespace

std::vector<Outstanding> outstanding_of(const RunPicture& picture) {
  constexpr std::int64_t kNever = INT64_MAX;
  std::map<int, std::vector<std::pair<std::int64_t, int>>> steps;  // of a column
  for (const RunPicture::Request& request : picture.requests) {
    const std::int64_t from = first_known(request.rung, request.posted, request.fetched);
    if (from < 0) continue;
    steps[request.column].emplace_back(from, 1);
    steps[request.column].emplace_back(first_known(request.completed, request.acknowledged, kNever), -1);
  }
  const auto span = static_cast<double>(std::max<std::int64_t>(1, picture.last_packet_ps - picture.first_packet_ps) + 1);
  const auto bin_of = [&](std::int64_t time_ps) {
    const double part = static_cast<double>(time_ps - picture.first_packet_ps) / span * static_cast<double>(kWindowBins);
    return static_cast<std::size_t>(std::clamp(part, 0.0, static_cast<double>(kWindowBins - 1)));
  };
  std::vector<Outstanding> all;
  for (auto& [column, own] : steps) {
    std::ranges::sort(own);
    Outstanding& one = all.emplace_back(Outstanding{column, 0, std::vector<std::uint32_t>(kWindowBins)});
    std::int64_t level = 0;  // may be below for a moment: of one time ends come first
    std::size_t bin = 0;
    const auto take = [&](std::size_t at) { one.bins[at] = std::max(one.bins[at], static_cast<std::uint32_t>(std::max<std::int64_t>(0, level))); };
    for (const auto& [time, step] : own) {
      if (time == kNever) break;
      for (const std::size_t until = bin_of(time); bin < until; ++bin) take(bin + 1);
      level += step;
      take(bin);
    }
    for (; bin + 1 < kWindowBins; ++bin) take(bin + 1);
    one.most = std::ranges::max(one.bins);
  }
  return all;
}

}  // namespace verbatim::cli
