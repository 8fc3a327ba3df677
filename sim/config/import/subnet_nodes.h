// Nodes of an InfiniBand subnet and the cables that a file names from both ends, made into a fabric: what the readers of
// ibnetdiscover's output and of OpenSM's list of links share.
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
  std::uint32_t lid = 0;   // likewise
  std::size_t line = 0;    // where the file has its cable
  std::string far_id;
  std::uint32_t far_port = 0;
  std::string rate;  // empty: not said
};

struct SubnetNode {
  std::string id;
  bool is_switch = false;
  Device device;  // what is known of the node itself
  std::uint32_t ports = 0;
  std::size_t line = 0;
  std::map<std::uint32_t, SubnetPort> cabled;
};

// Asks whether both ends of each cable agree, and gives every cabled port of an adapter a device of its own: adapters here
// have one port. Nothing, and findings, where they do not. Nodes without a cable and routers are left out.
std::optional<Fabric> fabric_of(const std::vector<SubnetNode>& nodes, std::string format, LineFindings& findings);

// "4xEDR" as a topology has it, "EDR 4x"; empty: it is none.
std::string rate_of_port(std::string_view text);

// The description of a node, "node01 mlx5_0", as a host's name and a device's; the latter empty: it names none.
void set_names(Device& device);

}  // namespace verbatim::config::imports
