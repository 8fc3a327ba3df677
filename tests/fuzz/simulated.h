// Shared by fuzz targets that simulate a fabric.
#pragma once

#include <string>
#include <utility>

#include "sim/config/load.h"
#include "sim/config/simulation.h"
#include "sim/core/check.h"

namespace verbatim::fuzz {

// One of the shipped topologies, such as "two_hosts.json".
inline config::TopologySpec load_topology(const std::string& file) {
  config::Diagnostics diagnostics;
  const std::string folder = VERBATIM_SOURCE_DIR "/topologies";
  auto loaded = config::load_topology(folder + "/" + file, {{folder + "/profiles"}}, diagnostics);
  CHECK(loaded.has_value());
  return *std::move(loaded);
}

// Runs for this virtual time, with a limit of steps, because inputs may cause endless events.
inline void run_for(Engine& engine, Duration time) {
  constexpr int kMostSteps = 2'000'000;
  const Instant end = engine.now() + time;
  int steps = 0;
  while (engine.next_event_time() <= end) {
    engine.step();
    CHECK(++steps < kMostSteps);
  }
  engine.run_until(end);
}

}  // namespace verbatim::fuzz
