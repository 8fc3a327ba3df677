// ibv_post_send. A list takes post_send_ps + n * post_send_wqe_ps + lines of inline data * inline_line_ps +
// doorbell_ps for the n accepted work requests; one doorbell per call.
#include "verbs_shim/runtime/reported_call.h"
#include "verbs_shim/verbs/send.h"
#include "verbs_shim/verbs/thread_sanitizer.h"

namespace verbatim::verbs {
namespace {

using protocol::WqeOpcode;

constexpr std::uint8_t kConnected = kOnRc | kOnXrcSend;
constexpr SendOperation kAbsent{false, WqeOpcode::kSend, SendBody::kNone, 0, 0};

// Indexed by ibv_wr_opcode.
constexpr SendOperation kOperations[] = {
    {true, WqeOpcode::kRdmaWrite, SendBody::kData, kConnected | kOnUc, IBV_QP_EX_WITH_RDMA_WRITE},
    {true, WqeOpcode::kRdmaWriteWithImm, SendBody::kData, kConnected | kOnUc,
     IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM},
    {true, WqeOpcode::kSend, SendBody::kData, kConnected | kOnUc | kOnUd | kOnRaw, IBV_QP_EX_WITH_SEND},
    {true, WqeOpcode::kSendWithImm, SendBody::kData, kConnected | kOnUc | kOnUd,
     IBV_QP_EX_WITH_SEND_WITH_IMM},
    {true, WqeOpcode::kRdmaRead, SendBody::kScatter, kConnected, IBV_QP_EX_WITH_RDMA_READ},
    {true, WqeOpcode::kAtomicCompareSwap, SendBody::kScatter, kConnected, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP},
    {true, WqeOpcode::kAtomicFetchAdd, SendBody::kScatter, kConnected, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD},
    {true, WqeOpcode::kLocalInvalidate, SendBody::kNone, kConnected | kOnUc, IBV_QP_EX_WITH_LOCAL_INV},
    {true, WqeOpcode::kBindMemoryWindow, SendBody::kNone, kConnected | kOnUc, IBV_QP_EX_WITH_BIND_MW},
    {true, WqeOpcode::kSendWithInvalidate, SendBody::kData, kConnected | kOnUc, IBV_QP_EX_WITH_SEND_WITH_INV},
    kAbsent,  // TSO
    kAbsent,  // DRIVER1
    kAbsent,
    kAbsent,
    kAbsent,
    {true, WqeOpcode::kAtomicWrite, SendBody::kNone, kOnRc, IBV_QP_EX_WITH_ATOMIC_WRITE},
};
static_assert(sizeof(kOperations) / sizeof(kOperations[0]) == IBV_WR_ATOMIC_WRITE + 1);
static_assert(kOperations[IBV_WR_RDMA_READ].ops_flag == IBV_QP_EX_WITH_RDMA_READ);
static_assert(kOperations[IBV_WR_SEND_WITH_INV].ops_flag == IBV_QP_EX_WITH_SEND_WITH_INV);

const char* opcode_name(ibv_wr_opcode opcode) {
  constexpr const char* kNames[] = {
      "IBV_WR_RDMA_WRITE",           "IBV_WR_RDMA_WRITE_WITH_IMM",   "IBV_WR_SEND",      "IBV_WR_SEND_WITH_IMM", "IBV_WR_RDMA_READ",
      "IBV_WR_ATOMIC_CMP_AND_SWP",   "IBV_WR_ATOMIC_FETCH_AND_ADD",  "IBV_WR_LOCAL_INV", "IBV_WR_BIND_MW",       "IBV_WR_SEND_WITH_INV",
      "IBV_WR_TSO",                  "IBV_WR_DRIVER1",               "opcode 12",        "opcode 13",            "IBV_WR_FLUSH",
      "IBV_WR_ATOMIC_WRITE"};
  return opcode <= IBV_WR_ATOMIC_WRITE ? kNames[opcode] : "no opcode";
}

void fill_operands(protocol::SendWqe* wqe, const ibv_send_wr& wr) {
  switch (wqe->opcode) {
    case WqeOpcode::kSendWithImm:
      wqe->immediate = wr.imm_data;
      break;
    case WqeOpcode::kSendWithInvalidate:
      wqe->immediate = wr.invalidate_rkey;
      break;
    case WqeOpcode::kAtomicWrite:
      std::memcpy(&wqe->swap, reinterpret_cast<const void*>(wr.sg_list[0].addr), sizeof wqe->swap);
      wqe->remote_va = wr.wr.rdma.remote_addr;
      wqe->rkey = wr.wr.rdma.rkey;
      break;
    case WqeOpcode::kRdmaWriteWithImm:
      wqe->immediate = wr.imm_data;
      [[fallthrough]];
    case WqeOpcode::kRdmaWrite:
    case WqeOpcode::kRdmaRead:
      wqe->remote_va = wr.wr.rdma.remote_addr;
      wqe->rkey = wr.wr.rdma.rkey;
      break;
    case WqeOpcode::kAtomicCompareSwap:
      wqe->swap = wr.wr.atomic.swap;
      [[fallthrough]];
    case WqeOpcode::kAtomicFetchAdd:
      wqe->remote_va = wr.wr.atomic.remote_addr;
      wqe->rkey = wr.wr.atomic.rkey;
      wqe->compare_add = wr.wr.atomic.compare_add;
      break;
    case WqeOpcode::kLocalInvalidate:
      wqe->rkey = wr.invalidate_rkey;
      break;
    case WqeOpcode::kSend:
    case WqeOpcode::kBindMemoryWindow:
      break;
  }
}

// All checks precede the first write to the ring. A full queue takes precedence over errors in the request's
// operands.
int encode(Qp& qp, const ibv_send_wr& wr, ibv_mw_type window, std::uint32_t number, std::int64_t* inline_lines,
           std::uint64_t caller) {
  const SendOperation* operation = send_operation(wr.opcode);
  if (operation == nullptr) return refuse_with(EINVAL, "ibv_post_send: there is no opcode %d", static_cast<int>(wr.opcode));
  if (!operation->implemented) return refuse_with(EOPNOTSUPP, "ibv_post_send: %s is not supported", opcode_name(wr.opcode));
  if ((operation->types & qp_type_bit(public_qp(&qp)->qp_type)) == 0) {
    return refuse_with(EINVAL, "ibv_post_send: queue pairs of type %d do not have %s", static_cast<int>(public_qp(&qp)->qp_type),
                       opcode_name(wr.opcode));
  }
  if (number - qp.send.reclaimed >= qp.send.max_wr) {
    check_full(qp, number, caller);
    return ENOMEM;
  }
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > qp.send.max_sge) {
    return refuse_with(EINVAL, "ibv_post_send: num_sge %d, the queue pair has max_send_sge %u", wr.num_sge, qp.send.max_sge);
  }
  const bool inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (inlined && operation->body == SendBody::kScatter) {
    return refuse_with(EINVAL, "ibv_post_send: IBV_SEND_INLINE with %s, which receives data", opcode_name(wr.opcode));
  }
  std::uint64_t inline_length = 0;
  if (inlined && operation->body == SendBody::kData) {
    for (int i = 0; i < wr.num_sge; ++i) inline_length += wr.sg_list[i].length;
    if (inline_length > qp.send.max_inline) {
      return refuse_with(EINVAL, "ibv_post_send: %llu bytes with IBV_SEND_INLINE, the queue pair has max_inline_data %u",
                         static_cast<unsigned long long>(inline_length), qp.send.max_inline);
    }
  }
  const bool datagram = public_qp(&qp)->qp_type == IBV_QPT_UD;
  if ((wr.send_flags & IBV_SEND_IP_CSUM) != 0 && (datagram || public_qp(&qp)->qp_type == IBV_QPT_RAW_PACKET)) [[unlikely]] {
    return refuse_with(EINVAL, "ibv_post_send: IBV_SEND_IP_CSUM, and the device computes no checksums (device_cap_flags)");
  }
  if (datagram && object<Ah>(wr.wr.ud.ah) == nullptr) return refuse_with(EINVAL, "ibv_post_send: wr.ud.ah is no address handle");

