// Files of /proc/[pid]/net about a host's interfaces, addresses and routes. Values that the simulation does
// not count are 0.
#pragma once

#include <string>

#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

void add_network_files(VirtualTree& tree, const std::string& folder, const HostSpec& host);

}  // namespace verbatim::supervisor
