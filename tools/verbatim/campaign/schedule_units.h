// Units of a search: each is a hundred schedules of a strategy with a seed of its own. A unit's result
// depends on its number only, because its strategy learns from the schedules of the unit alone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/explore/strategy.h"
#include "sim/observe/digest_sink.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/schedule_runs.h"
#include "tools/verbatim/shares/share.h"

namespace verbatim::cli {

// The strategy of a search, and the number of its schedules.
struct UnitSearch {
  std::string strategy = "portfolio";
  std::uint64_t seed = 1;
  std::vector<explore::Decision> focus;
  std::int64_t schedules = 0;  // 0: no limit

  static constexpr std::int64_t kSchedules = 100;  // of one unit; the last may have fewer
  std::int64_t units() const { return (schedules + kSchedules - 1) / kSchedules; }
  std::int64_t schedules_of(std::int64_t unit) const;
  std::unique_ptr<explore::Strategy> strategy_of(std::int64_t unit) const;
};
// A sentence if the strategy's schedules cannot be divided into units, else "".
std::string why_not_divisible(const std::string& strategy);

// The result of one unit.
class UnitCount {
 public:
  // The reports of the unit's schedules, in their order.
  void add(const explore::Schedule& schedule, const RunReport& report);
  std::int64_t runs() const { return runs_; }
  // "runs", "failed", "digest" of all runs, "outcomes" (12 digits of the digest of each different run),
  // "sites" (name: times asked, times not answered by the default), "windows", and "kinds" of failures:
  // "signature", "summary", "count", "at" (number in the unit of the first one, from 0) with its "strategy"
  // and "schedule".
  nlohmann::ordered_json json() const;

 private:
  struct Kind {
    std::string summary, strategy;
    std::int64_t count = 0, at = 0;
    nlohmann::ordered_json schedule;
  };
  std::int64_t runs_ = 0, failed_ = 0;
  observe::DigestSink digest_;
  std::map<std::string, std::int64_t> outcomes_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sites_;
  std::vector<std::uint64_t> windows_;
  std::map<std::string, Kind> kinds_;  // by signature
};

class ScheduleUnits {
 public:
  // Both must outlive this object. `parallel`: number of units under way at a time.
  ScheduleUnits(ScheduleRuns& runs, const UnitSearch& search, std::size_t parallel)
      : runs_(runs), search_(search), parallel_(parallel) {}

  // As a UnitRunner. `on_wait` is called at least every `wall_ms` of real time (negative: never).
  int run(const NextUnit& next, const TakeUnit& take, std::string& stopped, int wall_ms = -1,
          const std::function<void()>& on_wait = {});

  std::int64_t runs() const { return counted_; }

 private:
  struct Active {
    std::int64_t number = 0, size = 0, started = 0;
    std::unique_ptr<explore::Strategy> strategy;
    UnitCount count;
  };
  enum class Start { kStarted, kNothing, kFailed };
  Start start_one(const NextUnit& next);

  ScheduleRuns& runs_;
  const UnitSearch& search_;
  const std::size_t parallel_;
  std::deque<std::shared_ptr<Active>> active_;   // units that have schedules to start or results to get
  std::deque<std::shared_ptr<Active>> started_;  // the unit of each run under way, in the order of the starts
  bool has_more_ = true;
  std::int64_t counted_ = 0;
};

}  // namespace verbatim::cli
