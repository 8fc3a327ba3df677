// The wr_* calls: wr_start, a builder per work request, its setters, wr_complete or wr_abort
// (ibv_wr_post(3)).
//
// The calls between wr_start and wr_complete return nothing. The first error is therefore kept for
// wr_complete, which then posts none of the work requests. wr_complete takes the time of ibv_post_send of the
// same list.
#include "verbs_shim/runtime/reported_call.h"
#include "verbs_shim/verbs/send.h"

namespace verbatim::verbs {
namespace {

using protocol::SendWqe;

Qp& qp_of(ibv_qp_ex* qp) { return *reinterpret_cast<Qp*>(qp); }

void fail(Qp& qp, int error) {
  if (qp.session.error == 0) qp.session.error = error;
  qp.session.current = nullptr;
}

// Opens the next WQE; nullptr, with an error stored, on failure.
SendWqe* begin(ibv_qp_ex* handle, ibv_wr_opcode opcode) {
  Qp& qp = qp_of(handle);
  if (qp.session.error != 0) return nullptr;
  SendWqe* wqe = claim_slot(qp.send, qp.session.next);
  if (wqe == nullptr) {
    check_full(qp, qp.session.next, 0);
    fail(qp, ENOMEM);
    return nullptr;
  }
  ++qp.session.next;
  qp.session.current = wqe;
  wqe->wr_id = handle->wr_id;
  wqe->opcode = send_operation(opcode)->opcode;
  wqe->flags = wqe_flags(qp, handle->wr_flags);
  return wqe;
}

void wr_send(ibv_qp_ex* qp) { begin(qp, IBV_WR_SEND); }

void wr_send_imm(ibv_qp_ex* qp, __be32 immediate) {
  if (SendWqe* wqe = begin(qp, IBV_WR_SEND_WITH_IMM)) wqe->immediate = immediate;
}

void wr_send_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  if (SendWqe* wqe = begin(qp, IBV_WR_SEND_WITH_INV)) wqe->immediate = rkey;
}

void begin_remote(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t va) {
  if (SendWqe* wqe = begin(qp, opcode)) {
    wqe->rkey = rkey;
    wqe->remote_va = va;
  }
}

void wr_rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t va) {
  begin_remote(qp, IBV_WR_RDMA_WRITE, rkey, va);
}

void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t va, __be32 immediate) {
  begin_remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, va);
  if (SendWqe* wqe = qp_of(qp).session.current) wqe->immediate = immediate;
}

void wr_rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t va) {
  begin_remote(qp, IBV_WR_RDMA_READ, rkey, va);
}

void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t va, std::uint64_t compare,
                       std::uint64_t swap) {
  begin_remote(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, va);
  if (SendWqe* wqe = qp_of(qp).session.current) {
    wqe->compare_add = compare;
    wqe->swap = swap;
  }
}

void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t va, std::uint64_t add) {
  begin_remote(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, va);
  if (SendWqe* wqe = qp_of(qp).session.current) wqe->compare_add = add;
}

void wr_atomic_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t va, const void* value) {
  begin_remote(qp, IBV_WR_ATOMIC_WRITE, rkey, va);
  if (SendWqe* wqe = qp_of(qp).session.current) std::memcpy(&wqe->swap, value, sizeof wqe->swap);
}

void wr_local_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  if (SendWqe* wqe = begin(qp, IBV_WR_LOCAL_INV)) wqe->rkey = rkey;
}

void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
  if (!can_bind(mw, IBV_MW_TYPE_2, *info)) {
    fail(qp_of(qp), refuse_with(EINVAL, "ibv_wr_bind_mw: the window is not of type 2, or bind_info names no region where it needs one"));
    return;
  }
  if (SendWqe* wqe = begin(qp, IBV_WR_BIND_MW)) put_binding(wqe, *mw, rkey, *info);
}

