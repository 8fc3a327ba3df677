#include "sim/explore/schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sim/core/check.h"
#include "sim/explore/replayed_choices.h"

namespace verbatim::explore {

namespace {

constexpr std::uint32_t kFew = 6;  // more alternatives are the steps of a delay

// Decisions, and in addition an adapter that uses some freedoms at every opportunity.
class SteadyChoices final : public Choices {
 public:
  SteadyChoices(const std::vector<Decision>& decisions, std::vector<std::string> always,
                const std::vector<std::string>& component_names)
      : replayed_(decisions, component_names), always_(std::move(always)) {}

 private:
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override {
    const std::uint32_t given = replayed_.choose(site, actor, n);
    return given != 0 || std::ranges::find(always_, site) == always_.end() ? given : n - 1;
  }
  ReplayedChoices replayed_;
  const std::vector<std::string> always_;
};

class AlwaysChoices final : public Choices {
 public:
  explicit AlwaysChoices(std::string site) : site_(std::move(site)) {}

 private:
  std::uint32_t draw(std::string_view site, ComponentId, std::uint32_t n) override {
    return site.starts_with(site_) ? n - 1 : 0;
  }
  const std::string site_;
};

// Every actor is fast, or slow by one octave of delays at all delay sites. A change point draws its speed
// anew (PCT: Burckhardt et al., ASPLOS 2010, with delays in place of priorities, because all actors run
// concurrently here).
class PriorityChoices final : public Choices {
 public:
  PriorityChoices(std::uint64_t seed, const std::vector<Decision>& change_points, std::vector<std::string> component_names)
      : seed_(seed), components_(std::move(component_names)) {
    for (const Decision& point : change_points) changes_[{point.site, point.actor}].insert(point.occurrence);
  }

 private:
  struct Actor {
    Rng rng;
    std::string name;
    std::uint32_t octave = 0;  // 0: fast
  };

  std::uint32_t draw(std::string_view site, ComponentId id, std::uint32_t n) override { return draw_with_rare(site, id, n, n); }
  std::uint32_t draw_with_rare(std::string_view site, ComponentId id, std::uint32_t n, std::uint32_t usual) override {
    Actor& actor = actor_of(id);
    const std::uint64_t occurrence = occurrences_.next(site, id);
    if (n == 1) return 0;  // the change point is at another question in this run
    const std::set<std::uint64_t>* const points = points_.at(site, id, [&]() -> const std::set<std::uint64_t>* {
      const auto given = changes_.find({std::string(site), actor.name});
      return given == changes_.end() ? nullptr : &given->second;
    });
    const bool changes = points != nullptr && points->contains(occurrence);
    const std::uint32_t before = actor.octave;
    if (changes) actor.octave = 1 + static_cast<std::uint32_t>(actor.rng.below(kOctaves));
    if (!is_delay(n)) return changes ? 1 + static_cast<std::uint32_t>(actor.rng.below(n - 1)) : 0;
    // Some changes are one rare delay, at the speed before the change.
    if (changes && n > usual && actor.rng.chance(1, 4)) {
      actor.octave = before;
      return usual + static_cast<std::uint32_t>(actor.rng.below(n - usual));
    }
    if (actor.octave == 0) return 0;
    const std::uint32_t answer = std::min(usual - 1, 1 + DelaySite::kSteps * (actor.octave - 1));
    // At every second change point, on average, the new speed applies to this one delay only.
    if (changes && actor.rng.chance(1, 2)) actor.octave = 0;
    return answer;
  }

  Actor& actor_of(ComponentId id) {
    if (const auto it = actors_.find(id); it != actors_.end()) return it->second;
    const std::string name = actor_name(components_, id);
    Actor& actor = actors_.emplace(id, Actor{Rng(seed_, name), name}).first->second;
    if (actor.rng.chance(1, 4)) actor.octave = 1 + static_cast<std::uint32_t>(actor.rng.below(kOctaves));
    return actor;
  }

  static constexpr std::uint64_t kOctaves = 8;
  const std::uint64_t seed_;
  const ComponentTable components_;
  std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>> changes_;  // by site and actor
  ChoiceStreams<const std::set<std::uint64_t>*> points_;                             // per stream; nullptr: it has none
  std::map<ComponentId, Actor> actors_;
  Occurrences occurrences_;
};

class NearChoices final : public Choices {
 public:
  NearChoices(std::uint64_t seed, const std::vector<Decision>& decisions, const std::vector<std::string>& component_names)
      : rng_(seed, "explore/near"),
        replayed_(moved(decisions), component_names),
        swarm_(seed, component_names) {}

 private:
  std::vector<Decision> moved(std::vector<Decision> decisions) {
    std::erase_if(decisions, [&](const Decision&) { return rng_.chance(1, 6); });
    for (Decision& decision : decisions) {
      const std::uint64_t step = step_of(decision.site);
      if (rng_.chance(1, 4)) decision.occurrence += step * rng_.below(4);
      else if (rng_.chance(1, 4)) decision.occurrence -= std::min(decision.occurrence, step * rng_.below(4));
      if (is_delay(decision.alternatives) && rng_.chance(1, 4))
        decision.answer = 1 + static_cast<std::uint32_t>(rng_.below(decision.alternatives - 1));
    }
    return decisions;
  }
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override {
    return draw_with_rare(site, actor, n, n);
  }
  std::uint32_t draw_with_rare(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t usual) override {
    const std::uint32_t drawn = swarm_.choose_with_rare(site, actor, n, usual);
    const std::uint32_t given = replayed_.choose(site, actor, n);
    if (given != 0) return given;
    return rng_.chance(1, 16) ? drawn : 0;
  }

  Rng rng_;
  ReplayedChoices replayed_;
  SeededChoices swarm_;
};

}  // namespace

bool is_delay(std::uint32_t alternatives) { return alternatives > kFew; }

std::vector<std::uint32_t> representatives(std::uint32_t alternatives) {
  std::vector<std::uint32_t> answers;
  if (!is_delay(alternatives)) {
    for (std::uint32_t answer = 1; answer < alternatives; ++answer) answers.push_back(answer);
    return answers;
  }
  for (std::uint32_t answer = 1; answer < alternatives; answer += 2 * DelaySite::kSteps) answers.push_back(answer);
  return answers;
}

bool Schedule::takes_accesses() const {
  return has_accesses || std::ranges::any_of(decisions, [](const Decision& d) { return d.site.starts_with(kAccessSites); });
}

std::unique_ptr<Choices> make_choices(const Schedule& schedule, const std::vector<std::string>& component_names) {
  switch (schedule.kind) {
    case Schedule::Kind::kDecisions:
      if (schedule.always.empty()) return std::make_unique<ReplayedChoices>(schedule.decisions, component_names);
      return std::make_unique<SteadyChoices>(schedule.decisions, schedule.always, component_names);
    case Schedule::Kind::kSwarm:
      return std::make_unique<SeededChoices>(schedule.seed, component_names);
    case Schedule::Kind::kPriorities:
      return std::make_unique<PriorityChoices>(schedule.seed, schedule.decisions, component_names);
    case Schedule::Kind::kAlways:
      return std::make_unique<AlwaysChoices>(schedule.site);
    case Schedule::Kind::kNear:
      return std::make_unique<NearChoices>(schedule.seed, schedule.decisions, component_names);
  }
  CHECK(false);
}

}  // namespace verbatim::explore
