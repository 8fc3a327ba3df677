#include "tools/verbatim/campaign/schedule_units.h"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/core/rng.h"
#include "sim/core/words.h"

namespace verbatim::cli {

std::int64_t UnitSearch::schedules_of(std::int64_t unit) const {
  return schedules == 0 ? kSchedules : std::min(kSchedules, schedules - unit * kSchedules);
}

std::unique_ptr<explore::Strategy> UnitSearch::strategy_of(std::int64_t unit) const {
  // The first unit is the beginning of an undivided search.
  const std::uint64_t own = unit == 0 ? seed : Rng(seed, join("explore/unit/", unit)).next();
  std::string ignored;
  return explore::make_strategy(strategy, own, focus, &ignored,
                                unit == 0 ? explore::Fixed::kIncluded : explore::Fixed::kLeftOut);
}

std::string why_not_divisible(const std::string& strategy) {
  if (strategy != "nasty" && !strategy.starts_with("delay:")) return "";
  return "--strategy " + strategy +
         " is one sequence that does not depend on the seed, so it cannot be divided; portfolio contains it";
}

void UnitCount::add(const explore::Schedule& schedule, const RunReport& report) {
  TraceRecord place{};
  place.number = static_cast<std::uint64_t>(runs_ + 1);
  digest_.on_record(place, std::as_bytes(std::span(report.digest)));
  constexpr std::size_t kDigits = 12;
  ++outcomes_[report.digest.substr(0, kDigits)];
  for (const explore::Questions::Stream& stream : report.questions.streams) {
    auto& [asked, decided] = sites_[stream.site];
    asked += stream.asked;
    decided += stream.decided;
  }
  windows_.resize(std::max(windows_.size(), report.windows.size()));
  for (std::size_t i = 0; i < report.windows.size(); ++i) windows_[i] += report.windows[i];
  if (report.has_failed()) {
    ++failed_;
    const auto [kind, is_new] = kinds_.try_emplace(report.signature());
    if (is_new) kind->second = {report.summary(), schedule.name, 0, runs_, to_json(schedule)};
    ++kind->second.count;
  }
  ++runs_;
}

nlohmann::ordered_json UnitCount::json() const {
  using Json = nlohmann::ordered_json;
  std::string outcomes;
  for (const auto& [digest, count] : outcomes_) outcomes += digest;
  Json sites = Json::object(), kinds = Json::array();
  for (const auto& [site, counts] : sites_) sites[site] = {counts.first, counts.second};
  for (const auto& [signature, kind] : kinds_)
    kinds.push_back({{"signature", signature},
                     {"summary", kind.summary},
                     {"count", kind.count},
                     {"at", kind.at},
                     {"strategy", kind.strategy},
                     {"schedule", kind.schedule}});
  return {{"runs", runs_},  {"failed", failed_},   {"digest", digest_.hex()}, {"outcomes", outcomes},
          {"sites", sites}, {"windows", windows_}, {"kinds", kinds}};
}

// Starts a schedule of the first unit that has one, or of a new unit.
ScheduleUnits::Start ScheduleUnits::start_one(const NextUnit& next) {
  for (std::size_t i = 0; i <= active_.size(); ++i) {
    if (i == active_.size()) {
      if (!has_more_ || active_.size() >= parallel_) return Start::kNothing;
      const auto number = next();
      has_more_ = number.has_value();
      if (!number) return Start::kNothing;
      auto unit = std::make_shared<Active>();
      unit->number = *number;
      unit->size = search_.schedules_of(*number);
      unit->strategy = search_.strategy_of(*number);
      active_.push_back(std::move(unit));
    }
    Active& unit = *active_[i];
    if (unit.started == unit.size) continue;
    const auto schedule = unit.strategy->next();
    if (!schedule) continue;
    if (!runs_.start(*schedule)) return Start::kFailed;
    ++unit.started;
    started_.push_back(active_[i]);
    return Start::kStarted;
  }
  return Start::kNothing;
}

int ScheduleUnits::run(const NextUnit& next, const TakeUnit& take, std::string& stopped, int wall_ms,
                       const std::function<void()>& on_wait) {
  const auto stop = [&](int code, std::string reason) {
    stopped = std::move(reason);
    runs_.abandon();
    return code;
  };
  while (true) {
    Start last = Start::kStarted;
    while (last == Start::kStarted && runs_.has_room()) last = start_one(next);
    if (last == Start::kFailed) return stop(kMachineFault, runs_.machine_fault());
    if (runs_.is_idle()) break;
    runs_.await(wall_ms);
    // Units under way at an interruption are lost.
    if (runs_.is_interrupted()) return stop(kInterrupted, "interrupted");
    if (on_wait) on_wait();
    while (auto done = runs_.next_done()) {
      const std::shared_ptr<Active> unit = std::move(started_.front());
      started_.pop_front();
      const RunReport& report = done->report;
      if (report.outcome.empty() || report.code == kInternalError || report.code == kUsage ||
          report.code == kMachineFault)
        return stop(report.code, join("unit ", unit->number, ", schedule ", unit->count.runs() + 1, " (",
                                      done->schedule.name, "): ", report.summary()));
      unit->count.add(done->schedule, report);
      unit->strategy->learn(done->schedule, report.questions);
      ++counted_;
      if (unit->count.runs() < unit->size &&
          !(unit->strategy->is_exhausted() && unit->count.runs() == unit->started))
        continue;
      std::erase(active_, unit);
      if (!take(unit->number, unit->count.json())) return stop(kAsExpected, "");
    }
  }
  return kAsExpected;
}

}  // namespace verbatim::cli
