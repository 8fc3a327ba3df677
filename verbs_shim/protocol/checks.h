// Errors of programs that every run checks for, by name (--check NAME=off|warn|error), each with a
// description. tools/verbatim/check_levels.cc has the defaults and details. Further below: call sites in the
// program that the shim stores for reports.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

// clang-format off
#define VERBATIM_CHECKS(X) \
  X(kMissedWakeUp,   "missed-wakeup",    "a thread sleeps for an event of a CQ that already held completions when it was armed") \
  X(kSendBuffer,     "send-buffer",      "the buffer of a send changes before its completion is polled") \
  X(kReceiveBuffer,  "receive-buffer",   "the program writes to the buffer of a receive before the message arrives") \
  X(kLateReceive,    "late-receive",     "the first receive of a connection is posted when the peer may already have sent") \
  X(kWriteTarget,    "write-target",     "a thread waits for bytes of a WRITE in memory, then reads other bytes of it without a completion") \
  X(kRegionInUse,    "region-in-use",    "a memory region is deregistered while work requests name it") \
  X(kMemoryGone,     "memory-gone",      "memory is unmapped or freed while work requests of a region name it") \
  X(kUndefinedField, "undefined-field",  "a program decides by a field that a failed completion leaves undefined") \
  X(kUnacknowledged, "unacknowledged",   "a thread destroys a queue whose event it has not acknowledged") \
  X(kLeak,           "leak",             "a program exits with verbs objects that it has not destroyed") \
  X(kUnsignaled,     "unsignaled",       "a send queue is full of work requests that no completion can give back") \
  X(kThreads,        "threads",          "two threads use an object of a single-threaded domain at once") \
  X(kRemoteRace,     "remote-race",      "two remote accesses to the same bytes, one of them a WRITE, are not ordered by anything") \
  X(kForkedBuffer,   "forked-buffer",    "a forked process fails, and since the fork an adapter has written to buffers; the process reads its own copy of them, without these bytes") \
  X(kForkedContext,  "forked-context",   "a forked process posts to, polls or arms a queue of the process that it is a copy of")
// clang-format on

enum class Check : std::uint32_t {
  kNone = 0,
#define VERBATIM_CHECK_ENUM(id, name, what) id,
  VERBATIM_CHECKS(VERBATIM_CHECK_ENUM)
#undef VERBATIM_CHECK_ENUM
};

struct CheckInfo {
  const char* name;
  const char* what;
};
inline constexpr CheckInfo kChecks[] = {
    {"", ""},
#define VERBATIM_CHECK_INFO(id, name, what) {name, what},
    VERBATIM_CHECKS(VERBATIM_CHECK_INFO)
#undef VERBATIM_CHECK_INFO
};
inline constexpr std::uint32_t kCheckCount = sizeof kChecks / sizeof kChecks[0];
// Not a check: the run wants the call sites of posts and of event requests.
inline constexpr std::uint32_t kReportsPlaces = 1u << 31;
static_assert(kCheckCount <= 31);
constexpr std::uint32_t check_bit(Check check) { return 1u << static_cast<std::uint32_t>(check); }

// A verb in which a thread may block.
enum class WaitingVerb : std::uint32_t {
  kNone = 0,
  kGetCqEvent,
  kGetAsyncEvent,
  kDestroyCq,
  kDestroyQp,
  kDestroySrq,
  kDestroyWq,
};

// The verb in which a thread is. For destroying verbs also the events that have been read but not
// acknowledged.
struct VerbWait {
  WaitingVerb verb;
  std::uint32_t number;           // number of the object to be destroyed
  std::uint32_t is_completion;    // 1: completion events, 0: asynchronous events
  std::uint32_t unacknowledged;
  std::uint32_t taker;            // virtual id of the thread that read the last event
  std::uint32_t reserved;
  std::uint64_t caller;           // address in the program to which the verb returns
  std::uint64_t stack, frame;     // stack pointer and rbp at that address
};

// A verb call to whose call site a decision of a run may refer.
enum class PlacedCall : std::uint32_t { kPostSend, kPostReceive, kPostSharedReceive, kArm };
inline constexpr std::uint32_t kOuterCallers = 3;
struct CallNote {
  std::int64_t time_ps;
  std::uint64_t wr_id;   // work request, if any
  std::uint64_t caller;  // address in the program to which the verb returns
  // Return address of that function, of the one that it returns to, …, by frame pointers; anything or 0 without them.
  std::uint64_t outer[kOuterCallers];
  std::uint32_t number;  // QP, SRQ or CQ number
  std::uint32_t context;
  PlacedCall call;
  std::uint32_t reserved;
};

}  // namespace verbatim::protocol
