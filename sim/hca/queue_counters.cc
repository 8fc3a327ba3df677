#include "sim/hca/queue_counters.h"

#include "sim/hca/retry_cause.h"

namespace verbatim::hca {

void QueueCounters::on_record(TraceEvent event, std::uint32_t cause) {
  if (event == TraceEvent::kDuplicate) ++duplicate_request;
  if (event != TraceEvent::kRetransmission) return;
  switch (static_cast<RetryCause>(cause)) {
    case RetryCause::kTimeout:
      ++local_ack_timeout_err;
      break;
    case RetryCause::kSequenceNak:
      ++packet_seq_err;
      break;
    case RetryCause::kRnrNak:
      ++rnr_nak_retry_err;
      break;
    case RetryCause::kMissingResponse:
      ++implied_nak_seq_err;
      break;
  }
}

void QueueCounters::on_error(ib::WcStatus status, bool is_receive) {
  using enum ib::WcStatus;
  ++(is_receive ? resp_cqe_error : req_cqe_error);
  if (status == kWorkRequestFlushed) ++(is_receive ? resp_cqe_flush_error : req_cqe_flush_error);
  if (is_receive) {
    if (status == kLocalLengthError) ++resp_local_length_error;
    return;
  }
  if (status == kRemoteInvalidRequestError) ++req_remote_invalid_request;
  if (status == kRemoteAccessError) ++req_remote_access_errors;
  if (status == kRetryExceeded) ++req_transport_retries_exceeded;
  if (status == kRnrRetryExceeded) ++req_rnr_retries_exceeded;
}

}  // namespace verbatim::hca
