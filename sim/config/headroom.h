// How much of a lossless priority's packets arrives after the decision that its sender should pause.
#pragma once

#include <cstdint>

#include "sim/fabric/channel.h"

namespace verbatim::config {

// Bytes that no sequence of packets exceeds, on a link with pauses and both ends' largest packet, in whole
// cells. The decision is made when the head of a packet comes that may be the first in the headroom; the
// frame of the pause waits for a largest packet that starts at the same instant; the far end finishes the
// largest packet that has just started when the pause has effect. Between, it sends packets of the size that
// wastes the most of their cells. `smallest`, `largest`: wire bytes, 1 <= smallest <= largest.
std::uint32_t headroom_bound(const fabric::LinkParams& link, std::uint32_t smallest, std::uint32_t largest,
                             std::uint32_t cell_bytes);
// Bytes that packets of this size alone take, sent at the worst times: the exact bound of their traffic.
std::uint32_t headroom_of_equal_packets(const fabric::LinkParams& link, std::uint32_t wire_bytes,
                                        std::uint32_t largest, std::uint32_t cell_bytes);

// SONiC's formula for Mellanox switches (cfgmgr/buffer_headroom_mellanox.lua), with its divisor of 1,024 x 8
// for the bits on the cable.
struct SonicHeadroom {
  std::uint64_t rate_mbps = 100'000;
  std::uint32_t cable_mm = 0;
  std::uint32_t port_mtu = 9100, lossless_mtu = 1024;  // bytes
  std::uint32_t small_packet_percent = 100;
  std::uint32_t cell_bytes = 144;
};
// Bytes, whole KiB. The rate is one of its table: 10, 25, 40, 50, 100, 200, 400 or 800 Gb/s; 0: it is not.
std::uint32_t sonic_headroom(const SonicHeadroom& port);
// The response time of IEEE 802.3 31B.3.7 in quanta, as SONiC's table has it; 0: not known for the rate.
std::uint32_t pause_response_quanta(std::uint64_t rate_mbps);

}  // namespace verbatim::config
