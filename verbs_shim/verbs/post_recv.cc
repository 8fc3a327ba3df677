// Posting of receives to a QP, SRQ or WQ. No doorbell is rung by default: the adapter reads the producer
// record when it needs a WQE. A call takes post_recv_ps + n * post_recv_wqe_ps for a list of n, spent before
// the record changes. The adapter does not poll the record in the error state, where it needs no WQE, nor
// while a frame waits for a receive. It requests a doorbell then (QueuePairRecord::recv_doorbell_wanted),
// whose MMIO write takes doorbell_ps more.
#include "verbs_shim/runtime/reported_call.h"
#include "verbs_shim/verbs/objects.h"
#include "verbs_shim/verbs/thread_sanitizer.h"

namespace verbatim::verbs {
namespace {

int encode(ReceiveQueue& queue, const ibv_recv_wr& wr, std::uint32_t number, std::uint64_t now_ps) {
  if (number - queue.reclaimed >= queue.max_wr) return ENOMEM;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > queue.max_sge) {
    return refuse_with(EINVAL, "ibv_post_recv: num_sge %d, the queue has max_sge %u", wr.num_sge, queue.max_sge);
  }
  std::byte* slot = queue.ring + std::size_t{number & (queue.entries - 1)} * queue.stride;
  const protocol::RecvWqe header{wr.wr_id, static_cast<std::uint8_t>(wr.num_sge), now_ps & protocol::RecvWqe::kPostedMask};
  std::memcpy(slot, &header, sizeof(header));
  slot += sizeof(header);
  for (int i = 0; i < wr.num_sge; ++i, slot += sizeof(protocol::Sge)) {
    const protocol::Sge sge{wr.sg_list[i].addr, wr.sg_list[i].length, wr.sg_list[i].lkey};
    std::memcpy(slot, &sge, sizeof(sge));
  }
  return 0;
}

// Error of a post to a queue pair without room. With an SRQ or XRC there is no receive queue; a queue without
// entries is always full.
[[gnu::cold, gnu::noinline]] int refuse_receives(const ibv_qp& handle, const ibv_recv_wr* wr) {
  const bool has_none = handle.srq != nullptr || handle.qp_type == IBV_QPT_XRC_SEND || handle.qp_type == IBV_QPT_XRC_RECV ||
                        handle.recv_cq == nullptr;
  if (!has_none && handle.state != IBV_QPS_RESET) return wr == nullptr ? 0 : ENOMEM;
  if (has_none) {
    return refuse_with(EINVAL, "ibv_post_recv: QP %u has no receive queue of its own (it has an SRQ, is XRC, or spreads frames)",
                       handle.qp_num);
  }
  return refuse_with(EINVAL, "ibv_post_recv: QP %u is in RESET; receives are accepted from INIT on", handle.qp_num);
}

// Time for the list, at most for as many requests as the queue has slots: the others are refused.
void spend_for(const ReceiveQueue& queue, const ibv_recv_wr* wr) {
  std::int64_t count = 0;
  while (wr != nullptr && count < queue.max_wr) {
    ++count;
    wr = wr->next;
  }
  const protocol::CallCosts& costs = shim::costs();
  shim::spend(costs.post_recv_ps + count * costs.post_recv_wqe_ps);
}

void report_places_of(protocol::PlacedCall call, ibv_context* context, std::uint32_t number, const ibv_recv_wr* wr,
                    const ibv_recv_wr* end) {
  for (; wr != end; wr = wr->next) report_place(call, handle_of(context), number, wr->wr_id);
}

[[gnu::always_inline]] inline int post(ReceiveQueue& queue, std::atomic<std::uint32_t>& record, ibv_recv_wr* wr,
                                       ibv_recv_wr** bad_wr, protocol::PlacedCall call, ibv_context* context,
                                       std::uint32_t handle_number) {
  const ibv_recv_wr* const first = wr;
  const std::uint32_t begin = queue.producer;
  int error = 0;
  const auto now_ps = static_cast<std::uint64_t>(shim::now_ps());
  while (wr != nullptr && (error = encode(queue, *wr, queue.producer, now_ps)) == 0) {
    ++queue.producer;
    wr = wr->next;
  }
  if (error != 0) *bad_wr = wr;
  if (reports_places()) [[unlikely]]
    report_places_of(call, context, handle_number, first, wr);
  note_receives(queue, begin, queue.producer);
  order_before_completions(queue);
  record.store(queue.producer, std::memory_order_release);
  return error;
}

// Called after a post. No virtual time passes between the store of the record and this load, and the adapter
// reads the record again when its request becomes visible (RecordWriter). Therefore either the adapter has
// seen the new number, or the doorbell is rung here.
[[gnu::always_inline]] inline void ring_if_wanted(const protocol::QueuePairRecord& record, ibv_context* context,
                                                  std::uint32_t number, std::uint32_t producer) {
  if (record.recv_doorbell_wanted.load(std::memory_order_acquire) == 0) return;
  shim::ring_doorbell(shim::costs().doorbell_ps, protocol::DoorbellKind::kReceiveQueue, handle_of(context), number,
                      producer);
}

}  // namespace

