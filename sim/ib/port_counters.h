// What a port counts of its packets (IBA 16.1.3.5, attributes PortCounters and PortCountersExtended). Whoever shows them cuts
// them off at the width of a field, and may write them: a performance agent sets those that it is told to reset.
//
// A member that stays 0 is of something that no cable or port of the model does, and is here so that the list is whole.
#pragma once

#include <array>
#include <cstdint>

#include "sim/core/time.h"

namespace verbatim::ib {

// Of PortXmitWait: the time of a symbol at 2.5 Gb/s (assumed; adapters do not tell theirs but in PortSamplesControl).
inline constexpr Duration kWaitTick{4'000};

// Counts of one priority of a port on Ethernet.
struct PriorityCounts {
  std::uint64_t xmit_packets = 0, rcv_packets = 0;
  std::uint64_t rcv_discards = 0;  // of those, packets for which the port's buffer had no room
  std::uint64_t xmit_bytes = 0, rcv_bytes = 0;  // from the destination's MAC address to the frame check sequence
  // Pauses for which one end asks the other. A frame counts from when it leaves, at both ends; a pause lasts from when one frame
  // has effect until another one has.
  struct Pauses {
    std::uint64_t frames = 0;  // that name the priority
    std::uint64_t ended = 0;   // pauses
    Duration of_ended{0};
    Instant since = kNever;    // of the pause that lasts; kNever: none does

    Duration total(Instant now) const { return of_ended + (since < now ? now - since : Duration(0)); }
    friend bool operator==(const Pauses&, const Pauses&) = default;
  };
  Pauses xmit_pauses, rcv_pauses;  // asked for by this end; by the far end

  friend bool operator==(const PriorityCounts&, const PriorityCounts&) = default;
};
using PriorityCounters = std::array<PriorityCounts, 8>;

struct PortCounters {
  std::uint64_t xmit_packets = 0, rcv_packets = 0;  // multicast too
  // From the first byte of the LRH to the one before the VCRC; as registers show them, in words of four bytes (PortXmitData,
  // PortRcvData).
  std::uint64_t xmit_bytes = 0, rcv_bytes = 0;
  // Time for which there was something to send, the line was free and nothing was sent: there were no credits, a lane was
  // stalled, or the crossbar was busy. As registers show it, in ticks (PortXmitWait).
  Duration xmit_wait{0};
  PriorityCounters* priorities = nullptr;  // the port's; null: it does not count them (fabric::Port::count_priorities)

  std::uint64_t multicast_xmit_packets = 0, multicast_rcv_packets = 0;
  // Packets that were not sent: the port was down, or they had waited for too long.
  std::uint64_t xmit_discards = 0;
  // Packets that came with an error: a fault of the cable has lost them, or the ICRC did not match. Those that are lost because
  // the link fails while they are on it are not counted.
  std::uint64_t rcv_errors = 0;
  // Packets that came into a switch and could not be forwarded: there is no route, or no lane at the output.
  std::uint64_t rcv_switch_relay_errors = 0;
  std::uint32_t vl15_dropped = 0;  // management packets for which there was no buffer
  std::uint32_t link_downed = 0;

  std::uint32_t symbol_errors = 0, link_error_recoveries = 0, local_link_integrity_errors = 0;  // cables have no bit errors
  std::uint32_t rcv_remote_physical_errors = 0;  // no packet is marked as bad on its way
  std::uint32_t excessive_buffer_overruns = 0;   // credits forbid them
  std::uint32_t xmit_constraint_errors = 0, rcv_constraint_errors = 0;  // switches enforce no partitions
  std::uint32_t qp1_dropped = 0;  // the receives of queue pair 1 never run out

  friend bool operator==(const PortCounters&, const PortCounters&) = default;
};

}  // namespace verbatim::ib
