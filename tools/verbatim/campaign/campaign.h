// `explore` as units: a campaign on this machine, a share of a divided search, and the collection of its
// shares.
#pragma once

#include "tools/verbatim/answer.h"
#include "tools/verbatim/campaign/schedule_units.h"
#include "tools/verbatim/exploration.h"

namespace verbatim::cli {

// A checked `explore` command.
struct CampaignPlan {
  const RunPlan& plan;
  const ExploreOptions& options;
  config::FileTexts& files;
  UnitSearch search;
  Exploration::Clock::duration shrink_time, until;  // until: of --until
};

// Searches for the time of --until, of which earlier processes in the same folder have used a part. Failures
// are made small in the background. Returns the exit code; so do the others.
int run_campaign(const CampaignPlan& campaign, Answer& answer);
// Divides the search into shares.
int split_exploration(const CampaignPlan& campaign, Answer& answer);
int run_share_of_exploration(const CampaignPlan& campaign, Answer& answer);
// Merges the results of all shares, and makes one failure of each kind small.
int collect_exploration(const CampaignPlan& campaign, Answer& answer);

}  // namespace verbatim::cli
