// A host as its programs see it: addresses, adapters, processor and limits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/hca/hca.h"
#include "sim/ib/ip_network.h"
#include "sim/ib/port_counters.h"
#include "sim/supervisor/code/processor.h"
#include "verbs_shim/protocol/huge_pages.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::cm {
class RdmaCm;
}
namespace verbatim::management {
class PortManagement;
}

namespace verbatim::supervisor {

// Numbers of pages by kind, see kHugePageSize.
using HugePageCounts = std::array<std::uint64_t, protocol::kHugePageKinds>;
inline constexpr HugePageCounts kUsualHugePages = {2048, 4};  // of 2 MiB and of 1 GiB

struct HostSpec {
  std::string name;
  ComponentId component;               // source of events of this host's programs
  std::uint32_t address = 0;           // IPv4, host byte order
  std::vector<hca::Hca*> devices;      // in the order that programs see
  Duration from_wire{};                // minimum latency from another host's adapter to one of this host
  // A VLAN on the device with that index.
  struct Vlan {
    std::uint16_t id = 0;
    std::size_t device = 0;
  };
  // Addresses of the second device, the third …, then of the VLAN interfaces in `vlans`; and the networks of
  // other hosts, reached through the first device.
  std::vector<ib::IpInterface> further_interfaces;
  std::vector<Vlan> vlans;  // VLANs of the first device, then of the second, …
  std::vector<ib::IpNetwork> further_networks;
  cm::RdmaCm* rdma_cm = nullptr;       // backend of /dev/infiniband/rdma_cm; nullptr: the host has none
  std::vector<management::PortManagement*> port_management;  // by device: backend of /dev/infiniband/umadN
  protocol::CallCosts costs;
  std::uint64_t timestamp_counter_hz = 2'000'000'000;
  code::InstructionSet instruction_set = code::InstructionSet::kX86_64V2;
  HugePageCounts huge_pages = kUsualHugePages;
  int open_files = protocol::kUsualDescriptors;  // RLIMIT_NOFILE of first programs
  std::function<ib::PortCounters(std::size_t device)> port_counters;  // present values; empty: all are zero
};

}  // namespace verbatim::supervisor
