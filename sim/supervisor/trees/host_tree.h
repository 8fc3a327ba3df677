// Hardware files of a simulated host (/sys, /dev) and its files in /etc. Adapters appear as PCI network
// adapters do in Linux, with the attributes and counters of its ib_core and mlx5 drivers.
#pragma once

#include <memory>

#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/trees/virtual_tree.h"
#include "sim/supervisor/trees/huge_pages.h"

namespace verbatim::supervisor {

inline constexpr char kRdmaCmDevice[] = "/dev/infiniband/rdma_cm";

// The part that all hosts with this TSC frequency share: /dev without adapters, the processor, kernel files
// in /sys.
std::shared_ptr<const VirtualTree> make_common_tree(std::uint64_t timestamp_counter_hz);
// `host` and `huge_pages` outlive the tree. `hosts_file`: content of /etc/hosts.
std::shared_ptr<VirtualTree> make_host_tree(std::shared_ptr<const VirtualTree> common, const HostSpec& host,
                                            VirtualNode::Text hosts_file, const HugePagePool& huge_pages);
// The part that all hosts share (device_tree.cc): /dev without adapters, kernel files in /sys.
void add_devices(VirtualTree& tree);

}  // namespace verbatim::supervisor
