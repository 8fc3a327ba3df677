// Choices from a list of decisions; all others are the default.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/choice.h"
#include "sim/explore/decision.h"

namespace verbatim::explore {

class ReplayedChoices final : public Choices {
 public:
  ReplayedChoices(const std::vector<Decision>& decisions, std::vector<std::string> component_names);

  // Decisions whose question was not asked: the program has changed, or the list was written by hand.
  std::vector<Decision> unused() const;
  // Number of decisions whose question had too few alternatives; the last alternative was taken instead.
  std::uint64_t clamped() const { return clamped_; }

 private:
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override;

  struct Stream {
    std::vector<Decision> decisions;  // by occurrence
    std::size_t next = 0;
  };
  const ComponentTable components_;
  Occurrences occurrences_;
  std::map<std::pair<std::string, std::string>, Stream> given_;  // by site and actor
  ChoiceStreams<Stream*> streams_;
  std::uint64_t clamped_ = 0;
};

}  // namespace verbatim::explore
