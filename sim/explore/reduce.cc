#include "sim/explore/reduce.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "sim/core/choice.h"
#include "sim/explore/schedule.h"

namespace verbatim::explore {

namespace {

using List = std::vector<Decision>;

// One site alone, else all but one, as often as that fails.
List without_sites(List decisions, const Oracle& first_that_fails) {
  bool is_first = true;
  while (true) {
    std::set<std::string> sites;
    for (const Decision& decision : decisions) sites.insert(decision.site);
    if (sites.size() < 2) return decisions;
    std::vector<List> candidates;
    for (const bool alone : {true, false}) {
      if (alone && !is_first) continue;
      for (const std::string& site : sites) {
        List& candidate = candidates.emplace_back(decisions);
        // What is a detail of a site's choice goes and stays with it.
        const auto belongs = [&](const Decision& d) { return d.site == site || d.site.starts_with(site + "/"); };
        std::erase_if(candidate, [&](const Decision& d) { return belongs(d) != alone; });
      }
    }
    is_first = false;
    const auto smaller = first_that_fails(candidates);
    if (!smaller) return decisions;
    decisions = candidates[*smaller];
  }
}

// The delay of an answer, in sixteenths of the least one, and the answer with the longest delay that is no longer.
std::uint64_t units_of(std::uint32_t answer) {
  constexpr std::uint32_t kSteps = DelaySite::kSteps;
  return answer == 0 ? 0 : std::uint64_t{kSteps + (answer - 1) % kSteps} << (answer - 1) / kSteps;
}
std::uint32_t answer_of(std::uint64_t units, std::uint32_t alternatives) {
  std::uint32_t answer = 1;
  while (answer + 1 < alternatives && units_of(answer + 1) <= units) ++answer;
  return answer;
}

// `decisions` without [first, last): what a stream's delays there add up to is made up for by its next one, so that what comes
// later comes about when it did.
List without(const List& decisions, List::const_iterator first, List::const_iterator last) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> owed;
  for (auto it = first; it != last; ++it) {
    if (is_delay(it->alternatives)) owed[{it->site, it->actor}] += units_of(it->answer);
  }
  List rest(decisions.begin(), first);
  for (auto it = last; it != decisions.end(); ++it) {
    Decision& decision = rest.emplace_back(*it);
    const auto mine = owed.find({it->site, it->actor});
    if (mine == owed.end() || !is_delay(it->alternatives)) continue;
    decision.answer = answer_of(units_of(decision.answer) + mine->second, decision.alternatives);
    owed.erase(mine);
  }
  return rest;
}

// A candidate, and which part of the list is left out; kAlone: all but one.
struct Candidate {
  static constexpr std::size_t kAlone = std::numeric_limits<std::size_t>::max();
  List decisions;
  std::size_t part = kAlone;
};

// The first of them that fails, made as it is asked for: of a long list all at once would fill the memory.
class Candidates {
 public:
  explicit Candidates(const Oracle& first_that_fails) : first_that_fails_(first_that_fails) {}
  // Whether one is found: then nothing is tried any more.
  bool add(List decisions, std::size_t part) {
    if (found_) return true;
    waiting_.push_back({std::move(decisions), part});
    return waiting_.size() == kAtOnce ? try_all() : false;
  }
  std::optional<Candidate> take() {
    if (!found_) try_all();
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kAtOnce = 64;

  bool try_all() {
    std::vector<List> lists;
    for (Candidate& candidate : waiting_) lists.push_back(std::move(candidate.decisions));
    if (const auto place = lists.empty() ? std::nullopt : first_that_fails_(lists))
      found_ = {std::move(lists[*place]), waiting_[*place].part};
    waiting_.clear();
    return found_.has_value();
  }

  const Oracle& first_that_fails_;
  std::vector<Candidate> waiting_;
  std::optional<Candidate> found_;
};

// Parts of the list alone, while they are few; else all but one, as it is and made up for, beginning behind the one that was left
// out last.
List delta_debug(List decisions, const Oracle& first_that_fails) {
  constexpr std::size_t kMostAlone = 4;
  std::size_t parts = 2, next = 0;
  while (decisions.size() >= 2) {
    parts = std::min(parts, decisions.size());
    Candidates candidates(first_that_fails);
    const auto bound = [&](std::size_t part) {
      return decisions.cbegin() + static_cast<std::ptrdiff_t>(decisions.size() * part / parts);
    };
    bool is_found = false;
    for (std::size_t part = 0; parts <= kMostAlone && part < parts && !is_found; ++part)
      is_found = candidates.add(List(bound(part), bound(part + 1)), Candidate::kAlone);
    for (std::size_t i = 0; i < parts && !is_found; ++i) {
      const std::size_t part = (next + i) % parts;
      List rest(decisions.cbegin(), bound(part));
      rest.insert(rest.end(), bound(part + 1), decisions.cend());
      List made_up = without(decisions, bound(part), bound(part + 1));
      const bool is_other = made_up != rest;
      if (parts > 2) is_found = candidates.add(std::move(rest), part);
      if (is_other) is_found = candidates.add(std::move(made_up), part);
    }
    if (auto smaller = candidates.take()) {
      const bool is_alone = smaller->part == Candidate::kAlone;
      decisions = std::move(smaller->decisions);
      parts = is_alone ? 2 : std::max<std::size_t>(parts - 1, 2);
      next = is_alone ? 0 : smaller->part % parts;
    } else if (parts == decisions.size()) {
      break;
    } else {
      parts = std::min(2 * parts, decisions.size());
      next = 0;
    }
  }
  return decisions;
}

// Each of a few left out, with the delay of another longer by as much; sites differ in what a step is, so also by less and more.
List trade(List decisions, const Oracle& first_that_fails) {
  constexpr std::size_t kMost = 12;
  while (decisions.size() >= 2 && decisions.size() <= kMost) {
    Candidates candidates(first_that_fails);
    for (std::size_t out = 0; out < decisions.size(); ++out) {
      for (std::size_t other = 0; other < decisions.size(); ++other) {
        if (other == out || !is_delay(decisions[out].alternatives) || !is_delay(decisions[other].alternatives)) continue;
        std::uint32_t before = decisions[other].answer;
        for (const std::uint32_t quarters : {1, 2, 4, 8, 16}) {
          const std::uint64_t units = units_of(decisions[other].answer) + units_of(decisions[out].answer) * quarters / 4;
          List candidate = decisions;
          candidate[other].answer = answer_of(units, decisions[other].alternatives);
          if (std::exchange(before, candidate[other].answer) == candidate[other].answer) continue;
          candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(out));
          if (candidates.add(std::move(candidate), out)) break;
        }
      }
    }
    auto smaller = candidates.take();
    if (!smaller) break;
    decisions = std::move(smaller->decisions);
  }
  return decisions;
}

List with_less(List decisions, const Oracle& first_that_fails) {
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    // The shortest first: what is found first is kept.
    while (decisions[i].answer > 1) {
      std::vector<List> candidates;
      for (std::uint32_t answer = 1; answer < decisions[i].answer;
           answer = std::max(answer + 1, answer + (decisions[i].answer - answer) / 2)) {
        candidates.push_back(decisions);
        candidates.back()[i].answer = answer;
      }
      const auto smaller = first_that_fails(candidates);
      if (!smaller) break;
      decisions = candidates[*smaller];
    }
  }
  return decisions;
}

}  // namespace

std::vector<Decision> reduce(std::vector<Decision> decisions, const Oracle& first_that_fails) {
  if (decisions.empty() || first_that_fails({List{}})) return {};
  decisions = without_sites(std::move(decisions), first_that_fails);
  decisions = delta_debug(std::move(decisions), first_that_fails);
  decisions = trade(std::move(decisions), first_that_fails);
  decisions = with_less(std::move(decisions), first_that_fails);
  // With shorter delays others may have become idle.
  return delta_debug(std::move(decisions), first_that_fails);
}

}  // namespace verbatim::explore
