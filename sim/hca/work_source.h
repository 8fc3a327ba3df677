// Traffic without a program: an RC queue pair whose work requests come from a WorkSource. It has no rings,
// arena or memory: its payload is only a length (ib::Payload), the adapter calls the source when it decodes a
// request, and calls it at completion.
//
// Otherwise it is like a program's queue pair: the same requester, responder, packets, timers and retries,
// and PCI Express transfers of the same lengths for doorbell, work request, payload and completion. A SEND
// always finds a receive, which is not fetched; its completion is written.
#pragma once

#include <cstdint>

#include "sim/ib/types.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::hca {

struct SourceWork {
  enum class Operation : std::uint8_t { kWrite, kSend, kRead };
  Operation operation = Operation::kWrite;
  std::uint32_t length = 0;  // bytes of the message, 0 to HcaProfile::max_message_bytes
};

class WorkSource {
 public:
  virtual ~WorkSource() = default;
  // Returns the next work request of the queue pair; called once for each request that post_source() has
  // announced.
  virtual SourceWork next_work(std::uint32_t qpn) = 0;
  // The completion of the oldest incomplete request has been written to host memory. After an error all later
  // requests complete as flushed.
  virtual void on_completed(std::uint32_t qpn, ib::WcStatus status) = 0;
  // The completion of a SEND of `bytes` from the peer has been written to host memory.
  virtual void on_received(std::uint32_t qpn, std::uint32_t bytes) {
    static_cast<void>(qpn);
    static_cast<void>(bytes);
  }
  // The adapter has failed permanently: no further request completes.
  virtual void on_adapter_failed(std::uint32_t qpn) = 0;
};

// Identification of a source's queue pair for its peer.
struct SourceEnd {
  std::uint32_t number = 0;  // number of the queue pair
  std::uint32_t key = 0;     // R_Key of the region, from address 0, that WRITEs and READs of the peer name
};

// Path of a source's queue pair to its peer, with the usual retry values of programs.
struct SourcePath {
  protocol::AddressVector address{};
  SourceEnd peer;
  std::uint32_t mtu = 5;  // ibv_mtu
  std::uint16_t pkey_index = 0;
  std::uint32_t first_psn = 0;  // first PSN of both directions
  std::uint8_t reads = 0;       // maximum number of outstanding READs of either end; 0: no READs
  std::uint8_t timeout = 14, retry_cnt = 7, rnr_retry = 7, min_rnr_timer = 12;
};

}  // namespace verbatim::hca