// Operations for which the QP was not created, or that do not exist here.
void refuse_operation(ibv_qp_ex* qp, int error) {
  fail(qp_of(qp), refuse_with(error, "an ibv_wr_ operation that is not in the send_ops_flags of QP %u", qp->qp_base.qp_num));
}
void no_send(ibv_qp_ex* qp) { refuse_operation(qp, EINVAL); }
void no_send_imm(ibv_qp_ex* qp, __be32) { refuse_operation(qp, EINVAL); }
void no_key(ibv_qp_ex* qp, std::uint32_t) { refuse_operation(qp, EINVAL); }
void no_remote(ibv_qp_ex* qp, std::uint32_t, std::uint64_t) { refuse_operation(qp, EINVAL); }
void no_write_imm(ibv_qp_ex* qp, std::uint32_t, std::uint64_t, __be32) { refuse_operation(qp, EINVAL); }
void no_cmp_swp(ibv_qp_ex* qp, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t) {
  refuse_operation(qp, EINVAL);
}
void no_fetch_add(ibv_qp_ex* qp, std::uint32_t, std::uint64_t, std::uint64_t) {
  refuse_operation(qp, EINVAL);
}
void no_bind_mw(ibv_qp_ex* qp, ibv_mw*, std::uint32_t, const ibv_mw_bind_info*) {
  refuse_operation(qp, EINVAL);
}
void no_tso(ibv_qp_ex* qp, void*, std::uint16_t, std::uint16_t) { refuse_operation(qp, EOPNOTSUPP); }
void no_atomic_write(ibv_qp_ex* qp, std::uint32_t, std::uint64_t, const void*) {
  refuse_operation(qp, EINVAL);
}

void wr_set_ud_addr(ibv_qp_ex* handle, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  Qp& qp = qp_of(handle);
  if (qp.session.current == nullptr) return;
  if (object<Ah>(ah) == nullptr) {
    fail(qp, refuse_with(EINVAL, "ibv_wr_set_ud_addr: no address handle"));
    return;
  }
  qp.session.current->address_handle = ah->handle;
  qp.session.current->remote_qpn = qpn;
  qp.session.current->remote_qkey = qkey;
}

void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t number) {
  if (SendWqe* wqe = qp_of(qp).session.current) wqe->remote_srqn = number;
}

bool takes_inline(const SendWqe& wqe) {
  return wqe.opcode != protocol::WqeOpcode::kRdmaRead &&
         wqe.opcode != protocol::WqeOpcode::kAtomicCompareSwap &&
         wqe.opcode != protocol::WqeOpcode::kAtomicFetchAdd && wqe.opcode != protocol::WqeOpcode::kAtomicWrite;
}

void wr_set_inline_data_list(ibv_qp_ex* handle, std::size_t count, const ibv_data_buf* buffers) {
  Qp& qp = qp_of(handle);
  SendWqe* wqe = qp.session.current;
  if (wqe == nullptr) return;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // Each summand is bounded first: the sum cannot overflow.
    if (buffers[i].length > qp.send.max_inline || (length += buffers[i].length) > qp.send.max_inline) {
      // the mlx5 provider returns ENOMEM
      fail(qp, refuse_with(ENOMEM, "ibv_wr_set_inline_data: more than the max_inline_data %u of the queue pair", qp.send.max_inline));
      return;
    }
  }
  if (!takes_inline(*wqe)) {
    fail(qp, refuse_with(EINVAL, "ibv_wr_set_inline_data: the operation receives data"));
    return;
  }
  std::byte* to = body_of(wqe);
  for (std::size_t i = 0; i < count; ++i) {
    if (buffers[i].length == 0) continue;
    std::memcpy(to, buffers[i].addr, buffers[i].length);
    to += buffers[i].length;
  }
  wqe->flags |= protocol::kWqeInline;
  wqe->inline_length = static_cast<std::uint32_t>(length);
  wqe->sge_count = 0;
  qp.session.inline_lines += lines_of(length);
}

void wr_set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
  const ibv_data_buf buffer{address, length};
  wr_set_inline_data_list(qp, 1, &buffer);
}

void wr_set_sge_list(ibv_qp_ex* handle, std::size_t count, const ibv_sge* list) {
  Qp& qp = qp_of(handle);
  SendWqe* wqe = qp.session.current;
  if (wqe == nullptr) return;
  if (count > qp.send.max_sge) {
    // the mlx5 provider returns ENOMEM
    fail(qp, refuse_with(ENOMEM, "ibv_wr_set_sge_list: %zu entries, the queue pair has max_send_sge %u", count, qp.send.max_sge));
    return;
  }
  wqe->sge_count = static_cast<std::uint8_t>(count);
  for (std::size_t i = 0; i < count; ++i) put_sge(wqe, i, list[i].addr, list[i].length, list[i].lkey);
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  const ibv_sge sge{address, length, lkey};
  wr_set_sge_list(qp, 1, &sge);
}

