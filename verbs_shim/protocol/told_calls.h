// Calls of a program that are told to whoever wants to see them, as they begin and when they have ended:
// system calls that come to the shim, whoever answers them, commands, and the verbs that need no command.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/region.h"

namespace verbatim::protocol {

// A bit of RegionHeader::checks beside those of checks: calls are told.
inline constexpr std::uint32_t kTellsCalls = 1u << 30;
static_assert(kCheckCount <= 30);

enum class ToldKind : std::uint32_t {
  kSystemCall,         // number; arguments: the call's
  kCommand,            // arguments: [0] address of the CommandHeader
  kPostSend,           // number: of the QP; arguments: [0] address of the ibv_send_wr
  kPostReceive,        // number: of the QP; arguments: [0] address of the ibv_recv_wr
  kPostSharedReceive,  // the same of an SRQ
  kPostWorkQueue,      // the same of a WQ
  kCompleteSends,  // ibv_wr_complete. number: of the QP; arguments: [0] address of the ring, [1] its entries,
                   // [2] bytes of one, [3] number of the first request, [4] of the one behind the last
  kPoll,  // number: of the CQ; arguments: [0] completions that there is room for, [1] address of the ibv_wc
  kStartPoll,  // number: of the CQ; arguments: [0] address of its ibv_cq_ex
  kNextPoll,   // as kStartPoll
  kArm,        // number: of the CQ; arguments: [0] solicited_only
};
inline constexpr std::uint32_t kToldKinds = static_cast<std::uint32_t>(ToldKind::kArm) + 1;

enum class ToldStep : std::uint32_t {
  kBegins,
  kHasEnded,
  kIsMadeAgain,  // a signal came first: the program makes the same call again when its handlers have run
};

// As it lies in the program's memory while it is told.
struct ToldCall {
  ToldKind kind;
  ToldStep step;
  std::uint32_t number;
  std::uint32_t reserved;
  std::int64_t arguments[6];
  std::int64_t
      result;  // once it has ended: of system calls what the kernel would say, else what the verb returns
};

}  // namespace verbatim::protocol
