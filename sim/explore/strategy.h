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
  // The next schedule to run. nullopt: none is left (is_exhausted()), or learn() must be called first.
  virtual std::optional<Schedule> next() = 0;
  // Receives the result of a schedule from next(), in the order in which next() returned the schedules.
  virtual void learn(const Schedule& schedule, const Questions& questions) = 0;
  // Whether no further schedule can add anything.
  virtual bool is_exhausted() const = 0;
  // The coverage at exhaustion, as a sentence; empty for random strategies.
  virtual std::string covered() const { return ""; }
};

// Whether a portfolio includes schedules that do not depend on the seed. A search of several portfolios needs
// them once.
enum class Fixed : std::uint8_t { kIncluded, kLeftOut };

// `text`: portfolio, random, pct:D, delay:K, nasty (see the manual page). If `focus` is not empty, `text` is
// ignored: the strategy "near" searches for variations of these decisions. nullptr: there is no strategy
// `text`; `failure` is a sentence.
std::unique_ptr<Strategy> make_strategy(std::string_view text, std::uint64_t seed, const std::vector<Decision>& focus,
                                        std::string* failure, Fixed fixed = Fixed::kIncluded);

// Searches for a smaller schedule with the same failure as `like`, the decisions of a failing schedule:
// schedules of one to three decisions at its sites and actors. In many of them sites other than delays always
// take the last alternative. The first schedule has no decisions.
std::unique_ptr<Strategy> make_reducing_strategy(std::uint64_t seed, const std::vector<Decision>& like);

}  // namespace verbatim::explore
