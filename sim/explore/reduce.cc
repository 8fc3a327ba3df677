#include "sim/explore/reduce.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sim/core/choice.h"
#include "sim/explore/schedule.h"

namespace verbatim::explore {

namespace {

using List = std::vector<Decision>;

// The oracle with a time limit.
class Search {
 public:
  Search(const Oracle& first_that_fails, const std::function<bool()>& is_over)
      : first_that_fails_(first_that_fails), asks_whether_over_(is_over) {}

  // Once true, it stays true, and the oracle is not called again.
  bool is_over() {
    is_over_ = is_over_ || (asks_whether_over_ && asks_whether_over_());
    return is_over_;
  }
  std::optional<std::size_t> first_that_fails(const std::vector<Candidate>& candidates) {
    return is_over() ? std::nullopt : first_that_fails_(candidates);
  }

 private:
  const Oracle& first_that_fails_;
  const std::function<bool()>& asks_whether_over_;
  bool is_over_ = false;
};

// Tries each site alone first, then repeatedly all sites but one.
List without_sites(List decisions, Search& search) {
  bool is_first = true;
  while (!search.is_over()) {
    std::set<std::string> sites;
    for (const Decision& decision : decisions) sites.insert(decision.site);
    if (sites.size() < 2) return decisions;
    std::vector<Candidate> candidates;
    for (const bool alone : {true, false}) {
      if (alone && !is_first) continue;
      for (const std::string& site : sites) {
        candidates.push_back([&decisions, &site, alone] {
          List rest;
          // The details of a site's choice are removed or kept together with it.
          const auto belongs = [&](const Decision& d) { return d.site == site || d.site.starts_with(site + "/"); };
          std::ranges::copy_if(decisions, std::back_inserter(rest), [&](const Decision& d) { return belongs(d) == alone; });
          return rest;
        });
      }
    }
    is_first = false;
    const auto smaller = search.first_that_fails(candidates);
    if (!smaller) return decisions;
    decisions = candidates[*smaller]();
  }
  return decisions;
}

// units_of: the delay of an answer, in sixteenths of the shortest one. answer_of: the answer with the longest
// delay up to `units`.
std::uint64_t units_of(std::uint32_t answer) {
  constexpr std::uint32_t kSteps = DelaySite::kSteps;
  return answer == 0 ? 0 : std::uint64_t{kSteps + (answer - 1) % kSteps} << (answer - 1) / kSteps;
}
std::uint32_t answer_of(std::uint64_t units, std::uint32_t alternatives) {
  std::uint32_t answer = 1;
  while (answer + 1 < alternatives && units_of(answer + 1) <= units) ++answer;
  return answer;
}

// Another answer of the decision at index `place` of a list.
struct Change {
  std::size_t place;
  std::uint32_t answer;
};

// The delays of a list by stream (site and actor), so that the sum over a part of the list needs no scan of
// the rest.
class Delays {
 public:
  explicit Delays(const List& decisions) : decisions_(decisions) {
    std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> known;
    streams_.reserve(decisions.size());
    for (std::size_t place = 0; place < decisions.size(); ++place) {
      const Decision& decision = decisions[place];
      const auto next = static_cast<std::uint32_t>(known.size());
      const std::uint32_t stream = known.try_emplace({decision.site, decision.actor}, next).first->second;
      streams_.push_back(stream);
      if (stream == places_.size()) places_.emplace_back();
      if (is_delay(decision.alternatives)) places_[stream].push_back(place);
    }
  }

  // Changes that compensate for the removal of [first, last): the removed delays of a stream are added to its
  // next delay, so that later events keep their times. There is none if that delay is already the longest.
  std::vector<Change> make_up_for(std::size_t first, std::size_t last) const {
    std::map<std::uint32_t, std::uint64_t> owed;
    for (std::size_t place = first; place < last; ++place) {
      if (is_delay(decisions_[place].alternatives)) owed[streams_[place]] += units_of(decisions_[place].answer);
    }
    std::vector<Change> changes;
    for (const auto& [stream, units] : owed) {
      const auto next = std::ranges::lower_bound(places_[stream], last);
      if (next == places_[stream].end()) continue;
      const Decision& decision = decisions_[*next];
      const std::uint32_t answer = answer_of(units_of(decision.answer) + units, decision.alternatives);
      if (answer != decision.answer) changes.push_back({*next, answer});
    }
    return changes;
  }

