// Warnings about topologies that are well formed but that no real devices form: links faster than a device,
// more ports than a switch has, thresholds of marking that no queue reaches, a generated fat tree of mostly
// empty leaves, routes that can deadlock on credits or pauses, routing engines that cannot route the fabric,
// too few cables between switches. All of these can be simulated.
#pragma once

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Warns about links and ports that the profiles' devices do not have, about marking above the shared memory
// and mostly empty fat trees, and names a cycle of outputs in which packets can wait for each other for ever
// (sim/subnet/credit_loops.h). With no_fallback it is a finding if no routing engine can route the fabric. The
// topology is resolved.
void warn_of_device_limits(const TopologySpec& topology, Diagnostics& diagnostics);

// A switch gets no warning if the total rate of its adapters is at most this multiple of that of its cables
// to other switches. Published fabrics have 1:1 to 4:1.
inline constexpr std::int64_t kUsualOversubscription = 4;
void warn_of_oversubscription(const TopologySpec& topology, Diagnostics& diagnostics);

}  // namespace verbatim::config
