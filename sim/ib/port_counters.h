// Packet counters of a port (IBA 16.1.3.5, attributes PortCounters and PortCountersExtended). Management
// truncates them to the width of a field, and a performance agent resets them on request.
//
// Counters of events that the model does not have stay 0 and are included for completeness.
#pragma once

#include <array>
#include <cstdint>

#include "sim/core/time.h"

namespace verbatim::ib {

// Tick of PortXmitWait: the symbol time at 2.5 Gb/s (assumed; adapters report theirs only in
// PortSamplesControl).
inline constexpr Duration kWaitTick{4'000};

// Counters of one priority of an Ethernet port.
struct PriorityCounts {
  std::uint64_t xmit_packets = 0, rcv_packets = 0;
  std::uint64_t rcv_discards = 0;  // received packets that did not fit into the port's buffer
  // From the destination MAC address to the frame check sequence.
  std::uint64_t xmit_bytes = 0, rcv_bytes = 0;
  // Pauses requested by one end of the other. A frame is counted when it leaves, at both ends; a pause lasts
  // from the effect of one frame to the effect of another one.
  struct Pauses {
    std::uint64_t frames = 0;  // frames that name the priority
    std::uint64_t ended = 0;   // ended pauses
    Duration of_ended{0};      // total duration of ended pauses
    Instant since = kNever;    // start of the present pause; kNever: none

    Duration total(Instant now) const { return of_ended + (since < now ? now - since : Duration(0)); }
    friend bool operator==(const Pauses&, const Pauses&) = default;
  };
  Pauses xmit_pauses, rcv_pauses;  // requested by this end; by the far end

  friend bool operator==(const PriorityCounts&, const PriorityCounts&) = default;
};
using PriorityCounters = std::array<PriorityCounts, 8>;

struct PortCounters {
  std::uint64_t xmit_packets = 0, rcv_packets = 0;  // including multicast
  // From the first byte of the LRH to the last before the VCRC; shown in words of four bytes (PortXmitData,
  // PortRcvData).
  std::uint64_t xmit_bytes = 0, rcv_bytes = 0;
  // Time during which a packet was queued and the line was free, but nothing was sent: no credits, a stalled
  // lane, or a busy crossbar. Shown in ticks (PortXmitWait).
  Duration xmit_wait{0};
  PriorityCounters* priorities = nullptr;  // the port's; null: not counted (fabric::Port::count_priorities)

  std::uint64_t multicast_xmit_packets = 0, multicast_rcv_packets = 0;
  // Packets not sent: the port was down, or a lifetime expired.
  std::uint64_t xmit_discards = 0;
  // Packets received with an error: lost by a scripted cable fault, or with a wrong ICRC. Losses on a failing
  // link are not counted.
  std::uint64_t rcv_errors = 0;
  // Packets that a switch received and could not forward: no route, or no lane at the output.
  std::uint64_t rcv_switch_relay_errors = 0;
  std::uint32_t vl15_dropped = 0;  // management packets for which there was no buffer
  std::uint32_t link_downed = 0;

  // Cables have no bit errors.
  std::uint32_t symbol_errors = 0, link_error_recoveries = 0, local_link_integrity_errors = 0;
  std::uint32_t rcv_remote_physical_errors = 0;  // no packet is marked as bad in transit
  std::uint32_t excessive_buffer_overruns = 0;   // prevented by credits
  std::uint32_t xmit_constraint_errors = 0, rcv_constraint_errors = 0;  // switches enforce no partitions
  std::uint32_t qp1_dropped = 0;  // queue pair 1 never runs out of receives

  friend bool operator==(const PortCounters&, const PortCounters&) = default;
};

}  // namespace verbatim::ib
