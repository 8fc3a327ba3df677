// Completion queues.
//
// Virtual time of a poll: it takes poll_empty_ps, then reads the entries that are visible at that moment.
// Each completion found takes poll_cqe_ps more, spent before the consumer record releases the slots to the
// adapter and before the call returns. A call that returns n completions takes poll_empty_ps + n *
// poll_cqe_ps.
#include "verbs_shim/runtime/poll_entry.h"
#include "verbs_shim/runtime/reported_call.h"
#include "verbs_shim/verbs/objects.h"
#include "verbs_shim/verbs/thread_sanitizer.h"

namespace verbatim::verbs {
namespace {

void attach_ring(Cq& cq, std::uint64_t offset, std::uint32_t entries) {
  cq.ring = static_cast<protocol::Cqe*>(shim::arena(offset));
  cq.entries = entries;
  cq.entries_log = 0;
  while ((1u << cq.entries_log) < entries) ++cq.entries_log;
}

// A completion releases the slots of its work queue up to its own.
template <typename Queue>
void advance(Queue& queue, std::uint32_t entry, std::uint32_t wqe) {
  if (queue.stale.any) {
    if (static_cast<std::int32_t>(entry - queue.stale.end) < 0) return;
    queue.stale.any = false;
  }
  const std::uint32_t to = wqe + 1;
  if (to - queue.reclaimed <= queue.producer - queue.reclaimed) queue.reclaimed = to;
}

Srq* find_srq(Context& context, std::uint32_t number) {
  Srq* srq = context.srqs;
  while (srq != nullptr && srq->number != number) srq = srq->next;
  return srq;
}

// `entry`: number of the completion in its CQ. `is_polled`: the program gets the completion.
void reclaim(Cq& cq, std::uint32_t entry, const protocol::Cqe& cqe, bool is_polled) {
  Context* context = context_of(cq.base.context);
  if (context == nullptr) return;
  Qp* qp = find_qp(*context, cqe.qpn);
  if (qp != nullptr && cqe.status != IBV_WC_SUCCESS) [[unlikely]] qp->has_failed = true;
  if (cqe.queue == protocol::CqeQueue::kNone) return;
  if (cqe.queue == protocol::CqeQueue::kSend) {
    if (qp == nullptr) return;
    if (is_polled) order_after_posts(qp->send);
    if (is_polled && cqe.status == IBV_WC_SUCCESS && !qp->send.stale.any) check_sends(*qp, cqe.wqe_counter + 1);
    advance(qp->send, entry, cqe.wqe_counter);
    return;
  }
  Srq* srq = nullptr;
  if (qp != nullptr && public_qp(qp)->srq != nullptr) {
    srq = object<Srq>(public_qp(qp)->srq);
  } else if (cqe.srq_number != 0) {
    srq = find_srq(*context, cqe.srq_number);
  }
  if (srq != nullptr) {
    if (is_polled) order_after_posts(srq->receive);
    end_receive(srq->receive, cqe.wqe_counter, cqe.qpn, is_polled);
    if (srq->receive.reclaimed != srq->receive.producer) ++srq->receive.reclaimed;
  } else if (qp != nullptr) {
    if (is_polled) order_after_posts(qp->receive);
    if (is_polled && cqe.wqe_counter == 0) [[unlikely]] check_first_receive(*qp);
    end_receive(qp->receive, cqe.wqe_counter, cqe.qpn, is_polled);
    advance(qp->receive, entry, cqe.wqe_counter);
  } else if (Wq* wq = find_wq(*context, cqe.qpn); wq != nullptr) {
    if (is_polled) order_after_posts(wq->receive);
    end_receive(wq->receive, cqe.wqe_counter, cqe.qpn, is_polled);
    advance(wq->receive, entry, cqe.wqe_counter);
  }
}

void fill(ibv_wc* out, const protocol::Cqe& cqe) {
  out->wr_id = cqe.wr_id;
  out->status = static_cast<ibv_wc_status>(cqe.status);
  out->opcode = static_cast<ibv_wc_opcode>(cqe.opcode);
  out->vendor_err = cqe.vendor_error;
  out->byte_len = cqe.byte_length;
  out->imm_data = cqe.is_frame != 0 ? 0 : cqe.immediate;
  out->qp_num = cqe.qpn;
  out->src_qp = source_qp(cqe);
  out->wc_flags = cqe.flags;
  out->pkey_index = cqe.pkey_index;
  out->slid = cqe.is_frame != 0 ? 0 : cqe.source_lid;
  out->sl = cqe.service_level;
  out->dlid_path_bits = cqe.dlid_path_bits;
}

Cq* create(ibv_context* handle, std::uint32_t cqe, void* cq_context, ibv_comp_channel* channel,
           std::uint32_t vector, std::uint64_t caller, bool ignores_overrun = false) {
  Context* context = context_of(handle);
  if (context == nullptr || cqe == 0 || cqe > 0x7fffffff) return refuse(refuse_with(EINVAL, "ibv_create_cq: cqe %u", cqe));
  if (vector >= static_cast<std::uint32_t>(handle->num_comp_vectors)) {
    return refuse(refuse_with(EINVAL, "ibv_create_cq: comp_vector %u, the device has %d", vector, handle->num_comp_vectors));
  }
  if (channel != nullptr && object<Channel>(channel) == nullptr) return refuse(EINVAL);
  auto* cq = allocate_object<Cq>();
  if (cq == nullptr) return nullptr;
  protocol::CreateCq command{};
  command.cookie = reinterpret_cast<std::uint64_t>(cq);
  command.cqe = cqe;
  command.channel_fd = channel == nullptr ? -1 : channel->fd;
  command.completion_vector = vector;
  command.ignores_overrun = ignores_overrun ? 1 : 0;
  if (int error = execute(command, context->handle)) {
    release_object(cq);
    return refuse(error);
  }
  attach_ring(*cq, command.ring_offset, command.ring_entries);
  cq->record = static_cast<protocol::CompletionQueueRecord*>(shim::arena(command.record_offset));
  cq->number = command.number;
  cq->record->created_from = caller;
  cq->base.context = handle;
  cq->base.channel = channel;
  cq->base.cq_context = cq_context;
  cq->base.handle = command.handle;
  cq->base.cqe = static_cast<int>(command.cqe);
  if (channel != nullptr) ++channel->refcnt;
  return cq;
}

}  // namespace

namespace {

// The entry with that number, or nullptr if it is not visible yet.
const protocol::Cqe* visible_entry(const Cq& cq, std::uint32_t number) {
  const protocol::Cqe* slot = &cq.ring[number & (cq.entries - 1)];
  const std::uint32_t expected = (number >> cq.entries_log) + 1;
  if (__atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE) != expected) return nullptr;
  return slot->visible_at_ps <= shim::now_ps() ? slot : nullptr;
}

}  // namespace