int post_recv(ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto* qp = object<Qp>(handle);
  if (qp == nullptr) {
    *bad_wr = wr;
    return EINVAL;
  }
  VERBATIM_ENTER_VERB();
  check_process(handle->context, "ibv_post_recv", "QP", handle->qp_num, address_of(__builtin_return_address(0)));
  shim::CallReport report(protocol::ReportedCallKind::kPostReceive, handle->qp_num, reinterpret_cast<std::int64_t>(wr));
  spend_for(qp->receive, wr);
  // IBA 10.8.3.1: accepted in every state but RESET.
  if (handle->state == IBV_QPS_RESET || qp->receive.max_wr == 0) {
    *bad_wr = wr;
    return report.ended(refuse_receives(*handle, wr));
  }
  const std::uint32_t before = qp->receive.producer;
  const int error = post(qp->receive, qp->record->recv_producer, wr, bad_wr, protocol::PlacedCall::kPostReceive,
                         handle->context, handle->qp_num);
  if (qp->receive.producer != before) {
    ring_if_wanted(*qp->record, handle->context, handle->qp_num, qp->receive.producer);
  }
  return report.ended(error);
}

int post_wq_recv(ibv_wq* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto* wq = object<Wq>(handle);
  if (wq == nullptr) {
    *bad_wr = wr;
    return EINVAL;
  }
  VERBATIM_ENTER_VERB();
  check_process(handle->context, "ibv_post_wq_recv", "WQ", handle->wq_num, address_of(__builtin_return_address(0)));
  shim::CallReport report(protocol::ReportedCallKind::kPostWorkQueue, handle->wq_num, reinterpret_cast<std::int64_t>(wr));
  spend_for(wq->receive, wr);
  if (handle->state == IBV_WQS_RESET) {
    *bad_wr = wr;
    return report.ended(refuse_with(EINVAL, "ibv_post_wq_recv: WQ %u is in RESET; receives are accepted from RDY on", handle->wq_num));
  }
  const std::uint32_t before = wq->receive.producer;
  const int error = post(wq->receive, wq->record->recv_producer, wr, bad_wr, protocol::PlacedCall::kPostReceive,
                         handle->context, handle->wq_num);
  if (wq->receive.producer != before) {
    ring_if_wanted(*wq->record, handle->context, handle->wq_num, wq->receive.producer);
  }
  return report.ended(error);
}

int post_srq_recv(ibv_srq* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto* srq = object<Srq>(handle);
  if (srq == nullptr) {
    *bad_wr = wr;
    return EINVAL;
  }
  VERBATIM_ENTER_VERB();
  check_process(handle->context, "ibv_post_srq_recv", "SRQ", srq->number, address_of(__builtin_return_address(0)));
  shim::CallReport report(protocol::ReportedCallKind::kPostSharedReceive, srq->number, reinterpret_cast<std::int64_t>(wr));
  spend_for(srq->receive, wr);
  return report.ended(post(srq->receive, srq->record->producer, wr, bad_wr, protocol::PlacedCall::kPostSharedReceive,
                         handle->context, srq->number));
}

}  // namespace verbatim::verbs
