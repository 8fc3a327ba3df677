// Calls of a program that are reported at their begin and end, if calls are traced: system calls that enter
// the shim, whoever answers them, commands, and the verbs that need no command.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/region.h"

namespace verbatim::protocol {

// Not a check (RegionHeader::checks): calls are reported.
inline constexpr std::uint32_t kReportsCalls = 1u << 30;
static_assert(kCheckCount <= 30);

enum class ReportedCallKind : std::uint32_t {
  kSystemCall,         // number; arguments: the call's
  kCommand,            // arguments: [0] address of the CommandHeader
  kPostSend,           // number: the QP's; arguments: [0] address of the ibv_send_wr
  kPostReceive,        // number: the QP's; arguments: [0] address of the ibv_recv_wr
  kPostSharedReceive,  // the same for an SRQ
  kPostWorkQueue,      // the same for a WQ
  kCompleteSends,  // ibv_wr_complete. number: the QP's; arguments: [0] address of the ring, [1] its number
                   // of entries, [2] bytes of one, [3] number of the first request, [4] of the one behind the
                   // last
  kPoll,  // number: the CQ's; arguments: [0] maximum number of completions, [1] address of the ibv_wc
  kStartPoll,  // number: the CQ's; arguments: [0] address of its ibv_cq_ex
  kNextPoll,   // as kStartPoll
  kArm,        // number: the CQ's; arguments: [0] solicited_only
};
inline constexpr std::uint32_t kReportedCallKinds = static_cast<std::uint32_t>(ReportedCallKind::kArm) + 1;

enum class ReportedCallStep : std::uint32_t {
  kBegins,
  kHasEnded,
  kIsMadeAgain,  // interrupted by a signal: the program repeats the call when its handlers have run
};

// In the program's memory while it is reported.
struct ReportedCall {
  ReportedCallKind kind;
  ReportedCallStep step;
  std::uint32_t number;
  std::uint32_t reserved;
  std::int64_t arguments[6];
  std::int64_t
      result;  // valid at the end: for system calls the kernel's result, else the verb's return value
};

}  // namespace verbatim::protocol
