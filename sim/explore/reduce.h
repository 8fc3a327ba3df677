// Makes a failure small: as few decisions as still bring it about, each as little as does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/decision.h"

namespace verbatim::explore {

// A list of decisions that may fail. It is made when it is called for: a long list has thousands of candidates, and those behind
// the first that fails are not needed.
using Candidate = std::function<std::vector<Decision>()>;

// Runs candidates, in whatever order and number at a time; the lowest index of those that fail the same way, nullopt when none
// does.
using Oracle = std::function<std::optional<std::size_t>(const std::vector<Candidate>& candidates)>;

// `decisions` fails. Leaves out whole sites, then parts of the list (delta debugging: Zeller, Hildebrandt, IEEE TSE 2002),
// until no single decision can be left out; then makes delays shorter, and looks again. A failure needs some delays at their
// times, and each delay before them has moved those: what is left out is also tried with the next delay of its stream longer by
// as much, and of a few also with that of another.
// `is_over` is asked in every step of every loop, also where no candidate is run. Once it is true no candidate is made or run,
// and the smallest list that has failed until then is returned. Empty: there is no limit.
std::vector<Decision> reduce(std::vector<Decision> decisions, const Oracle& first_that_fails,
                             const std::function<bool()>& is_over = {});

}  // namespace verbatim::explore