const protocol::Cqe* take_completion(Cq& cq) {
  const protocol::Cqe* slot = visible_entry(cq, cq.consumer);
  if (slot == nullptr) return nullptr;
  reclaim(cq, cq.consumer++, *slot, true);
  return slot;
}

// Call site of the thread's current poll, from the registers stored at its entry.
std::uint64_t poll_caller() {
  constexpr unsigned kStackRegister = 4;
  if (verbatim_thread_slot == nullptr) return 0;
  std::uint64_t caller;
  std::memcpy(&caller, reinterpret_cast<const void*>(verbatim_thread_slot->poll_registers[kStackRegister]), sizeof caller);
  return caller;
}

StaleCompletions waiting_completions(ibv_cq* handle) {
  auto* cq = object<Cq>(handle);
  if (cq == nullptr) return {};
  std::uint32_t end = cq->consumer;
  while (end - cq->consumer < cq->entries && visible_entry(*cq, end) != nullptr) ++end;
  return {end != cq->consumer, end};
}

void discard_completions(ibv_cq* handle, std::uint32_t qp_number) {
  auto* cq = object<Cq>(handle);
  if (cq == nullptr) return;
  cq->session.wait();
  std::uint32_t end = cq->consumer;
  while (end - cq->consumer < cq->entries && visible_entry(*cq, end) != nullptr) ++end;
  // The remaining entries are moved up, the newest first; their sequence is set for the new slot.
  std::uint32_t to = end;
  for (std::uint32_t from = end; from != cq->consumer;) {
    const protocol::Cqe entry = cq->ring[--from & (cq->entries - 1)];
    if (entry.qpn == qp_number) {
      reclaim(*cq, from, entry, false);
      continue;
    }
    if (--to == from) continue;
    protocol::Cqe& place = cq->ring[to & (cq->entries - 1)];
    place = entry;
    place.sequence = (to >> cq->entries_log) + 1;
  }
  cq->consumer = to;
  publish_consumer(*cq);
}

void publish_consumer(Cq& cq) {
  for (std::uint32_t number = cq.record->consumer.load(std::memory_order_relaxed); number != cq.consumer; ++number) {
    cq.ring[number & (cq.entries - 1)].visible_at_ps = shim::now_ps();
  }
  cq.record->consumer.store(cq.consumer, std::memory_order_release);
}

