// Files for management datagrams: /dev/infiniband/umadN and issmN, /sys/class/infiniband_mad.
#pragma once

#include <string>

#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

// `device`: index in the host's list of devices.
std::string umad_device(std::size_t device);
std::string issm_device(std::size_t device);

struct ManagedPort {
  std::size_t device = 0;
  std::string bus;   // 0000:01:00.0
  std::string name;  // of the adapter
  bool has_subnet_management = false;
};
void add_port_management(VirtualTree& tree, const ManagedPort& port);

}  // namespace verbatim::supervisor
