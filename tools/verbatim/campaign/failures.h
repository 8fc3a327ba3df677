// Failures of a search that have been made small and explained: FOLDER/failures/ID, where ID is a digest of
// the failure's signature. failure.json has the explanation; failure-1.replay and, with --record,
// failure-1.rec are beside it.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/verbatim/campaign/schedule_totals.h"
#include "tools/verbatim/exploration.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

struct ExplainedFailure {
  std::string text;              // of several lines, as explore prints it
  nlohmann::ordered_json entry;  // of explore.json; without "replay" if the failure did not occur again
};

// Makes failures small, each in a process of its own, one after the other.
class FailureWork {
 public:
  // All must outlive this object. `jobs`: parallel runs of that process.
  FailureWork(const RunPlan& plan, const ExploreOptions& options, config::FileTexts& files,
              Exploration::Clock::duration shrink_time);

  // Reads the failures that earlier processes have explained.
  void read();
  // nullptr: it has not been explained yet.
  const ExplainedFailure* find(const std::string& signature) const;

  // Starts the work on a failure if none is under way and this one has not been explained. Returns whether it
  // was started.
  bool start(const FailureKind& kind, int jobs);
  bool is_idle() const { return pool_.is_idle(); }
  // Waits for the end of the work, at most `wall_ms` (negative: no limit). Returns whether it has ended.
  bool await(int wall_ms);

 private:
  std::string folder_of(const std::string& signature) const;
  int explain(const FailureKind& kind, int jobs, const std::string& folder);

  const RunPlan& plan_;
  const ExploreOptions& options_;
  config::FileTexts& files_;
  const Exploration::Clock::duration shrink_time_;
  WorkerPool pool_;
  std::string under_way_;                              // signature
  std::map<std::string, ExplainedFailure> explained_;  // by signature
};

}  // namespace verbatim::cli
