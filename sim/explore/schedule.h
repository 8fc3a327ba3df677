// One way to choose, as a value that can be sent to whoever runs it, and the objects that choose so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/choice.h"
#include "sim/explore/decision.h"

namespace verbatim::explore {

// The names of sites that are about accesses to memory begin so.
inline constexpr std::string_view kAccessSites = "thread-before-access";

struct Schedule {
  enum class Kind : std::uint8_t {
    kDecisions,   // `decisions`; elsewhere the last alternative at the sites in `always`, and the default at all others
    kSwarm,       // SeededChoices of `seed`
    kPriorities,  // actors are fast or slow, and change at `decisions`, whose answers are not looked at
    kAlways,      // the last alternative at the sites whose names begin with `site`; the default elsewhere
    kNear,        // most of `decisions`, some of them later or sooner; now and then another
  };
  Kind kind = Kind::kDecisions;
  std::uint64_t seed = 0;
  std::string site;
  std::vector<Decision> decisions;
  std::vector<std::string> always;  // names of sites
  std::string name;           // of the strategy, for people: "pct:3"
  bool has_accesses = false;  // threads may be late before accesses to memory, too
  bool wants_places = false;  // where in the programs it happened is to be told
  bool wants_points = false;  // the strategy needs to know each question of the run, not only how many there were

  // Whether they may, or have to by one of `decisions`.
  bool takes_accesses() const;
};

std::unique_ptr<Choices> make_choices(const Schedule& schedule, const std::vector<std::string>& component_names);

// Whether the alternatives are the steps of a delay.
bool is_delay(std::uint32_t alternatives);

// Answers that stand for all alternatives: each of a few, or one of every second octave of a delay.
std::vector<std::uint32_t> representatives(std::uint32_t alternatives);

}  // namespace verbatim::explore
