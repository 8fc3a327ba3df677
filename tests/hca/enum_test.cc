// The model's copies of verbs enumerations equal those of the real header.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "sim/ib/types.h"

namespace verbatim::test {
namespace {

#define EXPECT_SAME(ours, theirs) \
  EXPECT_EQ(static_cast<std::uint32_t>(ours), static_cast<std::uint32_t>(theirs))

TEST(EnumTest, values_are_those_of_the_verbs_header) {
  EXPECT_SAME(ib::QpType::kRc, IBV_QPT_RC);
  EXPECT_SAME(ib::QpType::kUc, IBV_QPT_UC);
  EXPECT_SAME(ib::QpType::kUd, IBV_QPT_UD);
  EXPECT_SAME(ib::QpType::kRawPacket, IBV_QPT_RAW_PACKET);
  EXPECT_SAME(ib::QpType::kXrcSend, IBV_QPT_XRC_SEND);
  EXPECT_SAME(ib::QpType::kXrcReceive, IBV_QPT_XRC_RECV);

  EXPECT_SAME(ib::QpState::kReset, IBV_QPS_RESET);
  EXPECT_SAME(ib::QpState::kInit, IBV_QPS_INIT);
  EXPECT_SAME(ib::QpState::kRtr, IBV_QPS_RTR);
  EXPECT_SAME(ib::QpState::kRts, IBV_QPS_RTS);
  EXPECT_SAME(ib::QpState::kSqd, IBV_QPS_SQD);
  EXPECT_SAME(ib::QpState::kSqe, IBV_QPS_SQE);
  EXPECT_SAME(ib::QpState::kErr, IBV_QPS_ERR);

  EXPECT_SAME(ib::kQpState, IBV_QP_STATE);
  EXPECT_SAME(ib::kQpCurrentState, IBV_QP_CUR_STATE);
  EXPECT_SAME(ib::kQpEnSqdAsyncNotify, IBV_QP_EN_SQD_ASYNC_NOTIFY);
  EXPECT_SAME(ib::kQpAccessFlags, IBV_QP_ACCESS_FLAGS);
  EXPECT_SAME(ib::kQpPkeyIndex, IBV_QP_PKEY_INDEX);
  EXPECT_SAME(ib::kQpPort, IBV_QP_PORT);
  EXPECT_SAME(ib::kQpQkey, IBV_QP_QKEY);
  EXPECT_SAME(ib::kQpAv, IBV_QP_AV);
  EXPECT_SAME(ib::kQpPathMtu, IBV_QP_PATH_MTU);
  EXPECT_SAME(ib::kQpTimeout, IBV_QP_TIMEOUT);
  EXPECT_SAME(ib::kQpRetryCount, IBV_QP_RETRY_CNT);
  EXPECT_SAME(ib::kQpRnrRetry, IBV_QP_RNR_RETRY);
  EXPECT_SAME(ib::kQpRqPsn, IBV_QP_RQ_PSN);
  EXPECT_SAME(ib::kQpMaxRdAtomic, IBV_QP_MAX_QP_RD_ATOMIC);
  EXPECT_SAME(ib::kQpAlternatePath, IBV_QP_ALT_PATH);
  EXPECT_SAME(ib::kQpMinRnrTimer, IBV_QP_MIN_RNR_TIMER);
  EXPECT_SAME(ib::kQpSqPsn, IBV_QP_SQ_PSN);
  EXPECT_SAME(ib::kQpMaxDestRdAtomic, IBV_QP_MAX_DEST_RD_ATOMIC);
  EXPECT_SAME(ib::kQpPathMigState, IBV_QP_PATH_MIG_STATE);
  EXPECT_SAME(ib::kQpCapabilities, IBV_QP_CAP);
  EXPECT_SAME(ib::kQpDestQpn, IBV_QP_DEST_QPN);
  EXPECT_SAME(ib::kQpRateLimit, IBV_QP_RATE_LIMIT);

  EXPECT_SAME(ib::kLocalWrite, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_SAME(ib::kRemoteWrite, IBV_ACCESS_REMOTE_WRITE);
  EXPECT_SAME(ib::kRemoteRead, IBV_ACCESS_REMOTE_READ);
  EXPECT_SAME(ib::kRemoteAtomic, IBV_ACCESS_REMOTE_ATOMIC);
  EXPECT_SAME(ib::kMwBind, IBV_ACCESS_MW_BIND);
  EXPECT_SAME(ib::kZeroBased, IBV_ACCESS_ZERO_BASED);
  EXPECT_SAME(ib::kOnDemand, IBV_ACCESS_ON_DEMAND);
  EXPECT_SAME(ib::kHugeTlb, IBV_ACCESS_HUGETLB);
  EXPECT_SAME(ib::kRelaxedOrdering, IBV_ACCESS_RELAXED_ORDERING);

  EXPECT_SAME(ib::WcStatus::kSuccess, IBV_WC_SUCCESS);
  EXPECT_SAME(ib::WcStatus::kLocalLengthError, IBV_WC_LOC_LEN_ERR);
  EXPECT_SAME(ib::WcStatus::kLocalQpOperationError, IBV_WC_LOC_QP_OP_ERR);
  EXPECT_SAME(ib::WcStatus::kLocalProtectionError, IBV_WC_LOC_PROT_ERR);
  EXPECT_SAME(ib::WcStatus::kWorkRequestFlushed, IBV_WC_WR_FLUSH_ERR);
  EXPECT_SAME(ib::WcStatus::kMwBindError, IBV_WC_MW_BIND_ERR);
  EXPECT_SAME(ib::WcStatus::kBadResponseError, IBV_WC_BAD_RESP_ERR);
  EXPECT_SAME(ib::WcStatus::kLocalAccessError, IBV_WC_LOC_ACCESS_ERR);
  EXPECT_SAME(ib::WcStatus::kRemoteInvalidRequestError, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_SAME(ib::WcStatus::kRemoteAccessError, IBV_WC_REM_ACCESS_ERR);
  EXPECT_SAME(ib::WcStatus::kRemoteOperationError, IBV_WC_REM_OP_ERR);
  EXPECT_SAME(ib::WcStatus::kRetryExceeded, IBV_WC_RETRY_EXC_ERR);
  EXPECT_SAME(ib::WcStatus::kRnrRetryExceeded, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_SAME(ib::WcStatus::kRemoteInvalidRdRequest, IBV_WC_REM_INV_RD_REQ_ERR);
  EXPECT_SAME(ib::WcStatus::kRemoteAborted, IBV_WC_REM_ABORT_ERR);
  EXPECT_SAME(ib::WcStatus::kFatalError, IBV_WC_FATAL_ERR);
  EXPECT_SAME(ib::WcStatus::kResponseTimeout, IBV_WC_RESP_TIMEOUT_ERR);
  EXPECT_SAME(ib::WcStatus::kGeneralError, IBV_WC_GENERAL_ERR);
  EXPECT_SAME(ib::WcStatus::kTagMatchingError, IBV_WC_TM_ERR);
  EXPECT_SAME(ib::WcStatus::kRendezvousIncomplete, IBV_WC_TM_RNDV_INCOMPLETE);

  EXPECT_SAME(ib::WcOpcode::kSend, IBV_WC_SEND);
  EXPECT_SAME(ib::WcOpcode::kRdmaWrite, IBV_WC_RDMA_WRITE);
  EXPECT_SAME(ib::WcOpcode::kRdmaRead, IBV_WC_RDMA_READ);
  EXPECT_SAME(ib::WcOpcode::kCompareSwap, IBV_WC_COMP_SWAP);
  EXPECT_SAME(ib::WcOpcode::kFetchAdd, IBV_WC_FETCH_ADD);
  EXPECT_SAME(ib::WcOpcode::kBindMw, IBV_WC_BIND_MW);
  EXPECT_SAME(ib::WcOpcode::kLocalInvalidate, IBV_WC_LOCAL_INV);
  EXPECT_SAME(ib::WcOpcode::kReceive, IBV_WC_RECV);
  EXPECT_SAME(ib::WcOpcode::kReceiveRdmaWithImm, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_SAME(ib::WcOpcode::kTagAdd, IBV_WC_TM_ADD);
  EXPECT_SAME(ib::WcOpcode::kTagDelete, IBV_WC_TM_DEL);
  EXPECT_SAME(ib::WcOpcode::kTagSync, IBV_WC_TM_SYNC);
  EXPECT_SAME(ib::WcOpcode::kTagReceive, IBV_WC_TM_RECV);
  EXPECT_SAME(ib::WcOpcode::kNoTag, IBV_WC_TM_NO_TAG);
  EXPECT_SAME(ib::kWcTagSyncRequired, IBV_WC_TM_SYNC_REQ);
  EXPECT_SAME(ib::kWcTagMatch, IBV_WC_TM_MATCH);
  EXPECT_SAME(ib::kWcTagDataValid, IBV_WC_TM_DATA_VALID);
  EXPECT_SAME(ib::kWcGrh, IBV_WC_GRH);
  EXPECT_SAME(ib::kWcWithImm, IBV_WC_WITH_IMM);
  EXPECT_SAME(ib::kWcWithInvalidate, IBV_WC_WITH_INV);

  EXPECT_SAME(ib::AsyncEventType::kCqError, IBV_EVENT_CQ_ERR);
  EXPECT_SAME(ib::AsyncEventType::kQpFatal, IBV_EVENT_QP_FATAL);
  EXPECT_SAME(ib::AsyncEventType::kQpRequestError, IBV_EVENT_QP_REQ_ERR);
  EXPECT_SAME(ib::AsyncEventType::kQpAccessError, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_SAME(ib::AsyncEventType::kCommunicationEstablished, IBV_EVENT_COMM_EST);
  EXPECT_SAME(ib::AsyncEventType::kSqDrained, IBV_EVENT_SQ_DRAINED);
  EXPECT_SAME(ib::AsyncEventType::kPathMigrated, IBV_EVENT_PATH_MIG);
  EXPECT_SAME(ib::AsyncEventType::kPathMigrationError, IBV_EVENT_PATH_MIG_ERR);
  EXPECT_SAME(ib::AsyncEventType::kDeviceFatal, IBV_EVENT_DEVICE_FATAL);
  EXPECT_SAME(ib::AsyncEventType::kPortActive, IBV_EVENT_PORT_ACTIVE);
  EXPECT_SAME(ib::AsyncEventType::kPortError, IBV_EVENT_PORT_ERR);
  EXPECT_SAME(ib::AsyncEventType::kSrqError, IBV_EVENT_SRQ_ERR);
  EXPECT_SAME(ib::AsyncEventType::kSrqLimitReached, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_SAME(ib::AsyncEventType::kQpLastWqeReached, IBV_EVENT_QP_LAST_WQE_REACHED);

  EXPECT_EQ(ib::mtu_bytes(IBV_MTU_256), 256u);
  EXPECT_EQ(ib::mtu_bytes(IBV_MTU_4096), 4096u);
}

}  // namespace
}  // namespace verbatim::test
