// Result of tag matching for a message (ibv_post_srq_ops(3), tm_types.h): the receive that takes it, and its
// completion.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/hca/queues/scatter_list.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

// A message that is announced, and that the receiver reads into the tagged receive.
struct Rendezvous {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
  ScatterList sges;
};

struct TagMatch {
  ib::WcOpcode opcode = ib::WcOpcode::kNoTag;
  std::uint8_t flags = 0;      // ib::WcFlags
  bool is_expected = false;    // a tagged receive takes it; false: a receive of the ring takes all of it
  std::uint64_t tag = 0;       // tag of the header, when it is expected
  std::uint32_t app_ctx = 0;   // app_ctx of the header, when it is expected; network byte order
  std::uint32_t consumed = 0;  // bytes at the beginning of the message that are not placed
  std::optional<Rendezvous> rendezvous;
  bool is_incomplete = false;  // the adapter cannot read the announced message; the tagged receive has the announcement
};

}  // namespace verbatim::hca