  const bool is_atomic_write = operation->opcode == WqeOpcode::kAtomicWrite;
  if (is_atomic_write && (wr.num_sge != 1 || wr.sg_list[0].length != sizeof(std::uint64_t))) {
    return refuse_with(EINVAL, "ibv_post_send: IBV_WR_ATOMIC_WRITE takes one entry of 8 bytes");
  }
  const bool binds = operation->opcode == WqeOpcode::kBindMemoryWindow;
  if (binds && !can_bind(wr.bind_mw.mw, window, wr.bind_mw.bind_info)) {
    return refuse_with(EINVAL, "ibv_post_send: the window is of another type, or bind_info names no region where it needs one");
  }

  protocol::SendWqe* wqe = claim_slot(qp.send, number);
  wqe->wr_id = wr.wr_id;
  wqe->opcode = operation->opcode;
  wqe->flags = wqe_flags(qp, wr.send_flags);
  fill_operands(wqe, wr);
  if (binds) put_binding(wqe, *wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
  if (datagram) {
    wqe->address_handle = wr.wr.ud.ah->handle;
    wqe->remote_qpn = wr.wr.ud.remote_qpn;
    wqe->remote_qkey = wr.wr.ud.remote_qkey;
  }
  if (public_qp(&qp)->qp_type == IBV_QPT_XRC_SEND) wqe->remote_srqn = wr.qp_type.xrc.remote_srqn;
  if (operation->body == SendBody::kNone) return 0;
  if (inlined) {
    wqe->flags |= protocol::kWqeInline;
    wqe->inline_length = static_cast<std::uint32_t>(inline_length);
    std::byte* to = body_of(wqe);
    for (int i = 0; i < wr.num_sge; ++i) {
      if (wr.sg_list[i].length == 0) continue;
      std::memcpy(to, reinterpret_cast<const void*>(wr.sg_list[i].addr), wr.sg_list[i].length);
      to += wr.sg_list[i].length;
    }
    *inline_lines += lines_of(inline_length);
    return 0;
  }
  wqe->sge_count = static_cast<std::uint8_t>(wr.num_sge);
  for (int i = 0; i < wr.num_sge; ++i) {
    put_sge(wqe, static_cast<std::size_t>(i), wr.sg_list[i].addr, wr.sg_list[i].length, wr.sg_list[i].lkey);
  }
  return 0;
}

}  // namespace

const SendOperation* send_operation(unsigned opcode) {
  return opcode < sizeof(kOperations) / sizeof(kOperations[0]) ? &kOperations[opcode] : nullptr;
}

std::uint8_t qp_type_bit(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return kOnRc;
    case IBV_QPT_UC:
      return kOnUc;
    case IBV_QPT_UD:
      return kOnUd;
    case IBV_QPT_XRC_SEND:
      return kOnXrcSend;
    case IBV_QPT_RAW_PACKET:
      return kOnRaw;
    default:
      return 0;
  }
}

