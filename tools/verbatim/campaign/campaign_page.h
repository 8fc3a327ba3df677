// index.html of a search: all kinds of failure with their explanations, and how the number of different
// outcomes has grown. One file without scripts.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/campaign/failures.h"
#include "tools/verbatim/campaign/schedule_totals.h"
#include "tools/verbatim/shares/result_files.h"

namespace verbatim::cli {

// Parts of real time in which the search ran, [begin, end] in seconds since 1970, ascending and disjoint.
std::vector<std::pair<std::int64_t, std::int64_t>> times_of(const std::vector<ResultFile>& files);
// Seconds of these parts until `now_s`.
std::int64_t seconds_until(const std::vector<std::pair<std::int64_t, std::int64_t>>& times,
                           std::int64_t now_s);

struct CampaignView {
  const Split& split;
  const ScheduleTotals& totals;
  const FailureWork& failures;
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  std::string state;  // "it goes on", "2 units are missing"
};
std::string campaign_page(const CampaignView& view);

}  // namespace verbatim::cli
