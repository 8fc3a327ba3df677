// State of a port in the clocked reference: transmitter, line, receiver, switch input.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "tests/timing/reference/clocked_memory.h"
#include "tests/timing/reference/fabric_case.h"

namespace verbatim::timing::clocked {

inline constexpr std::int64_t kNo = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint32_t kCounter = 4096;  // FCTBS, FCCL and ABR have 12 bits

inline std::uint32_t blocks(std::uint32_t wire_bytes) { return (wire_bytes + 63) / 64; }

// Edge `n` of a clock with `per` edges in `ps` picoseconds, rounded up to a picosecond.
inline std::int64_t edge_time(std::uint64_t n, std::uint64_t ps, std::uint64_t per) {
  if (per == 1) return static_cast<std::int64_t>(n * ps);
  return static_cast<std::int64_t>((static_cast<unsigned __int128>(n) * ps + per - 1) / per);
}

using CanSend = std::array<bool, 15>;  // by lane

// Weighted round robin as IBA 7.6.9.2 words it: one table.
struct ReferenceTable {
  std::vector<Weight> entries;
  std::size_t pointer = 0;
  std::int64_t available = 0;  // in 4-byte units

  void restart() { available = entries.empty() ? 0 : entries[pointer].weight * 16; }
  // Inspects entries until one can send; -1 after a full round, and then as it was.
  int inspect(const CanSend& can_send) {
    const std::size_t old_pointer = pointer;
    const std::int64_t old_available = available;
    for (std::size_t inspected = 0; inspected <= entries.size() && !entries.empty(); ++inspected) {
      if (available > 0 && can_send[entries[pointer].lane]) return static_cast<int>(entries[pointer].lane);
      pointer = pointer + 1 == entries.size() ? 0 : pointer + 1;
      restart();
    }
    pointer = old_pointer;
    available = old_available;
    return -1;
  }
};

struct Waiting {
  std::uint32_t packet = 0;
  int buffer_port = -1;  // the switch port whose buffer holds it
  std::uint32_t buffer_lane = 0;
  std::int64_t arrived = 0;  // its head, in this switch
};

inline constexpr std::uint32_t kDropped = 16;  // instead of a lane
inline constexpr std::uint32_t kVl15 = 15;     // no credits, no lifetimes, before all others

inline constexpr std::uint32_t kPriorities = 8;
inline constexpr std::uint32_t kFrameBytes = 64;    // of a frame that pauses or resumes
inline constexpr std::uint32_t kQuantumBytes = 64;  // of the line's time

// Timers of a frame: quanta for which each lane is paused; kUnchanged: the lane's timer is not set.
struct PauseTimers {
  static constexpr std::int32_t kUnchanged = -1;
  std::array<std::int32_t, kPriorities> quanta;
};

// A frame or packet that the transmitter puts on the line, one byte after the other.
struct Unit {
  enum class Kind : std::uint8_t { kData, kCredits, kPause };
  Kind kind = Kind::kCredits;
  Waiting waiting;
  std::uint32_t lane = 0;
  std::uint32_t length = 0, position = 0;
  std::uint32_t head_at = 0, tail_at = 0;  // byte counts
  std::uint32_t credit_limit = 0;          // FCCL
  PauseTimers timers{};
};

struct FlyingByte {
  std::int64_t arrives = 0;
  Unit unit;  // position: of this byte, from 1
};

struct ReceiveLane {
  std::uint32_t capacity = 0, used = 0, received = 0;  // blocks; received is ABR
  std::uint64_t freed = 0, told = 0;                   // blocks since the beginning
  std::int64_t due_since = kNo;
  std::int64_t last_update = 0;
};

// A wish of an end of a link with pauses: the far end is to pause a lane.
struct PauseWish {
  bool is_paused = false;
  bool is_news = false;  // since the last frame
  bool has_left = false; // a packet of the lane, in this instant
};

struct SpaceFreed {
  std::int64_t when = 0;
  std::uint32_t lane = 0, wire_bytes = 0;
};

struct Moving {  // in a switch, between its head's arrival and an output queue
  std::uint32_t packet = 0;
  std::uint32_t lane = 0;
  std::int64_t head = 0;
  bool tail_is_in = false;
  bool looked_up = false;
  bool counting = false;
  std::uint32_t cycles_left = 0;
  std::uint32_t out = 0;
};

struct HeadOfQueue {
  std::uint32_t packet = ~0u;
  std::int64_t since = 0, stalled_until = 0;
  std::uint32_t drops = 0;  // in a row
};

struct ReferencePort {
  std::uint32_t device = 0;
  int peer = -1;
  const LinkCase* link = nullptr;
  std::uint32_t lanes = 1;
  // Transmitter.
  std::vector<std::deque<Waiting>> queue;
  std::vector<HeadOfQueue> heads;
  std::vector<std::uint32_t> limit, sent;  // FCCL and FCTBS
  ReferenceTable high, low;
  std::int64_t high_counter = 0;
  bool sending = false;
  Unit unit;
  std::int64_t since = 0, last_edge = -1, next_byte = kNo;
  std::uint64_t edges = 0;
  // The line.
  std::deque<FlyingByte> flying;
  // Receiver.
  std::vector<ReceiveLane> input;  // but VL15
  std::uint32_t vl15_used = 0;     // blocks
  std::vector<SpaceFreed> frees;
  std::vector<MemoryGroup> groups;  // by lane; empty: the link has credits
  // Pauses obeyed by the transmitter: their ends, and frames that have arrived but not taken effect.
  std::array<std::int64_t, kPriorities> paused_until{};
  std::deque<std::pair<std::int64_t, PauseTimers>> coming_pauses;
  // Pauses requested by the receiver.
  std::array<PauseWish, kPriorities> wishes{};
  std::int64_t frame_due = kNo;   // since a request has changed
  std::int64_t repeat_due = kNo;  // half of the quanta after the last frame
  // Switch input.
  std::deque<Moving> moving;
  std::uint64_t next_lookup_cycle = 0;
  std::uint32_t being_read = 0;  // packets leaving this buffer through the crossbar
  // Adapter: what it sends, by time.
  std::deque<std::uint32_t> outgoing;
};

}  // namespace verbatim::timing::clocked
