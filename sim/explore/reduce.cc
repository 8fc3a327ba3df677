#include "sim/explore/reduce.h"

#include <algorithm>
#include <set>
#include <utility>

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

List delta_debug(List decisions, const Oracle& first_that_fails) {
  std::size_t parts = 2;
  while (decisions.size() >= 2) {
    parts = std::min(parts, decisions.size());
    std::vector<List> candidates;
    const auto bounds = [&](std::size_t part) {
      return std::pair(decisions.begin() + static_cast<std::ptrdiff_t>(decisions.size() * part / parts),
                       decisions.begin() + static_cast<std::ptrdiff_t>(decisions.size() * (part + 1) / parts));
    };
    for (std::size_t part = 0; part < parts; ++part) candidates.emplace_back(bounds(part).first, bounds(part).second);
    for (std::size_t part = 0; parts > 2 && part < parts; ++part) {
      const auto [first, last] = bounds(part);
      List& rest = candidates.emplace_back(decisions.begin(), first);
      rest.insert(rest.end(), last, decisions.end());
    }
    const auto smaller = first_that_fails(candidates);
    if (smaller) {
      const bool is_part = *smaller < parts;
      decisions = candidates[*smaller];
      parts = is_part ? 2 : std::max<std::size_t>(parts - 1, 2);
    } else if (parts == decisions.size()) {
      break;
    } else {
      parts = std::min(2 * parts, decisions.size());
    }
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
  decisions = with_less(std::move(decisions), first_that_fails);
  // With shorter delays others may have become idle.
  return delta_debug(std::move(decisions), first_that_fails);
}

}  // namespace verbatim::explore
