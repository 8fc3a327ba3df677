// Counters of an adapter's connections and completions, named like the files in mlx5's hw_counters
// (drivers/infiniband/hw/mlx5/counters.c). mlx5's other counters are not provided.
#pragma once

#include <cstdint>

#include "sim/core/trace.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/wc_status.h"

namespace verbatim::hca {

struct QueueCounters {
  // Counted by responders.
  std::uint64_t out_of_sequence = 0;    // packets after a gap
  std::uint64_t duplicate_request = 0;  // packets of requests that have been executed
  std::uint64_t out_of_buffer = 0;      // packets for which no receive was posted
  // Counted by requesters: retransmissions by cause.
  std::uint64_t packet_seq_err = 0;         // NAK of a sequence error
  std::uint64_t rnr_nak_retry_err = 0;      // RNR NAK
  std::uint64_t implied_nak_seq_err = 0;    // missing response before a later one
  std::uint64_t local_ack_timeout_err = 0;  // transport timer
  // Completions with an error, of requests and of receives; flushed ones are among them.
  std::uint64_t req_cqe_error = 0, req_cqe_flush_error = 0;
  std::uint64_t req_remote_invalid_request = 0, req_remote_access_errors = 0;
  std::uint64_t req_transport_retries_exceeded = 0, req_rnr_retries_exceeded = 0;
  std::uint64_t resp_cqe_error = 0, resp_cqe_flush_error = 0, resp_local_length_error = 0;
  // Counted by the port.
  std::uint64_t rx_icrc_encapsulated = 0;  // packets whose ICRC does not match

  // Counts a trace record of the transport; `cause`: a RetryCause.
  void on_record(TraceEvent event, std::uint32_t cause);
  // A packet for a queue pair is dropped; `is_ahead`: its PSN is later than the expected one.
  void on_drop(ib::DropReason reason, bool is_ahead) {
    if (reason == ib::DropReason::kNoReceive) ++out_of_buffer;
    if (reason == ib::DropReason::kAfterNak) ++(is_ahead ? out_of_sequence : out_of_buffer);
  }
  // A completion with an error.
  void on_error(ib::WcStatus status, bool is_receive);

  friend bool operator==(const QueueCounters&, const QueueCounters&) = default;
};

}  // namespace verbatim::hca
