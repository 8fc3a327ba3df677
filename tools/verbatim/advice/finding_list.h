// Findings of checks in the runs of a search, each kind once.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/verbatim/run_report.h"

namespace verbatim::cli {

// A kind is a check, a host, and a place; without a place, the text without its numbers.
class FindingList {
 public:
  // `run` is counted from 1.
  void add(const std::vector<RunReport::Finding>& findings, std::int64_t run);

  bool empty() const { return kinds_.empty(); }
  // A line for each kind, the first kMostShown; `runs` is the number of all runs. "" if there is none.
  std::string text(std::int64_t runs) const;
  // [{"check", "host", "text", "place", "runs", "first_run"}]
  nlohmann::ordered_json json() const;

 private:
  static constexpr std::size_t kMostShown = 10, kMostKept = 1000;
  struct Kind {
    std::string key;
    RunReport::Finding first;
    std::int64_t first_run = 0, last_run = 0, runs = 0;
  };
  std::vector<Kind> kinds_;  // in the order of their first run
};

}  // namespace verbatim::cli
