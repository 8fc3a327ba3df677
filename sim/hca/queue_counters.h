// Counts of an adapter's connections and completions, by the names of files under hw_counters of mlx5
// (drivers/infiniband/hw/mlx5/counters.c). Counters that mlx5 has besides and nothing here counts have no file.
#pragma once

#include <cstdint>

#include "sim/core/trace.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/wc_status.h"

namespace verbatim::hca {

struct QueueCounters {
  // A responder's.
  std::uint64_t out_of_sequence = 0;    // packets behind a gap, each
  std::uint64_t duplicate_request = 0;  // packets of requests that have been executed
  std::uint64_t out_of_buffer = 0;      // packets for which no receive was posted
  // A requester's, each time that it begins anew.
  std::uint64_t packet_seq_err = 0;         // a NAK of a sequence error
  std::uint64_t rnr_nak_retry_err = 0;      // an RNR NAK
  std::uint64_t implied_nak_seq_err = 0;    // a response that is missing before a later one
  std::uint64_t local_ack_timeout_err = 0;  // the timer of acknowledgements
  // Completions with an error, of requests and of receives; flushed ones are among them.
  std::uint64_t req_cqe_error = 0, req_cqe_flush_error = 0;
  std::uint64_t req_remote_invalid_request = 0, req_remote_access_errors = 0;
  std::uint64_t req_transport_retries_exceeded = 0, req_rnr_retries_exceeded = 0;
  std::uint64_t resp_cqe_error = 0, resp_cqe_flush_error = 0, resp_local_length_error = 0;
  // The port's.
  std::uint64_t rx_icrc_encapsulated = 0;  // packets whose ICRC does not match

  // A record of the transport; `cause` is a RetryCause.
  void on_record(TraceEvent event, std::uint32_t cause);
  // A packet of a queue pair is dropped; `is_ahead`: its PSN is behind the one that is expected.
  void on_drop(ib::DropReason reason, bool is_ahead) {
    if (reason == ib::DropReason::kNoReceive) ++out_of_buffer;
    if (reason == ib::DropReason::kAfterNak) ++(is_ahead ? out_of_sequence : out_of_buffer);
  }
  // A completion with an error.
  void on_error(ib::WcStatus status, bool is_receive);

  friend bool operator==(const QueueCounters&, const QueueCounters&) = default;
};

}  // namespace verbatim::hca
