// Lists of a host's sockets in /proc/[pid]/net: tcp, udp, icmp, each also with 6, and unix; their numbers in
// sockstat and snmp. ss(8) and netstat(8) show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/trees/virtual_tree.h"

namespace verbatim::supervisor {

// `number_of`: inode number of a socket. Only sockets with a descriptor are listed.
void add_socket_tables(VirtualTree& tree, const std::string& folder, const ProcessTable& table,
                       std::size_t host,
                       const std::function<std::uint64_t(const VirtualFilePtr&)>& number_of);

}  // namespace verbatim::supervisor
