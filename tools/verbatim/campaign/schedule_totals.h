// Sum of the results of units of a search: number of runs and failures, kinds of failure, freedoms used, and
// how the number of different outcomes has grown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/observe/digest_sink.h"
#include "sim/observe/race_windows.h"
#include "tools/verbatim/shares/result_files.h"

namespace verbatim::cli {

// Failures with one signature.
struct FailureKind {
  std::string signature, summary;                  // summary of its first run
  std::string strategy;                            // of its first run
  std::int64_t failures = 0;                       // number of runs
  std::int64_t first_run = 0;                      // from 1, in the order of the units
  std::int64_t first_seen_s = 0, last_seen_s = 0;  // seconds since 1970, real time
  nlohmann::ordered_json schedule;                 // of its first run
};

// State after a unit.
struct OutcomeCount {
  std::int64_t ended_s = 0;  // seconds since 1970, real time
  std::int64_t runs = 0, outcomes = 0, kinds = 0;
};

class ScheduleTotals {
 public:
  // Adds the result of a unit with this number. Everything but growth() is the same for any order of units.
  // Throws std::exception, and is unchanged, if the result is not one of UnitCount.
  void add(std::int64_t unit, const UnitResult& result);

  std::int64_t runs() const { return runs_; }
  std::int64_t failed() const { return failed_; }
  std::size_t outcomes() const { return outcomes_.size(); }
  std::string digest() const { return digest_.hex(); }
  const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>& sites() const { return sites_; }
  const std::array<std::uint64_t, observe::kRaceWindowCount>& windows() const { return windows_; }
  // In the order of their first runs.
  std::vector<FailureKind> kinds() const;
  std::size_t kinds_count() const { return kinds_.size(); }
  // In the order of the calls of add().
  const std::vector<OutcomeCount>& growth() const { return growth_; }

 private:
  std::int64_t runs_ = 0, failed_ = 0;
  observe::DigestSink digest_;
  std::set<std::uint64_t> outcomes_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sites_;
  std::array<std::uint64_t, observe::kRaceWindowCount> windows_{};
  std::map<std::string, FailureKind> kinds_;  // by signature
  std::vector<OutcomeCount> growth_;
};

// Adds all units in the order of their ends. A damaged result gets a remark, and its unit is missing.
ScheduleTotals totals_of(MergedResults& results);

}  // namespace verbatim::cli