extern "C" __attribute__((visibility("hidden"), used)) int verbatim_poll_cq(ibv_cq* handle, int count,
                                                                         ibv_wc* completions) {
  auto* cq = object<Cq>(handle);
  if (cq == nullptr) {
    errno = EINVAL;
    return -1;
  }
  const UseScope scope(cq->single, "CQ", cq->number, poll_caller());
  check_process(handle->context, "ibv_poll_cq", "CQ", cq->number, poll_caller());
  enter_poll();
  shim::CallReport report(protocol::ReportedCallKind::kPoll, cq->number, count, reinterpret_cast<std::int64_t>(completions));
  const protocol::Cqe* next = &cq->ring[cq->consumer & (cq->entries - 1)];
  shim::spend_on_poll(shim::costs().poll_empty_ps, handle_of(handle->context), cq->number, shim::arena_offset(next),
                      (cq->consumer >> cq->entries_log) + 1);
  cq->session.wait();
  int found = 0;
  std::uint64_t failed = 0;  // bit i: completion i, of the first 64
  while (found < count) {
    const protocol::Cqe* cqe = take_completion(*cq);
    if (cqe == nullptr) break;
    if (cqe->status != IBV_WC_SUCCESS && found < 64) [[unlikely]] failed |= std::uint64_t{1} << found;
    fill(&completions[found++], *cqe);
  }
  if (found > 0) {
    shim::spend(found * shim::costs().poll_cqe_ps);
    publish_consumer(*cq);
    if (failed != 0) [[unlikely]] check_failed(completions, found, failed, poll_caller());
    shim::clock_reads_follow(static_cast<unsigned>(found));
  }
  return report.ended(found);
}

__attribute__((naked)) int poll_cq(ibv_cq*, int, ibv_wc*) { POLL_ENTRY(poll_cq, "verbatim_poll_cq"); }

int req_notify_cq(ibv_cq* handle, int solicited_only) {
  auto* cq = object<Cq>(handle);
  if (cq == nullptr) return EINVAL;
  VERBATIM_ENTER_VERB();
  shim::CallReport report(protocol::ReportedCallKind::kArm, cq->number, solicited_only);
  if (reports_places()) [[unlikely]]
    report_place(protocol::PlacedCall::kArm, handle_of(handle->context), cq->number, 0);
  check_process(handle->context, "ibv_req_notify_cq", "CQ", cq->number, address_of(__builtin_return_address(0)));
  cq->record->armed_by = own_virtual_tid();
  cq->record->armed_from = address_of(__builtin_return_address(0));
  shim::ring_doorbell(shim::costs().arm_cq_ps, protocol::DoorbellKind::kCompletionQueueArm,
                      handle_of(handle->context), cq->number,
                      solicited_only != 0 ? protocol::kArmSolicited : protocol::kArmAny);
  return report.ended(0);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  constexpr std::uint64_t kSupported = std::uint64_t{IBV_WC_STANDARD_FLAGS} |
                                       std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
                                       std::uint64_t{IBV_WC_EX_WITH_CVLAN} | std::uint64_t{IBV_WC_EX_WITH_FLOW_TAG} |
                                       std::uint64_t{IBV_WC_EX_WITH_TM_INFO} |
                                       std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
  if ((attributes->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) != 0) {
    return refuse(refuse_with(EINVAL, "ibv_create_cq_ex: unknown bits in comp_mask %#x", attributes->comp_mask));
  }
  if ((attributes->wc_flags & ~kSupported) != 0) {
    return refuse(refuse_with(EOPNOTSUPP, "ibv_create_cq_ex: the device lacks %#llx of wc_flags %#llx",
                              static_cast<unsigned long long>(attributes->wc_flags & ~kSupported),
                              static_cast<unsigned long long>(attributes->wc_flags)));
  }
  const bool in_domain = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  auto* parent = in_domain ? object<Pd>(attributes->parent_domain) : nullptr;
  if (in_domain && (parent == nullptr || parent->protection_domain == nullptr)) {
    return refuse(refuse_with(EINVAL, "ibv_create_cq_ex: parent_domain is no parent domain"));
  }
  // A single-threaded CQ is a promise of the program.
  const unsigned flags = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attributes->flags : 0;
  constexpr unsigned kIgnoresOverrun = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  if ((flags & ~(IBV_CREATE_CQ_ATTR_SINGLE_THREADED | kIgnoresOverrun)) != 0) {
    return refuse(refuse_with(EOPNOTSUPP, "ibv_create_cq_ex: unknown flags %#x", flags));
  }
  Cq* cq =
      create(context, attributes->cqe, attributes->cq_context, attributes->channel, attributes->comp_vector,
             address_of(__builtin_return_address(0)), (flags & kIgnoresOverrun) != 0);
  if (cq == nullptr) return nullptr;
  if (in_domain) {
    const std::uint64_t ring_bytes = std::uint64_t{cq->entries} * sizeof(protocol::Cqe);
    if (!allocate_in_domain(attributes->parent_domain, ResourceType::kCq, ring_bytes, &cq->domain_memory)) {
      ibv_destroy_cq(public_cq(cq));
      return refuse(refuse_with(ENOMEM, "ibv_create_cq_ex: the allocator of the parent domain gave no memory"));
    }
    cq->parent_domain = attributes->parent_domain;
    cq->single.is_promised = parent->td != nullptr;
    enter_domain(cq->parent_domain);
  }
  if ((flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0) cq->single.is_promised = true;
  fill_readers(&cq->base);
  // Queried before the first completion is read, because the read functions must not call the adapter.
  core_clock_khz(*context_of(context));
  return &cq->base;
}

int modify_cq(ibv_cq* handle, ibv_modify_cq_attr* attributes) {
  if (object<Cq>(handle) == nullptr) return EINVAL;
  if ((attributes->attr_mask & ~static_cast<std::uint32_t>(IBV_CQ_ATTR_MODERATE)) != 0) {
    return refuse_with(EINVAL, "ibv_modify_cq: unknown bits in attr_mask %#x", attributes->attr_mask);
  }
  if (attributes->attr_mask == 0) return 0;
  protocol::ModifyCq command{};
  command.handle = handle->handle;
  command.count = attributes->moderate.cq_count;
  command.period_us = attributes->moderate.cq_period;
  return execute(command, handle_of(handle->context));
}

}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Cq;

