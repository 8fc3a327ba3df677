// NETLINK_RDMA (<rdma/rdma_netlink.h>), as rdma(8) of iproute2 uses it: devices, ports and resources of the host. Requests
// that change something are refused.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::supervisor {

// Appends the messages of the answer to the request `bytes`, which begins with `request`; 0 or -errno.
int answer_rdma(const HostSpec& host, const nlmsghdr& request, std::span<const std::byte> bytes, std::uint32_t port,
                std::vector<std::byte>& answer);

}  // namespace verbatim::supervisor
