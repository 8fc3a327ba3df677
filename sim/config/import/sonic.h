// Configurations of SONiC's switches (config_db.json): neighbours, speeds, cable lengths, lossless priorities, and what goes into
// profiles (sonic_values.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/config/diagnostics.h"
#include "sim/config/import/fabric.h"

namespace verbatim::config::imports {

// A file of the user's.
struct Source {
  std::string path;  // as findings name it
  std::string text;
};

// One switch for each file; neighbours without a file are hosts. Ports have the places of their names: Ethernet0, Ethernet4,
// … are 1, 2, …. Nothing, and findings, where a file is wrong or two files contradict each other.
std::optional<Fabric> read_sonic(std::span<const Source> sources, Diagnostics& diagnostics);

}  // namespace verbatim::config::imports
