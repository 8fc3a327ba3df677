// In-band telemetry for rate controllers (`sim/hca/congestion`), as in HPCC (Li et al., SIGCOMM 2019, 4.1):
// each switch that a packet leaves adds a record about its output. The receiver's acknowledgement returns all
// records to the sender.
//
// The sender reserves kTelemetryBytes of the frame, as HPCC's simulator does, so that packets do not grow. A
// record has 8 bytes on the wire: the rate (3 bits), the time (24, ns), bytes sent (20, units of 128) and
// queued (17, units of 80). In this model the time and the bytes sent do not wrap, and any rate is possible.
// Captures do not show these bytes.
//
// The number of switches alone needs no bytes: it follows from the hop limit of the IP header.
#pragma once

#include <array>
#include <cstdint>

#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

inline constexpr std::size_t kTelemetryHops = 5;
inline constexpr std::uint8_t kTelemetryBytes = 2 + 8 * kTelemetryHops;
inline constexpr std::uint32_t kTelemetrySentUnit = 128, kTelemetryQueuedUnit = 80;

enum class TelemetryKind : std::uint8_t { kNone, kHops, kRecords };

struct TelemetryHop {
  Instant time{};            // start of the packet at the output; whole ns
  std::uint64_t sent = 0;    // bytes sent by this output before, whole units
  std::uint32_t queued = 0;  // bytes left behind, of all priorities, whole units
  std::uint64_t rate_kbps = 0;
};

struct Telemetry {
  TelemetryKind kind = TelemetryKind::kNone;
  bool is_echo = false;   // in an acknowledgement: switches do not change it
  std::uint8_t hops = 0;  // switches on the path; the first kTelemetryHops have records
  std::array<TelemetryHop, kTelemetryHops> records{};

  void add(Instant now, std::uint64_t sent, std::uint64_t queued, std::uint64_t rate_kbps) {
    if (is_echo) return;
    if (kind == TelemetryKind::kRecords && hops < kTelemetryHops) {
      constexpr std::uint32_t kMostQueued = (1 << 17) - 1;
      const std::uint64_t units = queued / kTelemetryQueuedUnit;
      records[hops] = {instant_from_ps(to_ps(now) / 1000 * 1000), sent / kTelemetrySentUnit * kTelemetrySentUnit,
                       static_cast<std::uint32_t>(units < kMostQueued ? units : kMostQueued) * kTelemetryQueuedUnit,
                       rate_kbps};
    }
    ++hops;
  }
};

struct TelemetryPacket final : Packet {
  Telemetry telemetry;
};

// Returns the same packet with room for telemetry.
PacketPtr with_telemetry(PacketPtr packet, const Telemetry& telemetry);
// Null: none.
inline Telemetry* telemetry_of(Packet& packet) {
  return packet.has_telemetry.value ? &static_cast<TelemetryPacket&>(packet).telemetry : nullptr;
}
inline const Telemetry* telemetry_of(const Packet& packet) {
  return packet.has_telemetry.value ? &static_cast<const TelemetryPacket&>(packet).telemetry : nullptr;
}

}  // namespace verbatim::ib
