// Warnings about topologies that are well formed but unlike real devices: links faster than a device, more ports than a switch
// has, routes that can deadlock on credits or pauses, routing engines that cannot route the fabric, too few cables between
// switches. All of it can be simulated; the user gets a warning.
#pragma once

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Warns of links and ports that the profiles' devices do not have, and names a cycle of outputs by which packets can wait for
// each other for ever (sim/subnet/credit_loops.h). A finding is that no routing engine can route the fabric, with no_fallback.
// The topology is resolved.
void warn_of_device_limits(const TopologySpec& topology, Diagnostics& diagnostics);

// A switch whose adapters together are up to so many times as fast as its cables to other switches gets no warning: published
// fabrics have 1:1 to 4:1.
inline constexpr std::int64_t kUsualOversubscription = 4;
void warn_of_oversubscription(const TopologySpec& topology, Diagnostics& diagnostics);

}  // namespace verbatim::config
