#include "tools/verbatim/campaign/schedule_totals.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>
#include <utility>

#include "sim/core/words.h"
#include "tools/verbatim/campaign/schedule_units.h"
#include "tools/verbatim/whole_number.h"

namespace verbatim::cli {

namespace {

constexpr std::int64_t kMostOfUnit = UnitSearch::kSchedules;
constexpr std::size_t kDigits = 12;  // of an outcome

std::vector<std::uint64_t> outcomes_of(const std::string& digits) {
  std::vector<std::uint64_t> outcomes;
  for (std::size_t at = 0; at < digits.size(); at += kDigits) {
    std::uint64_t outcome = 0;
    const std::string one = digits.substr(at, kDigits);
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), outcome, 16);
    if (error != std::errc() || end != one.data() + kDigits)
      throw std::out_of_range("the outcomes are damaged");
    outcomes.push_back(outcome);
  }
  return outcomes;
}

}  // namespace

void ScheduleTotals::add(std::int64_t unit, const UnitResult& result) {
  using Json = nlohmann::ordered_json;
  const Json& json = result.result;
  const auto count = [](const Json& value) { return whole_number<std::uint64_t>(value); };
  // All values are read before the first one is added.
  const auto runs = whole_number<std::int64_t>(json.at("runs"), 1, kMostOfUnit),
             failed = whole_number<std::int64_t>(json.at("failed"), 0, runs);
  const std::string digest = json.at("digest");
  const std::vector<std::uint64_t> outcomes = outcomes_of(json.at("outcomes"));
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sites;
  for (const auto& [site, counts] : json.at("sites").items())
    sites[site] = {count(counts.at(0)), count(counts.at(1))};
  std::vector<std::uint64_t> windows;
  for (const Json& hits : json.at("windows")) windows.push_back(count(hits));
  std::vector<FailureKind> kinds;
  for (const Json& kind : json.at("kinds")) {
    kinds.push_back(
        {kind.at("signature"), kind.at("summary"), kind.at("strategy"),
         whole_number<std::int64_t>(kind.at("count"), 1, runs),
         unit * UnitSearch::kSchedules + whole_number<std::int64_t>(kind.at("at"), 0, runs - 1) + 1,
         result.ended_s, result.ended_s, kind.at("schedule")});
    schedule_of(kinds.back().schedule);
  }

  runs_ += runs;
  failed_ += failed;
  TraceRecord place{};
  place.number = static_cast<std::uint64_t>(unit) + 1;
  digest_.on_record(place, std::as_bytes(std::span(digest)));
  outcomes_.insert(outcomes.begin(), outcomes.end());
  for (const auto& [site, counts] : sites) {
    sites_[site].first += counts.first;
    sites_[site].second += counts.second;
  }
  for (std::size_t i = 0; i < std::min(windows.size(), windows_.size()); ++i) windows_[i] += windows[i];
  for (FailureKind& kind : kinds) {
    const auto [it, is_new] = kinds_.try_emplace(kind.signature, kind);
    if (is_new) continue;
    FailureKind& known = it->second;
    const std::int64_t failures = known.failures + kind.failures;
    const std::int64_t first_s = std::min(known.first_seen_s, kind.first_seen_s),
                       last_s = std::max(known.last_seen_s, kind.last_seen_s);
    if (kind.first_run < known.first_run) known = std::move(kind);
    known.failures = failures;
    known.first_seen_s = first_s;
    known.last_seen_s = last_s;
  }
  growth_.push_back({result.ended_s, runs_, static_cast<std::int64_t>(outcomes_.size()),
                     static_cast<std::int64_t>(kinds_.size())});
}

std::vector<FailureKind> ScheduleTotals::kinds() const {
  std::vector<FailureKind> kinds;
  for (const auto& [signature, kind] : kinds_) kinds.push_back(kind);
  std::ranges::sort(kinds, {},
                    [](const FailureKind& kind) { return std::pair(kind.first_run, kind.signature); });
  return kinds;
}

ScheduleTotals totals_of(MergedResults& results) {
  std::vector<std::pair<std::int64_t, std::int64_t>> order;  // end, unit
  for (const auto& [unit, result] : results.units) order.emplace_back(result.ended_s, unit);
  std::ranges::sort(order);
  ScheduleTotals totals;
  for (const auto& [ended_s, unit] : order) {
    try {
      totals.add(unit, results.units.at(unit));
    } catch (const std::exception& e) {
      results.remarks.push_back(join("unit ", unit, " is damaged and is not counted: ", e.what()));
      results.units.erase(unit);
      results.missing.insert(std::ranges::lower_bound(results.missing, unit), unit);
    }
  }
  return totals;
}

}  // namespace verbatim::cli
