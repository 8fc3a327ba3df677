// Reduction of a failing schedule: as few decisions as still fail, each with the shortest delay that still
// fails.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/decision.h"

namespace verbatim::explore {

// Builds a list of decisions to try. Lists are built on demand: a long list has thousands of candidates, and
// those after the first failing one are not needed.
using Candidate = std::function<std::vector<Decision>()>;

// Runs candidates, in any order and any number concurrently. Returns the lowest index of those with the same
// failure; nullopt: none.
using Oracle = std::function<std::optional<std::size_t>(const std::vector<Candidate>& candidates)>;

// `decisions` fails. Removes whole sites, then parts of the list (delta debugging: Zeller, Hildebrandt, IEEE
// TSE 2002), until no single decision can be removed. Then shortens delays, and removes decisions again. A
// failure needs some delays at their times, and every earlier delay has shifted those times. Therefore a
// removal is also tried with the next delay of the same stream lengthened by as much, and, in short lists,
// with another stream's delay lengthened.
//
// `is_over` (time limit) is called in every step of every loop, even if no candidate is run. Once it returns
// true, no candidate is built or run, and the smallest list that has failed so far is returned. Empty
// function: no limit.
std::vector<Decision> reduce(std::vector<Decision> decisions, const Oracle& first_that_fails,
                             const std::function<bool()>& is_over = {});

}  // namespace verbatim::explore
