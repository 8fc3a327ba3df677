// Names of work completion statuses: enumerators of <infiniband/verbs.h>, and texts of ibv_wc_status_str().
#pragma once

#include <cstddef>
#include <string_view>

#include "sim/ib/types.h"

namespace verbatim::ib {

// clang-format off
#define VERBATIM_WC_STATUSES(X)                                                          \
  X(kSuccess, "IBV_WC_SUCCESS", "success")                                               \
  X(kLocalLengthError, "IBV_WC_LOC_LEN_ERR", "local length error")                       \
  X(kLocalQpOperationError, "IBV_WC_LOC_QP_OP_ERR", "local QP operation error")          \
  X(kLocalEecOperationError, "IBV_WC_LOC_EEC_OP_ERR", "local EE context operation error") \
  X(kLocalProtectionError, "IBV_WC_LOC_PROT_ERR", "local protection error")              \
  X(kWorkRequestFlushed, "IBV_WC_WR_FLUSH_ERR", "Work Request Flushed Error")            \
  X(kMwBindError, "IBV_WC_MW_BIND_ERR", "memory bind error")                             \
  X(kBadResponseError, "IBV_WC_BAD_RESP_ERR", "bad response error")                      \
  X(kLocalAccessError, "IBV_WC_LOC_ACCESS_ERR", "local access error")                    \
  X(kRemoteInvalidRequestError, "IBV_WC_REM_INV_REQ_ERR", "remote invalid request error") \
  X(kRemoteAccessError, "IBV_WC_REM_ACCESS_ERR", "remote access error")                  \
  X(kRemoteOperationError, "IBV_WC_REM_OP_ERR", "remote operation error")                \
  X(kRetryExceeded, "IBV_WC_RETRY_EXC_ERR", "transport retry counter exceeded")          \
  X(kRnrRetryExceeded, "IBV_WC_RNR_RETRY_EXC_ERR", "RNR retry counter exceeded")         \
  X(kLocalRddViolation, "IBV_WC_LOC_RDD_VIOL_ERR", "local RDD violation error")          \
  X(kRemoteInvalidRdRequest, "IBV_WC_REM_INV_RD_REQ_ERR", "remote invalid RD request")   \
  X(kRemoteAborted, "IBV_WC_REM_ABORT_ERR", "aborted error")                             \
  X(kInvalidEecNumber, "IBV_WC_INV_EECN_ERR", "invalid EE context number")               \
  X(kInvalidEecState, "IBV_WC_INV_EEC_STATE_ERR", "invalid EE context state")            \
  X(kFatalError, "IBV_WC_FATAL_ERR", "fatal error")                                      \
  X(kResponseTimeout, "IBV_WC_RESP_TIMEOUT_ERR", "response timeout error")               \
  X(kGeneralError, "IBV_WC_GENERAL_ERR", "general error")                                \
  X(kTagMatchingError, "IBV_WC_TM_ERR", "TM error")                                      \
  X(kRendezvousIncomplete, "IBV_WC_TM_RNDV_INCOMPLETE", "TM software rendezvous")
// clang-format on

struct WcStatusName {
  std::string_view name;  // "IBV_WC_RETRY_EXC_ERR"
  std::string_view text;  // "transport retry counter exceeded"
};

// Indexed by the status.
inline constexpr WcStatusName kWcStatusNames[] = {
#define VERBATIM_WC_STATUS_NAME(id, name, text) {name, text},
    VERBATIM_WC_STATUSES(VERBATIM_WC_STATUS_NAME)
#undef VERBATIM_WC_STATUS_NAME
};

constexpr const WcStatusName& names_of(WcStatus status) { return kWcStatusNames[static_cast<std::size_t>(status)]; }

}  // namespace verbatim::ib
