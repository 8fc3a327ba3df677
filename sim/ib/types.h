// Enumerations of the verbs interface with the values of <infiniband/verbs.h>, which the model does not
// include; a test compares them.
#pragma once

#include <cstdint>

#include "sim/ib/header_sizes.h"

namespace verbatim::ib {

enum class QpType : std::uint32_t {
  kRc = 2,
  kUc = 3,
  kUd = 4,
  kRawPacket = 8,
  kXrcSend = 9,
  kXrcReceive = 10
};

enum class QpState : std::uint32_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr };
inline constexpr std::uint32_t kQpStateCount = 7;

// ibv_qp_attr_mask
enum QpAttributeMask : std::uint32_t {
  kQpState = 1u << 0,
  kQpCurrentState = 1u << 1,
  kQpEnSqdAsyncNotify = 1u << 2,
  kQpAccessFlags = 1u << 3,
  kQpPkeyIndex = 1u << 4,
  kQpPort = 1u << 5,
  kQpQkey = 1u << 6,
  kQpAv = 1u << 7,
  kQpPathMtu = 1u << 8,
  kQpTimeout = 1u << 9,
  kQpRetryCount = 1u << 10,
  kQpRnrRetry = 1u << 11,
  kQpRqPsn = 1u << 12,
  kQpMaxRdAtomic = 1u << 13,
  kQpAlternatePath = 1u << 14,
  kQpMinRnrTimer = 1u << 15,
  kQpSqPsn = 1u << 16,
  kQpMaxDestRdAtomic = 1u << 17,
  kQpPathMigState = 1u << 18,
  kQpCapabilities = 1u << 19,
  kQpDestQpn = 1u << 20,
  kQpRateLimit = 1u << 25,
};

// ibv_access_flags
enum AccessFlags : std::uint32_t {
  kLocalWrite = 1u << 0,
  kRemoteWrite = 1u << 1,
  kRemoteRead = 1u << 2,
  kRemoteAtomic = 1u << 3,
  kMwBind = 1u << 4,
  kZeroBased = 1u << 5,
  kOnDemand = 1u << 6,
  kHugeTlb = 1u << 7,
  kRelaxedOrdering = 1u << 20,
  kOptionalAccess = 0x3ffu << 20,  // hints that an adapter may ignore
};
inline constexpr std::uint32_t kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;

enum class WcStatus : std::uint8_t {
  kSuccess,
  kLocalLengthError,
  kLocalQpOperationError,
  kLocalEecOperationError,
  kLocalProtectionError,
  kWorkRequestFlushed,
  kMwBindError,
  kBadResponseError,
  kLocalAccessError,
  kRemoteInvalidRequestError,
  kRemoteAccessError,
  kRemoteOperationError,
  kRetryExceeded,
  kRnrRetryExceeded,
  kLocalRddViolation,
  kRemoteInvalidRdRequest,
  kRemoteAborted,
  kInvalidEecNumber,
  kInvalidEecState,
  kFatalError,
  kResponseTimeout,
  kGeneralError,
  kTagMatchingError,
  kRendezvousIncomplete,
};

enum class WcOpcode : std::uint8_t {
  kSend = 0,
  kRdmaWrite = 1,
  kRdmaRead = 2,
  kCompareSwap = 3,
  kFetchAdd = 4,
  kBindMw = 5,
  kLocalInvalidate = 6,
  kAtomicWrite = 9,
  kReceive = 128,
  kReceiveRdmaWithImm = 129,
  // For shared receive queues with tag matching.
  kTagAdd = 130,
  kTagDelete = 131,
  kTagSync = 132,
  kTagReceive = 133,
  kNoTag = 134,
};

enum WcFlags : std::uint8_t {
  kWcGrh = 1 << 0,
  kWcWithImm = 1 << 1,
  kWcWithInvalidate = 1 << 3,
  kWcTagSyncRequired = 1 << 4,
  kWcTagMatch = 1 << 5,
  kWcTagDataValid = 1 << 6,
};

enum class AsyncEventType : std::uint32_t {
  kCqError = 0,
  kQpFatal = 1,
  kQpRequestError = 2,
  kQpAccessError = 3,
  kCommunicationEstablished = 4,
  kSqDrained = 5,
  kPathMigrated = 6,
  kPathMigrationError = 7,
  kDeviceFatal = 8,
  kPortActive = 9,
  kPortError = 10,
  kLidChange = 11,
  kPkeyChange = 12,
  kSubnetManagerChange = 13,
  kSrqError = 14,
  kSrqLimitReached = 15,
  kQpLastWqeReached = 16,
  kClientReregister = 17,
  kGidChange = 18,
  kWqFatal = 19,
};

// ibv_mtu: 1 … 5 are 256 … 4096 bytes.
constexpr bool is_mtu(std::uint32_t mtu) { return mtu >= 1 && mtu <= 5; }
constexpr std::uint32_t mtu_bytes(std::uint32_t mtu) { return 128u << mtu; }

// The largest MTU whose RoCEv2 packets fit into an interface's MTU, as Linux computes it
// (include/rdma/ib_addr.h, iboe_get_mtu): payload, GRH, UDP, BTH, XRCETH, AtomicETH and ICRC. 0: not even 256
// bytes fit.
constexpr std::uint32_t mtu_within(std::uint32_t interface_mtu) {
  constexpr std::uint32_t kXrcEthBytes = 4, kAtomicEthBytes = 28;
  constexpr std::uint32_t kHeaders = kGrhBytes + kUdpBytes + kBthBytes + kXrcEthBytes + kAtomicEthBytes + kIcrcBytes;
  std::uint32_t mtu = 5;
  while (mtu > 0 && mtu_bytes(mtu) + kHeaders > interface_mtu) --mtu;
  return mtu;
}

}  // namespace verbatim::ib
