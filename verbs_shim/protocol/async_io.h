// Linux' asynchronous input and output (io_submit(2)): the supervisor has the contexts, what is pending and
// the events. Requests for real files are carried out by the runtime, which has them open, and told to the
// supervisor.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::protocol {

// One system call on a real file, in the mailbox. `result` is filled in by the runtime.
struct Transfer {
  std::int64_t number;
  std::int64_t arguments[6];
  std::int64_t result;
};
// Where in the mailbox they begin: the runtime keeps account of changes to files by questions that use what
// lies before.
inline constexpr std::uint32_t kTransfersAt = 4096;
inline constexpr std::uint32_t kMostTransfers = (kMailboxSize - kTransfersAt) / sizeof(Transfer);

// kTransfersDoneCall: the runtime has carried out transfers. arguments: [0] to [2] those of io_submit, [3] how many requests came
// before the transfers, [4] how many transfers; their results are in the mailbox. Answered as io_submit is,
// or with more transfers.

}  // namespace verbatim::protocol