void wr_start(ibv_qp_ex* handle) {
  Qp& qp = qp_of(handle);
  qp.session_lock.acquire();
  qp.session = SendSession{};
  qp.session.next = qp.send.producer;
  if (accepts_sends(handle->qp_base)) return;
  fail(qp, refuse_with(EINVAL, "ibv_wr_start: QP %u is in %s; work requests are accepted from RTS on", handle->qp_base.qp_num,
                   name_of(handle->qp_base.state)));
}

// Whether every datagram has an address handle.
bool datagrams_addressed(const Qp& qp) {
  if (qp.base.qp_base.qp_type != IBV_QPT_UD) return true;
  for (std::uint32_t number = qp.send.producer; number != qp.session.next; ++number) {
    auto* wqe = reinterpret_cast<const SendWqe*>(qp.send.ring + std::size_t{number & (qp.send.entries - 1)} *
                                                                    qp.send.stride);
    if (wqe->address_handle == 0) return false;
  }
  return true;
}

int wr_complete(ibv_qp_ex* handle) {
  VERBATIM_ENTER_VERB();
  Qp& qp = qp_of(handle);
  if (qp.session.error == 0 && !datagrams_addressed(qp)) {
    fail(qp, refuse_with(EINVAL, "ibv_wr_complete: a datagram has no address (ibv_wr_set_ud_addr)"));
  }
  const SendSession ended = qp.session;
  shim::CallReport report(protocol::ReportedCallKind::kCompleteSends, handle->qp_base.qp_num,
                          reinterpret_cast<std::int64_t>(qp.send.ring),
                       qp.send.entries, qp.send.stride, qp.send.producer, ended.next);
  qp.session = SendSession{};
  qp.session_lock.release();
  publish_and_ring(qp, ended.error == 0 ? ended.next : qp.send.producer, ended.inline_lines,
                   address_of(__builtin_return_address(0)));
  return report.ended(ended.error);
}

void wr_abort(ibv_qp_ex* handle) {
  Qp& qp = qp_of(handle);
  qp.session = SendSession{};
  qp.session_lock.release();
}

}  // namespace

void fill_send_operations(ibv_qp_ex* qp, std::uint64_t ops) {
  auto has = [ops](std::uint64_t flag) { return (ops & flag) != 0; };
  qp->wr_send = has(IBV_QP_EX_WITH_SEND) ? wr_send : no_send;
  qp->wr_send_imm = has(IBV_QP_EX_WITH_SEND_WITH_IMM) ? wr_send_imm : no_send_imm;
  qp->wr_send_inv = has(IBV_QP_EX_WITH_SEND_WITH_INV) ? wr_send_inv : no_key;
  qp->wr_rdma_write = has(IBV_QP_EX_WITH_RDMA_WRITE) ? wr_rdma_write : no_remote;
  qp->wr_rdma_write_imm = has(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) ? wr_rdma_write_imm : no_write_imm;
  qp->wr_rdma_read = has(IBV_QP_EX_WITH_RDMA_READ) ? wr_rdma_read : no_remote;
  qp->wr_atomic_cmp_swp = has(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) ? wr_atomic_cmp_swp : no_cmp_swp;
  qp->wr_atomic_fetch_add = has(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) ? wr_atomic_fetch_add : no_fetch_add;
  qp->wr_local_inv = has(IBV_QP_EX_WITH_LOCAL_INV) ? wr_local_inv : no_key;
  qp->wr_bind_mw = has(IBV_QP_EX_WITH_BIND_MW) ? wr_bind_mw : no_bind_mw;
  qp->wr_send_tso = no_tso;
  qp->wr_atomic_write = has(IBV_QP_EX_WITH_ATOMIC_WRITE) ? wr_atomic_write : no_atomic_write;
  qp->wr_set_ud_addr = wr_set_ud_addr;
  qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
  qp->wr_set_inline_data = wr_set_inline_data;
  qp->wr_set_inline_data_list = wr_set_inline_data_list;
  qp->wr_set_sge = wr_set_sge;
  qp->wr_set_sge_list = wr_set_sge_list;
  qp->wr_start = wr_start;
  qp->wr_complete = wr_complete;
  qp->wr_abort = wr_abort;
}

}  // namespace verbatim::verbs
