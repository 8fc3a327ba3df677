// Buffers, marks and schedulers of a switch as its config_db.json has them, in the keys of a switch profile.
//
//  - BUFFER_POOL, BUFFER_PROFILE and BUFFER_PG: the shared pool, the reserve and the dynamic threshold of lossless and lossy
//    priority groups, and the headroom (xoff) of each port; BUFFER_QUEUE: the dynamic threshold of lossy queues.
//  - QUEUE with WRED_PROFILE: ECN's thresholds of queues; with SCHEDULER: strict queues, and weights of the others.
//  - PORT_QOS_MAP with DSCP_TO_TC_MAP: that priorities come from DSCP values, by DSCP / 8 as those of adapters do.
//  - PFC_WD: the watchdog.
//
// A profile is one of all ports: where ports differ, the first port's values are taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json_text.h"

namespace verbatim::config::imports {

struct SonicValues {
  // Differences from the profile of the device: objects of the keys of a profile. Empty: the file has no such tables.
  Json profile = Json::object();
  // The lossless priority groups of a port, by its name.
  struct Headroom {
    std::uint64_t bytes = 0;  // of the largest
    std::uint32_t groups = 0;
  };
  std::map<std::string, Headroom> headrooms;
  // Bytes of the pool that lossless traffic shares, without reserves and headrooms; none: the file does not say.
  std::optional<std::uint64_t> pool_bytes;
  // Sentences about what is not taken as it is in the file.
  std::vector<std::string> left_out;
};

// `ports`: names of the switch's ports, in their order.
SonicValues values_of_sonic(const Json& config, const std::vector<std::string>& ports);

// The text of a profile: `base`, a profile, with the values. `cabled`: ports with a cable, each of which has a reserve for all
// lanes. Empty: the base is no profile.
std::string profile_with(const std::string& base, const SonicValues& values, const std::string& switch_name,
                         const std::vector<std::string>& cabled);

}  // namespace verbatim::config::imports
