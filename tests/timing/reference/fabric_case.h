// A small fabric with its traffic: the plain data that the event model and the clocked reference are both given.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

namespace verbatim::timing {

struct Rate {  // picoseconds per byte, as a ratio
  std::uint64_t ps = 80, per_bytes = 1;
};

struct Weight {
  std::uint32_t lane = 0, weight = 0;
};

// Marks of a lane by the bytes that wait at an output: none up to `least`, all above `most`.
struct MarkCase {
  std::uint64_t least = 0, most = 0;
  std::uint32_t ppm = 0;  // at `most`, in millionths; 0: the lane marks nothing
};

// Memory that the ports of a switch share, on links without credits.
struct MemoryCase {
  std::uint64_t bytes = 0;  // 0: each port and lane has its own
  std::uint32_t cell_bytes = 64, reserved_bytes = 0, resume_offset_bytes = 0;
  int lossless_alpha = 0, lossy_alpha = 0, output_alpha = 0;  // powers of two
};

// A device is an adapter with one port, or a switch.
struct DeviceCase {
  bool is_switch = false;
  std::uint32_t ports = 1;
  std::uint32_t lanes = 1;
  std::uint32_t buffer_bytes = 65536;  // per port and lane
  std::uint32_t vl15_buffer_bytes = 0;  // per port; 0: everything fits
  std::uint32_t high_limit = 0;
  std::vector<Weight> high, low;
  // By service level; modulo the lanes of both ends; 15: dropped, at switches only.
  std::array<std::uint32_t, 16> lane_of_level = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7};
  // For switches.
  std::uint64_t clock_hz = 400'000'000;
  std::uint32_t cut_through_cycles = 36, lookup_interval_cycles = 1;
  std::uint32_t crossbar_speedup = 0;
  std::int64_t head_lifetime_ps = 0, lifetime_ps = 0;
  std::uint32_t stall_count = 0;
  std::vector<std::uint32_t> output;  // by destination device: port from 1; 0: none
  MemoryCase memory;
  std::vector<MarkCase> marks;  // of every output, by lane; empty: none
  bool marks_at_enqueue = false;
  std::uint64_t mark_seed = 0;
};

enum class Control : std::uint8_t { kCredits, kPauses, kNone };

struct LinkCase {
  std::uint32_t device[2] = {}, port[2] = {1, 1};  // ports from 1
  Rate rate;
  std::int64_t propagation_ps = 0;
  std::uint32_t bytes_before = 0, bytes_after = 0;
  std::uint32_t credit_bytes = 8;
  std::int64_t credit_interval_ps = 0, refresh_interval_ps = 0;
  std::uint32_t header_bytes = 8;  // a receiver acts on
  Control control = Control::kCredits;
  // With pauses.
  std::uint32_t lossless_lanes = 0;  // bit n: lane n
  std::uint32_t quanta = 65535;
  std::int64_t response_ps = 0;
  std::uint32_t headroom_bytes = 0;
};

// Bytes of a packet around its payload: LRH, BTH, ICRC and VCRC; or Ethernet, IPv6, UDP, BTH, ICRC and frame check sequence.
inline constexpr std::uint32_t kInfiniBandOverheadBytes = 26, kRoceOverheadBytes = 82;

struct PacketCase {
  std::uint32_t from = 0, to = 0;  // devices
  std::uint32_t wire_bytes = kInfiniBandOverheadBytes;
  std::uint32_t level = 0;
  bool management = false;         // on VL15
  bool is_roce = false;            // on Ethernet, with DSCP 8 x level; else of InfiniBand
  bool takes_marks = false;        // with ECT(0)
  std::int64_t send_ps = 0;        // handed to the port; packets of one time, in order, by one call after the other
  std::int64_t keep_ps = 0;        // in the receiver's buffer, behind its tail
};

struct FabricCase {
  std::vector<DeviceCase> devices;
  std::vector<LinkCase> links;
  std::vector<PacketCase> packets;  // of one sender by time

  // Ports of all devices, numbered through: in this order they break ties.
  std::uint32_t first_port(std::uint32_t device) const {
    std::uint32_t number = 0;
    for (std::uint32_t i = 0; i < device; ++i) number += devices[i].ports;
    return number;
  }
};

