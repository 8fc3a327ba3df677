// InfiniBand congestion control (IBA annex A10), shared by switches, adapters and management: port settings
// and logs. Disabled until a manager sets it.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>

#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

inline constexpr std::size_t kServiceLevels = 16;
// Unit of timers and timestamps (IBA A10.4.3.8, A10.4.3.10): 1.024 us.
inline constexpr Duration kCongestionTick{1'024'000};

// FECN marking by an output port of a switch (IBA A10.2.1).
struct MarkingSetting {
  std::uint8_t threshold = 0;      // 0: no marking; 1: late, 15: early
  std::uint8_t packet_size = 0;    // shorter packets are not marked; in blocks of 64 bytes
  std::uint16_t marking_rate = 0;  // mean number of eligible packets between two marked ones
  bool marks_victims = false;      // marks even while the port has no credits to send
  friend bool operator==(const MarkingSetting&, const MarkingSetting&) = default;
};

// Entry of the congestion control table (IBA A10.4.3.9): after a packet that takes t on the line, the flow
// starts no packet for a further (t >> shift) * multiplier.
struct InjectionDelay {
  std::uint8_t shift = 0;         // 0 … 3
  std::uint16_t multiplier = 0;   // 0 … 16383
  constexpr Duration behind(Duration packet) const { return Duration((packet.count() >> shift) * multiplier); }
  friend bool operator==(const InjectionDelay&, const InjectionDelay&) = default;
};

// Reaction of an adapter's port to BECN (IBA A10.2.2).
struct InjectionSetting {
  static constexpr std::size_t kBlockEntries = 64, kBlocks = 2;
  static constexpr std::size_t kEntries = kBlockEntries * kBlocks;

  // For the flows of one service level.
  struct Level {
    std::uint16_t timer = 0;            // in ticks, after which the index is decremented
    std::uint8_t increase = 0;          // increment of the index per BECN
    std::uint8_t trigger_threshold = 0; // a BECN at or to this index is logged; 0: none is
    std::uint8_t least = 0;             // lower limit of the index (CCTI_Min)
    friend bool operator==(const Level&, const Level&) = default;
  };

  bool is_by_level = false;  // one index per service level instead of one per queue pair
  std::array<Level, kServiceLevels> levels;
  std::uint16_t limit = 0;  // upper limit of the index (CCTI_Limit)
  std::array<InjectionDelay, kEntries> table;

  std::uint16_t least_of(std::size_t level) const { return std::min<std::uint16_t>(levels[level].least, limit); }
  // Whether flows of a service level can be delayed at all.
  bool can_delay(std::size_t level) const {
    return table[least_of(level)].multiplier != 0 || (levels[level].increase != 0 && least_of(level) < limit);
  }
  friend bool operator==(const InjectionSetting&, const InjectionSetting&) = default;
};

// The newest events, and their number since the log was last read (IBA A10.4.3.5).
template <class Event, std::size_t Size>
class CongestionEvents {
 public:
  void add(const Event& event) {
    ring_[added_++ % Size] = event;
    ++unread_;
  }
  std::uint64_t unread() const { return unread_; }
  // Calls visit(const Event&) from the newest to the oldest event kept.
  template <class Visit>
  void visit(Visit visit) const {
    for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(added_, Size); ++back) visit(ring_[(added_ - back) % Size]);
  }
  void note_read() { unread_ = 0; }

 private:
  std::array<Event, Size> ring_;
  std::uint64_t added_ = 0, unread_ = 0;
};

// A switch marked a packet.
struct MarkingEvent {
  Lid source, destination;
  ServiceLevel service_level;
  Instant when{};
};
struct MarkingLog {
  CongestionEvents<MarkingEvent, 15> events;
  std::bitset<256> ports;  // ports that have marked packets since the log was last read
};

// A BECN arrived for a flow whose index is at its trigger threshold.
struct InjectionEvent {
  Qpn local, remote;
  Lid remote_lid;
  ServiceLevel service_level;
  std::uint8_t service_type = 0;  // 0 RC, 1 UC, 3 UD
  Instant when{};
};
struct InjectionLog {
  CongestionEvents<InjectionEvent, 13> events;
  std::uint16_t levels = 0;  // bit n: service level n has had an event since the log was last read
};

}  // namespace verbatim::ib