extern "C" ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                 int vector) {
  if (cqe <= 0 || vector < 0) {
    return verbs::refuse(verbs::refuse_with(EINVAL, "ibv_create_cq: cqe %d, comp_vector %d", cqe, vector));
  }
  Cq* cq = verbs::create(context, static_cast<std::uint32_t>(cqe), cq_context, channel,
                         static_cast<std::uint32_t>(vector), verbs::address_of(__builtin_return_address(0)));
  return cq == nullptr ? nullptr : verbs::public_cq(cq);
}

extern "C" int ibv_resize_cq(ibv_cq* handle, int cqe) {
  auto* cq = verbs::object<Cq>(handle);
  if (cq == nullptr) return EINVAL;
  if (cqe <= 0) return verbs::refuse_with(EINVAL, "ibv_resize_cq: cqe %d", cqe);
  cq->session.acquire();
  protocol::ResizeCq command{};
  command.handle = handle->handle;
  command.cqe = static_cast<std::uint32_t>(cqe);
  int error = verbs::execute(command, verbs::handle_of(handle->context));
  if (error == 0) {
    verbs::attach_ring(*cq, command.ring_offset, command.ring_entries);
    handle->cqe = static_cast<int>(command.cqe);
  }
  cq->session.release();
  return error;
}

extern "C" int ibv_destroy_cq(ibv_cq* handle) {
  auto* cq = verbs::object<Cq>(handle);
  if (cq == nullptr) return EINVAL;
  ibv_comp_channel* channel = handle->channel;
  int error = verbs::destroy(protocol::CommandType::kDestroyCq, handle->context, handle->handle);
  if (error != 0) return error;
  // Counted here instead of by the adapter: only events that the program has read need an acknowledgement.
  protocol::VerbWait wait = VERBATIM_WAIT_IN(protocol::WaitingVerb::kDestroyCq, cq->number, cq->event_taker);
  wait.is_completion = 1;
  verbs::wait_for_acknowledgements(&handle->mutex, &handle->cond, &handle->comp_events_completed, &cq->completion_events, wait);
  wait.is_completion = 0;
  verbs::wait_for_acknowledgements(&handle->mutex, &handle->cond, &handle->async_events_completed, &cq->async_events, wait);
  if (channel != nullptr) --channel->refcnt;
  verbs::release_in_domain(cq->parent_domain, verbs::ResourceType::kCq, &cq->domain_memory);
  verbs::leave_domain(cq->parent_domain);
  verbs::release_object(cq);
  return 0;
}
