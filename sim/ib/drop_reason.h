// Reasons for dropping a packet: value `reason` of packet-dropped records. Links and switches first, then
// adapters. An unexpected packet is not a simulator error, and most are silently dropped by specification.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/trail.h"

namespace verbatim::ib {

// clang-format off
#define VERBATIM_DROP_REASONS(X)                                                                             \
  X(kNoRoute, 1, "the switch knows no port for the destination")                                             \
  X(kOwnLid, 2, "addressed to the switch itself, which has no agent")                                        \
  X(kLinkDown, 3, "its output port has no link, or the link failed")                                         \
  X(kFault, 4, "a fault of the scenario or the seed")                                                                      \
  X(kHeadLifetime, 5, "waited too long at the head of an output queue")                   /* IBA 18.2.5.4 */ \
  X(kNoLane, 6, "its service level has no lane at its output port")         /* IBA 7.6.6 */    \
  X(kSwitchLifetime, 7, "stayed in the switch too long")                                     /* IBA 18.2.5.4 */ \
  X(kManagementBuffer, 8, "the buffer of VL15 is full")                                   /* IBA 7.6.4 */    \
  X(kNotActive, 9, "before it is active, the port carries only subnet management")  /* IBA 7.2.7 */   \
  X(kInputBuffer, 10, "the input buffer is full, and the link has no credits")                               \
  X(kLostOnLink, 11, "the link failed while it was on its way")                                              \
  X(kOutputQueue, 12, "its output queue has more than its share of the switch's buffer")                     \
  X(kPauseWatchdog, 13, "the watchdog of its output port drops a priority that has been paused for too long")     \
  X(kCorrupted, 16, "the ICRC does not match")                                                               \
  X(kWrongLid, 17, "addressed to another port")                                                                       \
  X(kUnknownQp, 18, "no such queue pair")                                                                    \
  X(kWrongTransport, 19, "not the queue pair's transport")                                                   \
  X(kWrongState, 20, "the queue pair does not receive in its state")             /* IBA 10.3.1 */   \
  X(kWrongPkey, 21, "wrong P_Key")                                                                           \
  X(kWrongSource, 22, "not from the queue pair's peer")                                                      \
  X(kStale, 23, "acknowledges no outstanding request")                                                 \
  X(kUndefinedOpcode, 24, "undefined opcode")                                                                \
  X(kAfterNak, 25, "follows a packet that was answered by a NAK")                                            \
  X(kUnknownDuplicate, 26, "repeats a READ or atomic that the responder has forgotten")                              \
  X(kWrongQkey, 27, "wrong Q_Key")                                                                           \
  X(kNoReceive, 28, "no receive is posted")                                 /* to an unreliable queue pair */ \
  X(kRefused, 29, "sequence, rights or length are wrong")                       /* to an unreliable queue pair */ \
  X(kNoFlow, 30, "no flow rule matches the frame")                                                           \
  X(kFlowDrop, 31, "a flow rule drops the frame")                                                            \
  X(kWrongVlan, 32, "its VLAN does not match its destination address")

// clang-format on
enum class DropReason : std::uint8_t {
#define VERBATIM_DROP_ENUM(id, number, text) id = number,
  VERBATIM_DROP_REASONS(VERBATIM_DROP_ENUM)
#undef VERBATIM_DROP_ENUM
};

// The corresponding cause in trails of messages.
constexpr TrailLoss loss_of(DropReason reason) {
  switch (reason) {
    case DropReason::kInputBuffer:
    case DropReason::kOutputQueue:
      return TrailLoss::kFullBuffer;
    case DropReason::kLinkDown:
    case DropReason::kLostOnLink:
      return TrailLoss::kDeadLink;
    default:
      return TrailLoss::kUnnamed;
  }
}

// Text for people; empty for an unknown number.
constexpr std::string_view text_of(DropReason reason) {
  switch (reason) {
#define VERBATIM_DROP_TEXT(id, number, text) \
  case DropReason::id:                       \
    return text;
    VERBATIM_DROP_REASONS(VERBATIM_DROP_TEXT)
#undef VERBATIM_DROP_TEXT
  }
  return {};
}

}  // namespace verbatim::ib
