// ibv_modify_qp: which attributes are accepted in which state, and what a transition sets off.
#include <cerrno>

#include "sim/hca/adapter.h"
#include "sim/hca/queues/queue_pair.h"
#include "sim/ib/lid_ranges.h"
#include "sim/ib/qp_state.h"

namespace verbatim::hca {

using ib::QpState;

namespace {

constexpr std::uint32_t kLimit24 = 1u << 24;
constexpr std::uint32_t kMigrated = 0;  // IBV_MIG_MIGRATED

// Attributes of the half that an XRC queue pair does not have are no error, they are ignored, as the Linux
// core does for every adapter: programs set both halves alike.
std::uint32_t without_missing_half(ib::QpType type, std::uint32_t mask) {
  switch (type) {
    case ib::QpType::kXrcSend:
      return mask & ~(ib::kQpMaxDestRdAtomic | ib::kQpMinRnrTimer);
    case ib::QpType::kXrcReceive:
      return mask & ~(ib::kQpMaxRdAtomic | ib::kQpRetryCount | ib::kQpRnrRetry);
    default:
      return mask;
  }
}

bool is_path_valid(const protocol::AddressVector& path, const HcaProfile& profile, bool roce) {
  if (path.port > 1) return false;  // 0 stands for the port of the queue pair
  if (path.service_level > 15 || path.source_path_bits != 0) return false;
  if (path.is_global != 0 && path.sgid_index >= profile.gid_table_length) return false;
  if (path.flow_label >= (1u << 20)) return false;
  if (roce) return true;
  return ib::is_unicast(ib::Lid{path.dlid});  // a connection goes to one port
}

}  // namespace

int QueuePair::check_attributes(const protocol::QpAttributes& to, std::uint32_t mask) const {
  const HcaProfile& profile = adapter.profile;
  const auto asks = [mask](std::uint32_t bit) { return (mask & bit) != 0; };
  if (asks(ib::kQpPort) && to.port_num != 1) return EINVAL;
  if (asks(ib::kQpPkeyIndex) && to.pkey_index >= profile.pkey_table_length) return EINVAL;
  if (asks(ib::kQpAccessFlags) &&
      (to.qp_access_flags & ~(ib::kRemoteRights | ib::kLocalWrite | ib::kMwBind | ib::kOnDemand)) != 0) {
    return EINVAL;
  }
  if (asks(ib::kQpAv)) {
    if (!is_path_valid(to.path, profile, adapter.address.roce)) return EINVAL;
    if (const int error = adapter.check_global_path(to.path); error != 0) return error;
  }
  if (asks(ib::kQpPathMtu) && (!ib::is_mtu(to.path_mtu) || to.path_mtu > profile.max_mtu)) return EINVAL;
  if (asks(ib::kQpTimeout) && to.timeout > 31) return EINVAL;
  if (asks(ib::kQpRetryCount) && to.retry_cnt > 7) return EINVAL;
  if (asks(ib::kQpRnrRetry) && to.rnr_retry > 7) return EINVAL;
  if (asks(ib::kQpMinRnrTimer) && to.min_rnr_timer > 31) return EINVAL;
  if (asks(ib::kQpDestQpn) && to.dest_qp_num >= kLimit24) return EINVAL;
  if (asks(ib::kQpMaxRdAtomic) && to.max_rd_atomic > profile.max_qp_init_rd_atom) return EINVAL;
  if (asks(ib::kQpMaxDestRdAtomic) && to.max_dest_rd_atomic > profile.max_qp_rd_atom) return EINVAL;
  // Automatic path migration is not built: no alternate path, and the only migration state is the initial
  // one.
  if (asks(ib::kQpAlternatePath)) return EOPNOTSUPP;
  if (asks(ib::kQpPathMigState) && to.path_mig_state != kMigrated) return EOPNOTSUPP;
  return 0;
}

void QueuePair::take_attributes(const protocol::QpAttributes& to, std::uint32_t mask) {
  const auto asks = [mask](std::uint32_t bit) { return (mask & bit) != 0; };
  if (asks(ib::kQpEnSqdAsyncNotify)) attributes.en_sqd_async_notify = to.en_sqd_async_notify;
  if (asks(ib::kQpAccessFlags)) attributes.qp_access_flags = to.qp_access_flags;
  if (asks(ib::kQpPkeyIndex)) {
    attributes.pkey_index = to.pkey_index;
    pkey_ = adapter.address.pkey(to.pkey_index);
  }
  if (asks(ib::kQpPort)) attributes.port_num = to.port_num;
  if (asks(ib::kQpQkey)) attributes.qkey = to.qkey;
  if (asks(ib::kQpAv)) attributes.path = to.path;
  if (asks(ib::kQpPathMtu)) {
    attributes.path_mtu = to.path_mtu;
    path_mtu_ = ib::mtu_bytes(to.path_mtu);
  }
  if (asks(ib::kQpTimeout)) attributes.timeout = to.timeout;
  if (asks(ib::kQpRetryCount)) attributes.retry_cnt = to.retry_cnt;
  if (asks(ib::kQpRnrRetry)) attributes.rnr_retry = to.rnr_retry;
  if (asks(ib::kQpMinRnrTimer)) attributes.min_rnr_timer = to.min_rnr_timer;
  if (asks(ib::kQpRqPsn)) attributes.rq_psn = to.rq_psn % kLimit24;  // as drivers do
  if (asks(ib::kQpSqPsn)) attributes.sq_psn = to.sq_psn % kLimit24;
  if (asks(ib::kQpDestQpn)) attributes.dest_qp_num = to.dest_qp_num;
  if (asks(ib::kQpMaxRdAtomic)) attributes.max_rd_atomic = to.max_rd_atomic;
  if (asks(ib::kQpMaxDestRdAtomic)) attributes.max_dest_rd_atomic = to.max_dest_rd_atomic;
  if (asks(ib::kQpPathMigState)) attributes.path_mig_state = to.path_mig_state;
}

int QueuePair::modify(const protocol::QpAttributes& to, std::uint32_t mask) {
  mask = without_missing_half(params.type, mask);
  if ((mask & ib::kQpRateLimit) != 0) return EOPNOTSUPP;
  if ((mask & ib::kQpCapabilities) != 0) return EINVAL;
  const std::uint32_t current =
      (mask & ib::kQpCurrentState) != 0 ? to.cur_qp_state : static_cast<std::uint32_t>(state_);
  const std::uint32_t next = (mask & ib::kQpState) != 0 ? to.qp_state : current;
  if (current != static_cast<std::uint32_t>(state_) || next >= ib::kQpStateCount) return EINVAL;
  const QpState from = state_;
  const QpState state = static_cast<QpState>(next);
  if (!ib::is_modify_allowed(from, state, params.type, mask)) return EINVAL;
  if (const int error = check_attributes(to, mask); error != 0) return error;

  if (state == QpState::kReset) {
    if (from != QpState::kReset) set_state(QpState::kReset);
    reset();
    return 0;
  }
  if (state == QpState::kErr) {
    enter_error();
    return 0;
  }
  take_attributes(to, mask);
  if (from != state) set_state(state);
  if (from == QpState::kInit && state == QpState::kRtr) responder_driver.start({attributes.rq_psn});
  if (from == QpState::kRtr && state == QpState::kRts) requester.start({attributes.sq_psn});
  if ((mask & (ib::kQpRetryCount | ib::kQpRnrRetry)) != 0) requester.reload_retries();
  if (from == QpState::kRts && state == QpState::kSqd) {
    drain_pending_ = true;
    attributes.sq_draining = 1;
    // IBA 11.2.5.2: the request for the event is one of this transition, not of a later one.
    if ((mask & ib::kQpEnSqdAsyncNotify) == 0) attributes.en_sqd_async_notify = 0;
    check_drained();
  }
  if (state == QpState::kRts) {
    drain_pending_ = false;
    attributes.sq_draining = attributes.en_sqd_async_notify = 0;
    requester_driver.wake();
  }
  return 0;
}

}  // namespace verbatim::hca