// A packet starts at a port, is marked or dropped there, or its head (the last of its link's header bytes) or
// its tail arrives; or a frame that pauses or resumes leaves by the port.
enum class Moment : std::uint8_t { kStart, kHead, kTail, kDrop, kMark, kPause };

struct Passing {
  std::uint32_t port = 0;  // or, after all ports, the number of a switch that drops an arriving packet
  std::int64_t ps = 0;
  Moment moment = Moment::kStart;
  std::uint32_t packet = 0;  // of a frame: lanes that it pauses or resumes, as bits
  // The ib::DropReason of a drop, the bytes that wait at a mark, the lanes that a frame pauses.
  std::uint32_t detail = 0;
  friend auto operator<=>(const Passing&, const Passing&) = default;
};

// Situations that occur in a case. Without any of them all models agree.
enum class Occasion : std::uint8_t {
  kCreditsMissing,   // a first packet waits for credits only
  kLanesCompete,     // the arbiter chooses among several lanes
  kHighLimitReached, // the high table could send, and the low one does
  kUpdateFirst,      // a packet waits while a flow control packet is sent before it
  kRefreshed,        // a flow control packet without new information
  kStored,           // a head is looked up, and waits for its tail: the output is faster
  kLookupBusy,       // a head waits for the lookup of the one before
  kCrossbarBusy,     // a first packet waits for its buffer to be read by fewer
  kHeadDropped,      // a first packet has waited for the head lifetime
  kStalled,          // a packet is dropped because its lane is stalled
  kTooOld,           // a packet is dropped after the lifetime in a switch
  kRefused,          // a service level has no lane
  kManagement,       // a packet of VL15 precedes other ready packets
  kManagementLost,   // a packet of VL15 finds no room
  // Where some links have no credits.
  kPaused,           // a first packet waits because its lane is paused, and for nothing else
  kFrameWaits,       // a frame that pauses or resumes is due, and the line is busy
  kFrameFirst,       // a packet waits while such a frame is sent before it
  kPauseRepeated,    // a frame reports nothing new
  kResumeOffset,     // a group has less than its threshold and is not resumed
  kHeadroom,         // a packet takes headroom
  kPool,             // a packet takes memory that ports share
  kPoolLost,         // a packet finds too little of it
  kLossyLost,        // a lossy packet finds no room
  kLosslessLost,     // a lossless one
  kOutputFull,       // a packet finds too much in its output queue
  kMarkedAtEnqueue,
  kMarkedAtDequeue,
  kMarkedByChance,   // either, between the thresholds
};
inline constexpr std::size_t kOccasions = static_cast<std::size_t>(Occasion::kMarkedByChance) + 1;
inline constexpr std::size_t kOccasionsOfCredits = static_cast<std::size_t>(Occasion::kManagementLost) + 1;
using Occasions = std::bitset<kOccasions>;

// kAny: all links have credits. kLeast: and buffers hold one of the largest packets, which most are, so that everything waits for
// credits. kWithoutCredits: links have credits, pauses or no flow control, switches shared memory and marks.
enum class Buffers : std::uint8_t { kAny, kLeast, kWithoutCredits };

// The stream of random numbers for the marks of a port, numbered through.
inline std::string mark_stream(std::uint32_t port) { return "timing/marks/" + std::to_string(port); }

FabricCase random_fabric(std::uint64_t seed, Buffers buffers = Buffers::kAny);
// Changes a fabric whose links all have credits to one of Buffers::kWithoutCredits.
void add_congestion(FabricCase& fabric, std::uint64_t seed);
// For people: everything about a case.
std::string describe(const FabricCase& fabric);

// All events, sorted; tails at adapters only. `in_windows`: as if each cable with a propagation time joined two parts of the
// fabric (tests/fabric/windows.h).
std::vector<Passing> run_event_model(const FabricCase& fabric, bool in_windows = false);
std::vector<Passing> run_reference(const FabricCase& fabric, Occasions& met);

}  // namespace verbatim::timing
