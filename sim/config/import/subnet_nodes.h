// Makes a fabric of an InfiniBand subnet's nodes and of cables that the file names from both ends. Used by
// the readers of ibnetdiscover's output and of OpenSM's list of links.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/import/fabric.h"
#include "sim/config/import/lines.h"

namespace verbatim::config::imports {

struct SubnetPort {
  std::uint32_t number = 0;
  std::uint64_t guid = 0;  // of an adapter's port
  std::uint32_t lid = 0;   // of an adapter's port
  std::size_t line = 0;    // line of the file with the port's cable
  std::string far_id;
  std::uint32_t far_port = 0;
  std::string rate;  // empty: not in the file
};

struct SubnetNode {
  std::string id;
  bool is_switch = false;
  Device device;  // the node itself
  std::uint32_t ports = 0;
  std::size_t line = 0;
  std::map<std::uint32_t, SubnetPort> cabled;
};

// Checks that both ends of each cable agree, and makes a device of every cabled port of an adapter, because
// adapters have one port here. Nodes without a cable, and routers, are left out. Returns nullopt, with
// findings, where ends disagree.
std::optional<Fabric> fabric_of(const std::vector<SubnetNode>& nodes, std::string format, LineFindings& findings);

// "4xEDR" in the form of a topology, "EDR 4x"; empty if it is no rate.
std::string rate_of_port(std::string_view text);

// Splits a node's description, "node01 mlx5_0", into the host's and the device's name. The latter is empty if
// the description names no device.
void set_names(Device& device);

}  // namespace verbatim::config::imports
