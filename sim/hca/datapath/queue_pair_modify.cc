// ibv_modify_qp: the attributes that each state accepts, and the effects of a transition.
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>

#include "sim/core/words.h"
#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/ib/lid_ranges.h"
#include "sim/ib/qp_state.h"

namespace verbatim::hca {

using ib::QpState;

namespace {

constexpr std::uint32_t kLimit24 = 1u << 24;

// Attributes of the half that an XRC queue pair does not have are ignored, as the Linux core does for every
// adapter: programs set both halves alike.
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

// Error in a path; empty: it is valid.
std::string wrong_in_path(const protocol::AddressVector& path, const HcaProfile& profile, bool roce) {
  if (path.port > 1) return join("ah_attr.port_num ", path.port, ": there is port 1");  // 0: the port of the queue pair
  if (path.service_level > 15) return join("ah_attr.sl ", path.service_level, ": service levels are 0 to 15");
  if (path.source_path_bits != 0) return join("ah_attr.src_path_bits ", path.source_path_bits, ": the port has one LID (LMC 0)");
  if (path.is_global != 0 && path.sgid_index >= profile.gid_table_length) {
    return join("ah_attr.grh.sgid_index ", path.sgid_index, ": gid_tbl_len is ", profile.gid_table_length);
  }
  if (path.flow_label >= (1u << 20)) return join("ah_attr.grh.flow_label ", Hex{path.flow_label}, " has more than 20 bits");
  if (roce || ib::is_unicast(ib::Lid{path.dlid})) return "";
  return join("ah_attr.dlid ", Hex{path.dlid}, " is not the LID of a port");
}

// Reason why a change of state is refused.
std::string wrong_in_change(QpState from, QpState to, ib::QpType type, std::uint32_t mask) {
  const std::string change = join(ib::name_of(from), " to ", ib::name_of(to));
  const ib::QpTransition row = ib::qp_transition(from, to, type);
  if (!row.valid) return join("a queue pair cannot change from ", change);
  const std::uint32_t asked = mask & ~std::uint32_t{ib::kQpState};
  const std::uint32_t lacks = row.required & ~asked, unwanted = asked & ~(row.required | row.optional);
  std::string text = change + ": attr_mask ";
  if (lacks != 0) text += "lacks " + ib::names_of_attributes(lacks);
  if (unwanted != 0) text += (lacks != 0 ? ", and has " : "has ") + ib::names_of_attributes(unwanted) + ", which cannot be changed here";
  if (lacks == 0 && unwanted == 0) text += "has IBV_QP_CUR_STATE, which is allowed only where a queue pair may leave its state by itself";
  return join(text, "; for this type the change needs ", ib::names_of_attributes(row.required), " and may have ", ib::names_of_attributes(row.optional));
}

}  // namespace

int QueuePair::check_attributes(const protocol::QpAttributes& to, std::uint32_t mask) const {
  const HcaProfile& profile = adapter.profile;
  const auto asks = [mask](std::uint32_t bit) { return (mask & bit) != 0; };
  const auto refuse = [&](const auto&... parts) { return adapter.diagnoses.refuse(EINVAL, parts...); };
  // Checks that a value is at most `most`.
  const auto above = [&](const char* name, std::uint32_t value, std::uint32_t most) {
    return refuse(name, " ", value, " is more than ", most);
  };
  if (asks(ib::kQpPort) && to.port_num != 1) return refuse("port_num ", to.port_num, ": there is port 1");
  if (asks(ib::kQpPkeyIndex) && to.pkey_index >= profile.pkey_table_length) {
    return refuse("pkey_index ", to.pkey_index, ": pkey_tbl_len is ", profile.pkey_table_length);
  }
  // Linux and its drivers use the remote rights and ignore the other flags. Programs pass the flags of a region, and rdma-core's
  // tests those of FLUSH, to any adapter. A bit that has no name is a mistake.
  constexpr std::uint32_t kFlush = 3u << 8;  // IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT
  constexpr std::uint32_t kNamed = ib::kRemoteRights | ib::kLocalWrite | ib::kMwBind | ib::kZeroBased | ib::kOnDemand |
                                   ib::kHugeTlb | kFlush | ib::kOptionalAccess;
  if (asks(ib::kQpAccessFlags) && (to.qp_access_flags & ~kNamed) != 0) {
    return refuse("qp_access_flags ", Hex{to.qp_access_flags}, " have undefined bits");
  }
  if (asks(ib::kQpAv)) {
    if (const std::string wrong = wrong_in_path(to.path, profile, adapter.address.roce); !wrong.empty()) return refuse(wrong);
    if (const int error = adapter.check_global_path(to.path, false); error != 0) return error;
  }
  const std::uint32_t active_mtu = adapter.address.active_mtu(profile.max_mtu);
  if (asks(ib::kQpPathMtu) && (!ib::is_mtu(to.path_mtu) || to.path_mtu > active_mtu)) {
    return ib::is_mtu(to.path_mtu) ? above("path_mtu (an ibv_mtu)", to.path_mtu, active_mtu)
                                   : refuse("path_mtu ", to.path_mtu, " is not an ibv_mtu: 1 (256 bytes) to 5 (4096 bytes)");
  }
  if (asks(ib::kQpTimeout) && to.timeout > 31) return above("timeout", to.timeout, 31);
  if (asks(ib::kQpRetryCount) && to.retry_cnt > 7) return above("retry_cnt", to.retry_cnt, 7);
  if (asks(ib::kQpRnrRetry) && to.rnr_retry > 7) return above("rnr_retry", to.rnr_retry, 7);
  if (asks(ib::kQpMinRnrTimer) && to.min_rnr_timer > 31) return above("min_rnr_timer", to.min_rnr_timer, 31);
  if (asks(ib::kQpDestQpn) && to.dest_qp_num >= kLimit24) return above("dest_qp_num", to.dest_qp_num, kLimit24 - 1);
  if (asks(ib::kQpMaxRdAtomic) && to.max_rd_atomic > profile.max_qp_init_rd_atom) {
    return above("max_rd_atomic", to.max_rd_atomic, profile.max_qp_init_rd_atom);
  }
  if (asks(ib::kQpMaxDestRdAtomic) && to.max_dest_rd_atomic > profile.max_qp_rd_atom) {
    return above("max_dest_rd_atomic", to.max_dest_rd_atomic, profile.max_qp_rd_atom);
  }
  if (asks(ib::kQpAlternatePath)) {
    if (const int error = check_alternate_path(to); error != 0) return error;
    if (const std::string wrong = wrong_in_path(to.alternate_path, profile, false); !wrong.empty()) return refuse("alt_", wrong);
    if (const int error = adapter.check_global_path(to.alternate_path, false); error != 0) return error;
  }
  return asks(ib::kQpPathMigState) ? check_migration_state(to.path_mig_state, asks(ib::kQpAlternatePath)) : 0;
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
  if (asks(ib::kQpAlternatePath)) {
    attributes.alternate_path = to.alternate_path;
    attributes.alt_pkey_index = to.alt_pkey_index;
    attributes.alt_port_num = to.alt_port_num;
    attributes.alt_timeout = to.alt_timeout;
  }
  if (asks(ib::kQpPathMigState)) move_migration_state(to.path_mig_state);
}

int QueuePair::modify(const protocol::QpAttributes& to, std::uint32_t mask) {
  mask = without_missing_half(params.type, mask);
  const Diagnoses& diagnoses = adapter.diagnoses;
  if ((mask & ib::kQpRateLimit) != 0) return diagnoses.refuse(EOPNOTSUPP, "the device does not limit rates");
  if ((mask & ib::kQpCapabilities) != 0) return diagnoses.refuse(EINVAL, "IBV_QP_CAP: the device does not resize queue pairs");
  const std::uint32_t current =
      (mask & ib::kQpCurrentState) != 0 ? to.cur_qp_state : static_cast<std::uint32_t>(state_);
  const std::uint32_t next = (mask & ib::kQpState) != 0 ? to.qp_state : current;
  if (current != static_cast<std::uint32_t>(state_)) {
    return diagnoses.refuse(EINVAL, "cur_qp_state ", current, ": the queue pair is in ", ib::name_of(state_));
  }
  if (next >= ib::kQpStateCount) return diagnoses.refuse(EINVAL, "there is no state ", next);
  const QpState from = state_;
  const QpState state = static_cast<QpState>(next);
  if (!ib::is_modify_allowed(from, state, params.type, mask)) {
    return diagnoses.refuse(EINVAL, wrong_in_change(from, state, params.type, mask));
  }
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
  if ((mask & ib::kQpAv) != 0) renew_pacer();
  if (from == QpState::kInit && state == QpState::kRtr) responder_driver.start({attributes.rq_psn});
  if (from == QpState::kRtr && state == QpState::kRts) requester.start({attributes.sq_psn});
  if ((mask & (ib::kQpRetryCount | ib::kQpRnrRetry)) != 0) requester.reload_retries();
  if (from == QpState::kRts && state == QpState::kSqd) {
    drain_pending_ = true;
    attributes.sq_draining = 1;
    // IBA 11.2.5.2: the request for the event belongs to this transition, not to a later one.
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
