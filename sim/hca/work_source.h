// Traffic without a program: an RC queue pair whose work requests a WorkSource makes. It has no rings, no arena and no memory:
// its payload is a length (ib::Payload), its requests are made when the adapter decodes them, and they complete by a call.
//
// Everything else is a program's queue pair: the same requester, responder, packets, timers and retries, and the same PCI
// Express transfers for doorbell, work request, payload and completion, as lengths without bytes. A receive of a SEND costs
// its completion, but no fetch: the adapter always has one.
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
  // The next work request of the queue pair: called once for each that Hca::post_source() has announced, in order.
  virtual SourceWork next_work(std::uint32_t qpn) = 0;
  // The completion of the oldest request that has none yet is in host memory. After an error every later request completes as
  // flushed.
  virtual void on_completed(std::uint32_t qpn, ib::WcStatus status) = 0;
  // The same for a message of so many bytes that the peer has sent here by SEND.
  virtual void on_received(std::uint32_t qpn, std::uint32_t bytes) {
    static_cast<void>(qpn);
    static_cast<void>(bytes);
  }
  // The adapter has failed for good: nothing more completes.
  virtual void on_adapter_failed(std::uint32_t qpn) = 0;
};

// The data of a source's queue pair that its peer needs.
struct SourceEnd {
  std::uint32_t number = 0;  // number of the queue pair
  std::uint32_t key = 0;     // R_Key of memory without bytes that WRITEs and READs are made to, from address 0
};

// Path of a source's queue pair to its peer, with the usual retry values of programs.
struct SourcePath {
  protocol::AddressVector address{};
  SourceEnd peer;
  std::uint32_t mtu = 5;  // ibv_mtu
  std::uint16_t pkey_index = 0;
  std::uint32_t first_psn = 0;  // first PSN of both directions
  std::uint8_t reads = 0;       // READs that may be under way, of either end; 0: none is made
  std::uint8_t timeout = 14, retry_cnt = 7, rnr_retry = 7, min_rnr_timer = 12;
};

}  // namespace verbatim::hca
