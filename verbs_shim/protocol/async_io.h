// Asynchronous I/O (io_submit(2)): the supervisor holds contexts, pending requests and events. The runtime
// executes requests on real files, which it has open, and reports the results to the supervisor.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::protocol {

// One system call on a real file, in the mailbox. The runtime fills in `result`.
struct Transfer {
  std::int64_t number;
  std::int64_t arguments[6];
  std::int64_t result;
};
// Offset of the transfers in the mailbox. The runtime uses the part before it for requests about changed
// files.
inline constexpr std::uint32_t kTransfersAt = 4096;
inline constexpr std::uint32_t kMostTransfers = (kMailboxSize - kTransfersAt) / sizeof(Transfer);

// kTransfersDoneCall: the runtime has executed transfers. arguments: [0] to [2] those of io_submit, [3]
// number of requests before the transfers, [4] number of transfers; their results are in the mailbox.
// Answered as io_submit is, or with more transfers.

}  // namespace verbatim::protocol
