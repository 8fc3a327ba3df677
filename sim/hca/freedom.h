// Choice sites of an adapter: behaviours that the specification leaves open. Choices never violate it: a
// completed request is complete, and queues keep their order. Answer 0 of every site is the usual behaviour
// of a ConnectX.
#pragma once

#include <array>

#include "sim/core/choice.h"

namespace verbatim::hca::freedom {

constexpr Duration ns(std::int64_t n) { return Duration(n * 1000); }

// When the send pipeline takes its next packet, and from which queue pair: payload is read from memory at
// that time.
inline constexpr DelaySite kGatherDelay{"gather-delay", ns(100), 8};
inline constexpr std::string_view kSendTurn = "gather-delay/turn";

// Number, order and times of the pieces in which the bytes of one message are written, all before an answer
// or completion reports them.
inline constexpr std::array<std::uint32_t, 7> kPlacementGranules = {0, 1024, 256, 64, 8, 4, 1};  // bytes; 0: not cut
inline constexpr std::uint32_t kWholeWordGranules = 5;  // the first 5; the others tear words of 8 bytes (Quirk::kTorn8)
inline constexpr std::string_view kPlacementPieces = "placement";
inline constexpr std::string_view kPlacementOrder = "placement/order";
inline constexpr std::string_view kPlacementHold = "placement/hold";
inline constexpr DelaySite kPlacementDelay{"placement/delay", ns(100), 8};

// Whether a WRITE is placed before held parts of an earlier one, in a region with IBV_ACCESS_RELAXED_ORDERING.
inline constexpr std::string_view kWriteOrder = "write-order";

// When a completion is written. Completions of one work queue keep their order; those of other work queues,
// in the same CQ or not, may overtake them.
inline constexpr DelaySite kCompletionDelay{"completion-delay", ns(50), 9};

// Values of the fields of a completion that its status leaves undefined (ibv_poll_cq(3): without success all
// but wr_id, status, qp_num and vendor_err): those of a success, or any.
inline constexpr std::string_view kFailedFields = "failed-completion-fields";
inline constexpr std::string_view kFailedOpcode = "failed-completion-fields/opcode";
inline constexpr std::string_view kFailedValue = "failed-completion-fields/value";

// The number of a queue pair or shared receive queue, and the handle of any object of verbs (number_space.h).
inline constexpr std::string_view kQueuePairNumber = "queue-pair-number";
inline constexpr std::string_view kSharedQueueNumber = "shared-queue-number";
inline constexpr std::string_view kObjectHandle = "object-handle";
// The key of a new region or window after keys have been freed: a freed index with another low byte; the
// freed key itself; an index that was never used.
inline constexpr std::string_view kMemoryKey = "memory-key";
enum class KeyChoice : std::uint32_t { kNextVariant = 0, kSameAgain, kNewIndex };
inline constexpr std::uint32_t kKeyChoices = 3;

// Whether a queue is granted the requested entries, scatter elements and inline data, or as many as the rings
// have room for (ibv_create_qp(3), ibv_create_cq(3), ibv_create_srq(3): at least the requested ones).
inline constexpr std::string_view kQueueDepth = "queue-depth";
inline constexpr std::string_view kInlineRoom = "inline-room";
// Whether a verb that makes or registers an object finds no memory; counts in the budget of failing calls
// (sim/core/failing_calls.h).
inline constexpr std::string_view kNoMemory = "verb-no-memory";

// Whether completions that are older than a request for notification raise an event; when events are
// readable: an interrupt may be held off for tens of milliseconds (rarely).
inline constexpr std::string_view kEventOnArm = "event-on-arm";
inline constexpr DelaySite kEventDelay{"event-delay", ns(400), 17, 9};

// Delay of an acknowledgement.
inline constexpr DelaySite kAckDelay{"ack-delay", ns(100), 5};
// Whether an acknowledgement is coalesced with a later one of its queue pair in the acknowledge stage (IBA
// 9.7.5.1.2).
inline constexpr std::string_view kAckCoalescing = "ack-coalescing";
// The multiple of the local ACK timeout (IBA 9.7.6.1.3: up to four times the configured one) and of the RNR
// timer (IBA 9.7.5.2.8: at least the requested time) that the requester waits. The first is chosen when the
// configured time has passed.
inline constexpr std::string_view kAckTimeout = "ack-timeout";
inline constexpr std::uint32_t kAckTimeoutFactors = 4;
inline constexpr std::string_view kRnrTimer = "rnr-timer";
inline constexpr std::uint32_t kRnrTimerFactors = 3;

// Quirks (quirks.h): only for adapters that have them.
inline constexpr std::string_view kLastWqeEvent = "quirk-no-last-wqe";
inline constexpr std::string_view kEarlyAcknowledgement = "quirk-early-ack";
inline constexpr std::string_view kUnorderedWrites = "quirk-unordered-writes";
inline constexpr std::string_view kEarlyCompletion = "quirk-multipath";

}  // namespace verbatim::hca::freedom