std::uint64_t supported_send_ops(ibv_qp_type type) {
  std::uint64_t flags = 0;
  for (const SendOperation& operation : kOperations) {
    if (operation.implemented && (operation.types & qp_type_bit(type)) != 0) flags |= operation.ops_flag;
  }
  return flags;
}

void publish_and_ring(Qp& qp, std::uint32_t producer, std::int64_t inline_lines, std::uint64_t caller) {
  const protocol::CallCosts& costs = shim::costs();
  const std::uint32_t count = producer - qp.send.producer;
  if (count == 0) {
    shim::spend(costs.post_send_ps);
    return;
  }
  note_sends(qp, qp.send.producer, producer, caller);
  order_before_completions(qp.send);
  qp.send.producer = producer;
  qp.record->send_producer.store(producer, std::memory_order_release);
  shim::ring_doorbell(costs.post_send_ps + count * costs.post_send_wqe_ps +
                          inline_lines * costs.inline_line_ps + costs.doorbell_ps,
                      protocol::DoorbellKind::kSendQueue, handle_of(public_qp(&qp)->context),
                      public_qp(&qp)->qp_num, producer);
}

namespace {

int post_list(ibv_qp* handle, ibv_send_wr* wr, ibv_mw_type window, ibv_send_wr** bad_wr, std::uint64_t caller) {
  auto* qp = object<Qp>(handle);
  if (qp == nullptr) {
    *bad_wr = wr;
    return EINVAL;
  }
  const UseScope scope(qp->single, "QP", handle->qp_num, caller);
  check_process(handle->context, "ibv_post_send", "QP", handle->qp_num, caller);
  qp->session_lock.wait();
  int error = 0;
  if (!accepts_sends(*handle)) {
    error = refuse_with(EINVAL, "ibv_post_send: QP %u is in %s; work requests are accepted from RTS on", handle->qp_num,
                        name_of(handle->state));
  }
  std::uint32_t number = qp->send.producer;
  std::int64_t inline_lines = 0;
  while (wr != nullptr && error == 0) {
    error = encode(*qp, *wr, window, number, &inline_lines, caller);
    if (error != 0) break;
    ++number;
    wr = wr->next;
  }
  if (error != 0) *bad_wr = wr;
  publish_and_ring(*qp, number, inline_lines, caller);
  return error;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  VERBATIM_ENTER_VERB();
  shim::CallReport report(protocol::ReportedCallKind::kPostSend, qp->qp_num, reinterpret_cast<std::int64_t>(wr));
  return report.ended(post_list(qp, wr, IBV_MW_TYPE_2, bad_wr, address_of(__builtin_return_address(0))));
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  VERBATIM_ENTER_VERB();
  ibv_send_wr wr{};
  wr.wr_id = bind->wr_id;
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = bind->send_flags;
  wr.bind_mw = {mw, ibv_inc_rkey(mw->rkey), bind->bind_info};
  ibv_send_wr* bad = nullptr;
  const int error = post_list(qp, &wr, IBV_MW_TYPE_1, &bad, address_of(__builtin_return_address(0)));
  if (error == 0) mw->rkey = wr.bind_mw.rkey;
  return error;
}

}  // namespace verbatim::verbs
