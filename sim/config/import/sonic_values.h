// Buffers, marking and schedulers of a switch from its config_db.json, as keys of a switch profile.
//
//  - BUFFER_POOL, BUFFER_PROFILE and BUFFER_PG: the shared pool, the reserve and dynamic threshold of lossless and lossy
//    priority groups, and the headroom (xoff) of each port. BUFFER_QUEUE: the dynamic threshold of lossy queues.
//  - QUEUE with WRED_PROFILE: ECN thresholds of queues. QUEUE with SCHEDULER: strict queues, and weights of the others.
//  - PORT_QOS_MAP with DSCP_TO_TC_MAP: priorities follow DSCP values, by DSCP / 8 as at adapters.
//  - PFC_WD: the watchdog.
//
// A profile has one value for all ports. Where ports differ, the first port's value is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json_text.h"

namespace verbatim::config::imports {

struct SonicValues {
  // Differences from the device's profile, in keys of a profile; empty if the file has none of these tables.
  Json profile = Json::object();
  // Lossless priority groups of a port, by its name.
  struct Headroom {
    std::uint64_t bytes = 0;  // of the largest group
    std::uint32_t groups = 0;
  };
  std::map<std::string, Headroom> headrooms;
  // Bytes of the pool shared by lossless traffic, without reserves and headrooms; nullopt: not in the file.
  std::optional<std::uint64_t> pool_bytes;
  // Sentences about values of the file that are ignored or changed.
  std::vector<std::string> left_out;
};

// `ports` are the names of the switch's ports, in order.
SonicValues values_of_sonic(const Json& config, const std::vector<std::string>& ports);

// Returns the text of the profile `base` with `values`. `cabled`: the ports with a cable; the shared memory
// gets a reserve for each of their lanes, and their headrooms. Empty if `base` is not a profile.
std::string profile_with(const std::string& base, const SonicValues& values, const std::string& switch_name,
                         const std::vector<std::string>& cabled);

}  // namespace verbatim::config::imports
