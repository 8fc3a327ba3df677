// Checks that depend on what hosts have heard of each other.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/config/simulation.h"
#include "sim/observe/late_receives.h"
#include "sim/observe/remote_races.h"

namespace verbatim::cli {

class ContactChecks {
 public:
  // Adds the checks whose bits are set in `checks`. Call before anything is recorded; the simulation must
  // outlive them.
  void add_to(config::Simulation& simulation, std::uint32_t checks);

 private:
  std::optional<observe::RemoteRaces> remote_races_;
  std::optional<observe::LateReceives> late_receives_;
};

}  // namespace verbatim::cli
