// A schedule: rules for the choices of a run, as a value that can be sent to another process, and the objects
// that choose by it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/choice.h"
#include "sim/explore/decision.h"

namespace verbatim::explore {

// Prefix of the sites about memory accesses.
inline constexpr std::string_view kAccessSites = "thread-before-access";

struct Schedule {
  enum class Kind : std::uint8_t {
    kDecisions,   // `decisions`; else the last alternative at the sites in `always`, and the default at all others
    kSwarm,       // SeededChoices of `seed`
    kPriorities,  // actors are fast or slow, and change speed at `decisions`, whose answers are ignored
    kAlways,      // the last alternative at sites whose names begin with `site`; else the default
    kNear,        // most of `decisions`, some of them moved; occasionally another
  };
  Kind kind = Kind::kDecisions;
  std::uint64_t seed = 0;
  std::string site;
  std::vector<Decision> decisions;
  std::vector<std::string> always;  // names of sites
  std::string name;           // name of the strategy, for reports: "pct:3"
  bool has_accesses = false;  // threads may be late before memory accesses as well
  bool wants_places = false;  // the places in the programs are to be reported
  bool wants_points = false;  // the strategy needs each question of the run, not only their number

  // Whether threads may be late before accesses, or one of `decisions` requires it.
  bool takes_accesses() const;
};

std::unique_ptr<Choices> make_choices(const Schedule& schedule, const std::vector<std::string>& component_names);

// Whether a question with so many alternatives is about the length of a delay.
bool is_delay(std::uint32_t alternatives);

// Representative answers: all if there are few alternatives, else one in every second octave of the delay.
std::vector<std::uint32_t> representatives(std::uint32_t alternatives);

}  // namespace verbatim::explore
