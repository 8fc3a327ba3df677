// Which schedules to run, one after the other. What a strategy gives depends on its name, on the seed and on what it was told
// of earlier schedules in their order, never on how many run at a time.
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
  // nullopt: not before it has learned more, or never again, as is_exhausted() tells.
  virtual std::optional<Schedule> next() = 0;
  // What a schedule that next() gave has asked and decided; in the order in which they were given.
  virtual void learn(const Schedule& schedule, const Questions& questions) = 0;
  // All that it can find out is found out.
  virtual bool is_exhausted() const = 0;
  // What that means, in a sentence; empty for those that draw.
  virtual std::string covered() const { return ""; }
};

// `text`: portfolio, random, pct:D, delay:K, nasty (what each is stands in the manual page), or near when `focus` has decisions.
// nullptr: there is no such strategy, and `failure` says what is wrong.
std::unique_ptr<Strategy> make_strategy(std::string_view text, std::uint64_t seed, const std::vector<Decision>& focus,
                                        std::string* failure);

// Schedules of one to three decisions at the sites and of the actors of `like`, a failure's, often with the sites that are no
// delays used whenever they can be: to find the same failure with less. Its first schedule is the default everywhere.
std::unique_ptr<Strategy> make_few(std::uint64_t seed, const std::vector<Decision>& like);

}  // namespace verbatim::explore
