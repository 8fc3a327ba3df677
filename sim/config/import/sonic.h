// Reads configurations of SONiC switches (config_db.json): neighbours, speeds, cable lengths, lossless
// priorities, and the values that go to profiles (sonic_values.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/config/diagnostics.h"
#include "sim/config/import/fabric.h"

namespace verbatim::config::imports {

// An input file.
struct Source {
  std::string path;  // as findings name it
  std::string text;
};

// Makes one switch of each file; neighbours without a file are hosts. Ports are numbered in the order of
// their names: Ethernet0, Ethernet4, … are 1, 2, …. Returns nullopt, with findings, if a file is wrong or two
// files contradict each other.
std::optional<Fabric> read_sonic(std::span<const Source> sources, Diagnostics& diagnostics);

}  // namespace verbatim::config::imports
