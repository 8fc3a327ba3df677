// What /dev and /sys tell of management datagrams: /dev/infiniband/umad0 and issm0, /sys/class/infiniband_mad.
#pragma once

#include <string>

#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

inline constexpr const char* kUmadDevice = "/dev/infiniband/umad0";
inline constexpr const char* kIssmDevice = "/dev/infiniband/issm0";

// For the adapter `name` at `bus` (0000:01:00.0), whose port has subnet management or not.
void add_port_management(VirtualTree& tree, const std::string& bus, const std::string& name, bool has_subnet_management);

}  // namespace verbatim::supervisor
