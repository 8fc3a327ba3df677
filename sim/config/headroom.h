// How much of a lossless priority's traffic arrives after the decision to pause its sender.
#pragma once

#include <cstdint>

#include "sim/fabric/channel.h"

namespace verbatim::config {

// Upper bound in bytes over all sequences of packets, in whole cells, on a link with pauses and the largest
// packet of both ends. The decision is made when the head of the first packet that may go to the headroom
// arrives. The pause frame waits for a largest packet that starts at the same instant. The far end finishes a
// largest packet that has just started when the pause takes effect. In between it sends packets of the size
// that wastes most of their cells. `smallest`, `largest`: wire bytes, 1 <= smallest <= largest.
std::uint32_t headroom_bound(const fabric::LinkParams& link, std::uint32_t smallest, std::uint32_t largest,
                             std::uint32_t cell_bytes);
// The exact bound if all packets have this size and are sent at the worst times.
std::uint32_t headroom_of_equal_packets(const fabric::LinkParams& link, std::uint32_t wire_bytes,
                                        std::uint32_t largest, std::uint32_t cell_bytes);

// SONiC's formula for Mellanox switches (cfgmgr/buffer_headroom_mellanox.lua); it divides the bits on the
// cable by 1,024 x 8.
struct SonicHeadroom {
  std::uint64_t rate_mbps = 100'000;
  std::uint32_t cable_mm = 0;
  std::uint32_t port_mtu = 9100, lossless_mtu = 1024;  // bytes
  std::uint32_t small_packet_percent = 100;
  std::uint32_t cell_bytes = 144;
};
// Bytes, in whole KiB; 0 if the rate is not in its table: 10, 25, 40, 50, 100, 200, 400 or 800 Gb/s.
std::uint32_t sonic_headroom(const SonicHeadroom& port);
// Response time of IEEE 802.3 31B.3.7 in quanta, from SONiC's table; 0 if the table lacks the rate.
std::uint32_t pause_response_quanta(std::uint64_t rate_mbps);

}  // namespace verbatim::config