 private:
  const List& decisions_;
  std::vector<std::uint32_t> streams_;            // stream of each decision
  std::vector<std::vector<std::size_t>> places_;  // indices of the delays of each stream, ascending
};

// `decisions` with `changes`, without [first, last).
List without(List decisions, std::size_t first, std::size_t last, const std::vector<Change>& changes = {}) {
  for (const auto& [place, answer] : changes) decisions[place].answer = answer;
  const auto begin = decisions.begin();
  decisions.erase(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last));
  return decisions;
}

// Searches for the first candidate that fails, in batches.
class Candidates {
 public:
  explicit Candidates(Search& search) : search_(search) {}
  // `part`: index of the removed part of the list, kAlone: all other parts are removed. Returns true if a
  // failing candidate has been found or time is up; further candidates are then ignored.
  bool add(Candidate candidate, std::size_t part) {
    if (found_ || search_.is_over()) return true;
    waiting_.push_back(std::move(candidate));
    parts_.push_back(part);
    return waiting_.size() == kAtOnce ? try_all() : false;
  }
  struct Found {
    List decisions;
    std::size_t part;
  };
  static constexpr std::size_t kAlone = std::numeric_limits<std::size_t>::max();
  std::optional<Found> take() {
    if (!found_) try_all();
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kAtOnce = 64;

  bool try_all() {
    if (const auto place = waiting_.empty() ? std::nullopt : search_.first_that_fails(waiting_))
      found_ = {waiting_[*place](), parts_[*place]};
    waiting_.clear();
    parts_.clear();
    return found_.has_value();
  }

  Search& search_;
  std::vector<Candidate> waiting_;
  std::vector<std::size_t> parts_;
  std::optional<Found> found_;
};

// While there are few parts, tries each part alone. Otherwise removes one part at a time, without and with
// compensation, starting after the part that was removed last.
List delta_debug(List decisions, Search& search) {
  constexpr std::size_t kMostAlone = 4;
  std::size_t parts = 2, next = 0;
  while (decisions.size() >= 2 && !search.is_over()) {
    parts = std::min(parts, decisions.size());
    const Delays delays(decisions);
    Candidates candidates(search);
    const auto bound = [&](std::size_t part) { return decisions.size() * part / parts; };
    bool is_done = false;
    for (std::size_t part = 0; parts <= kMostAlone && part < parts && !is_done; ++part) {
      const auto alone = [&decisions, first = bound(part), last = bound(part + 1)] {
        return without(without(decisions, last, decisions.size()), 0, first);
      };
      is_done = candidates.add(alone, Candidates::kAlone);
    }
    for (std::size_t i = 0; i < parts && !is_done && !search.is_over(); ++i) {
      const std::size_t part = (next + i) % parts, first = bound(part), last = bound(part + 1);
      if (parts > 2) is_done = candidates.add([&decisions, first, last] { return without(decisions, first, last); }, part);
      std::vector<Change> changes = delays.make_up_for(first, last);
      if (changes.empty()) continue;
      is_done = candidates.add(
          [&decisions, first, last, changes = std::move(changes)] { return without(decisions, first, last, changes); }, part);
    }
    if (auto smaller = candidates.take()) {
      const bool is_alone = smaller->part == Candidates::kAlone;
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

// Removes each decision of a short list and lengthens another delay by as much. Sites differ in the length of
// a step, therefore also by a fraction and a multiple of it.
List trade(List decisions, Search& search) {
  constexpr std::size_t kMost = 12;
  while (decisions.size() >= 2 && decisions.size() <= kMost && !search.is_over()) {
    Candidates candidates(search);
    for (std::size_t out = 0; out < decisions.size(); ++out) {
      for (std::size_t other = 0; other < decisions.size(); ++other) {
        if (other == out || !is_delay(decisions[out].alternatives) || !is_delay(decisions[other].alternatives)) continue;
        std::uint32_t before = decisions[other].answer;
        for (const std::uint32_t quarters : {1, 2, 4, 8, 16}) {
          const std::uint64_t units = units_of(decisions[other].answer) + units_of(decisions[out].answer) * quarters / 4;
          const Change change = {other, answer_of(units, decisions[other].alternatives)};
          if (std::exchange(before, change.answer) == change.answer) continue;
          if (candidates.add([&decisions, out, change] { return without(decisions, out, out + 1, {change}); }, out)) break;
        }
      }
    }
    auto smaller = candidates.take();
    if (!smaller) break;
    decisions = std::move(smaller->decisions);
  }
  return decisions;
}

List with_less(List decisions, Search& search) {
  for (std::size_t i = 0; i < decisions.size() && !search.is_over(); ++i) {
    // The shortest first: the first that fails is kept.
    while (decisions[i].answer > 1) {
      std::vector<Candidate> candidates;
      for (std::uint32_t answer = 1; answer < decisions[i].answer;
           answer = std::max(answer + 1, answer + (decisions[i].answer - answer) / 2)) {
        candidates.push_back([&decisions, change = Change{i, answer}] { return without(decisions, 0, 0, {change}); });
      }
      const auto smaller = search.first_that_fails(candidates);
      if (!smaller) break;
      decisions = candidates[*smaller]();
    }
  }
  return decisions;
}

}  // namespace

std::vector<Decision> reduce(std::vector<Decision> decisions, const Oracle& first_that_fails,
                             const std::function<bool()>& is_over) {
  Search search(first_that_fails, is_over);
  if (decisions.empty() || search.first_that_fails({[] { return List{}; }})) return {};
  decisions = without_sites(std::move(decisions), search);
  decisions = delta_debug(std::move(decisions), search);
  decisions = trade(std::move(decisions), search);
  decisions = with_less(std::move(decisions), search);
  // With shorter delays other decisions may have become unnecessary.
  return delta_debug(std::move(decisions), search);
}

}  // namespace verbatim::explore
