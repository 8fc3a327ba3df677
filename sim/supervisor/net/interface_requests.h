// ioctl requests about the interfaces of a host, which any socket accepts.
#pragma once

#include <cstdint>

#include "sim/core/time.h"

namespace verbatim::supervisor {

class Process;

// Interface requests of netdevice(7). `address`: of the request's ifreq or ifconf in program memory. 0 or
// -errno.
std::int64_t control_interface(Process& process, unsigned long number, std::uint64_t address, Instant now);
// SIOCETHTOOL (linux/ethtool.h): driver, link state and statistics of an interface.
std::int64_t control_ethtool(Process& process, std::uint64_t address, Instant now);

}  // namespace verbatim::supervisor
