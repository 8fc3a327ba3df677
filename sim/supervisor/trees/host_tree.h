// What a simulated host shows of its hardware, and its files of /etc: /sys, /dev. Adapters are seen where a PCI
// network adapter of Linux is, with the attributes and port counters that its ib_core and mlx5 drivers give.
#pragma once

#include <memory>

#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/trees/virtual_tree.h"
#include "sim/supervisor/trees/huge_pages.h"

namespace verbatim::supervisor {

inline constexpr char kRdmaCmDevice[] = "/dev/infiniband/rdma_cm";

// What hosts with such a processor have alike: /dev without adapters, the processor, what the kernel tells in /sys.
std::shared_ptr<const VirtualTree> make_common_tree(std::uint64_t timestamp_counter_hz);
// `host` and `huge_pages` outlive the tree. `hosts_file` is the content of /etc/hosts.
std::shared_ptr<VirtualTree> make_host_tree(std::shared_ptr<const VirtualTree> common, const HostSpec& host,
                                            VirtualNode::Text hosts_file, const HugePagePool& huge_pages);
// The parts that are the same on every host (device_tree.cc): /dev without adapters; what the kernel tells in /sys.
void add_devices(VirtualTree& tree);

}  // namespace verbatim::supervisor
