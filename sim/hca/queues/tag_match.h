// What tag matching makes of a message (ibv_post_srq_ops(3), tm_types.h): which receive takes it, and how that completes.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/hca/queues/scatter_list.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

// A message that is only announced, and that the receiver reads into the tagged receive by itself.
struct Rendezvous {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
  ScatterList sges;
};

struct TagMatch {
  ib::WcOpcode opcode = ib::WcOpcode::kNoTag;
  std::uint8_t flags = 0;      // ib::WcFlags
  bool is_expected = false;    // a tagged receive takes it; otherwise one of the ring, whole
  std::uint64_t tag = 0;       // of the header, where it is expected
  std::uint32_t app_ctx = 0;   // likewise, network byte order
  std::uint32_t consumed = 0;  // bytes at the beginning of the message that are not placed
  std::optional<Rendezvous> rendezvous;
  bool is_incomplete = false;  // it was announced and the adapter cannot read it; the tagged receive has the request
};

}  // namespace verbatim::hca
