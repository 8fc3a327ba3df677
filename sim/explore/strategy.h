// Strategies: sequences of schedules. The sequence depends on the strategy's name, on the seed and on the
// results of earlier schedules in their order, never on how many run concurrently.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/explore/schedule.h"

namespace verbatim::explore {

class Strategy {
 public:
  virtual ~Strategy() = default;
  // nullopt: either it has to learn() first, or there is none left (is_exhausted()).
  virtual std::optional<Schedule> next() = 0;
  // Passes the questions and decisions of a schedule from next(), in the order in which the schedules were
  // returned.
  virtual void learn(const Schedule& schedule, const Questions& questions) = 0;
  // Whether no further schedule can add anything.
  virtual bool is_exhausted() const = 0;
  // The coverage at exhaustion, as a sentence; empty for random strategies.
  virtual std::string covered() const { return ""; }
};

// Whether a portfolio includes schedules that do not depend on the seed. A search of several portfolios needs
// them once.
enum class Fixed : std::uint8_t { kIncluded, kLeftOut };

// `text`: portfolio, random, pct:D, delay:K, nasty (see the manual page). If `focus` has decisions the
// strategy is near, whatever `text`. nullptr: `text` names no strategy, and `failure` explains the error.
std::unique_ptr<Strategy> make_strategy(std::string_view text, std::uint64_t seed, const std::vector<Decision>& focus,
                                        std::string* failure, Fixed fixed = Fixed::kIncluded);

// Searches for a smaller schedule with the same failure: one to three decisions at the sites and actors of
// `like`, a failing schedule's, often with its non-delay sites always at the last alternative. Its first
// schedule is the default everywhere.
std::unique_ptr<Strategy> make_few(std::uint64_t seed, const std::vector<Decision>& like);

}  // namespace verbatim::explore
