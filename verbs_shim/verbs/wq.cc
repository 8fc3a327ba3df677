// Receive work queues, and indirection tables of them for receive-side scaling.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

void attach_queue(Wq& wq, const protocol::CreateWq& made) {
  wq.record = static_cast<protocol::QueuePairRecord*>(shim::arena(made.record_offset));
  wq.receive.ring = static_cast<std::byte*>(shim::arena(made.recv_offset));
  wq.receive.entries = made.recv_entries;
  wq.receive.stride = made.recv_stride;
  wq.receive.max_wr = made.max_wr < made.recv_entries ? made.max_wr : made.recv_entries;
  wq.receive.max_sge = made.max_sge;
}

}  // namespace

Wq* find_wq(Context& context, std::uint32_t number) {
  Wq* wq = context.wqs;
  while (wq != nullptr && wq->base.wq_num != number) wq = wq->next;
  return wq;
}

ibv_wq* create_wq(ibv_context* handle, ibv_wq_init_attr* attributes) {
  Context* context = context_of(handle);
  if (context == nullptr || object<Pd>(attributes->pd) == nullptr || object<Cq>(attributes->cq) == nullptr) {
    return refuse(EINVAL);
  }
  if ((attributes->comp_mask & ~static_cast<std::uint32_t>(IBV_WQ_INIT_ATTR_FLAGS)) != 0) {
    return refuse(refuse_with(EINVAL, "ibv_create_wq: unknown bits in comp_mask %#x", attributes->comp_mask));
  }
  auto* wq = allocate_object<Wq>();
  if (wq == nullptr) return nullptr;
  protocol::CreateWq command{};
  command.cookie = reinterpret_cast<std::uint64_t>(wq);
  command.pd = attributes->pd->handle;
  command.cq = attributes->cq->handle;
  command.type = attributes->wq_type;
  command.flags = (attributes->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0 ? attributes->create_flags : 0;
  command.max_wr = attributes->max_wr;
  command.max_sge = attributes->max_sge;
  if (const int error = execute(command, context->handle); error != 0) {
    release_object(wq);
    return refuse(error);
  }
  const std::uint64_t ring_bytes = std::uint64_t{command.recv_entries} * command.recv_stride;
  if (!allocate_in_domain(attributes->pd, ResourceType::kRwq, ring_bytes, &wq->domain_memory)) {
    destroy(protocol::CommandType::kDestroyWq, handle, command.handle);
    release_object(wq);
    return refuse(refuse_with(ENOMEM, "ibv_create_wq: the allocator of the parent domain gave no memory"));
  }
  attach_queue(*wq, command);
  wq->receive.notes = allocate_notes(wq->receive.entries);
  wq->record->receive_notes = notes_for_adapter(wq->receive.notes);
  wq->receive.stale = waiting_completions(attributes->cq);
  wq->base.context = handle;
  wq->base.wq_context = attributes->wq_context;
  wq->base.pd = attributes->pd;
  enter_domain(attributes->pd);
  wq->base.cq = attributes->cq;
  wq->base.wq_num = command.number;
  wq->base.handle = command.handle;
  wq->base.state = IBV_WQS_RESET;
  wq->base.wq_type = attributes->wq_type;
  wq->base.post_recv = post_wq_recv;
  attributes->max_wr = command.max_wr;
  attributes->max_sge = command.max_sge;
  wq->next = context->wqs;
  context->wqs = wq;
  return &wq->base;
}

int modify_wq(ibv_wq* handle, ibv_wq_attr* attributes) {
  auto* wq = object<Wq>(handle);
  if (wq == nullptr) return EINVAL;
  protocol::ModifyWq command{};
  command.handle = handle->handle;
  command.mask = attributes->attr_mask;
  command.state = attributes->wq_state;
  command.current_state = attributes->curr_wq_state;
  command.flags = attributes->flags;
  command.flags_mask = attributes->flags_mask;
  if (const int error = execute(command, handle_of(handle->context)); error != 0) return error;
  if ((attributes->attr_mask & IBV_WQ_ATTR_STATE) == 0) return 0;
  handle->state = attributes->wq_state;
  if (handle->state == IBV_WQS_RESET) {
    discard_completions(handle->cq, handle->wq_num);
    wq->receive.producer = wq->receive.reclaimed = 0;
    wq->receive.stale = {};
  }
  return 0;
}

int destroy_wq(ibv_wq* handle) {
  auto* wq = object<Wq>(handle);
  if (wq == nullptr) return EINVAL;
  if (const int error = destroy(protocol::CommandType::kDestroyWq, handle->context, handle->handle)) return error;
  discard_completions(handle->cq, handle->wq_num);
  if (Context* context = context_of(handle->context)) {
    Wq** link = &context->wqs;
    while (*link != nullptr && *link != wq) link = &(*link)->next;
    if (*link != nullptr) *link = wq->next;
  }
  wait_for_acknowledgements(&handle->mutex, &handle->cond, &handle->events_completed, &wq->async_events,
                            VERBATIM_WAIT_IN(protocol::WaitingVerb::kDestroyWq, handle->wq_num, wq->event_taker));
  release_in_domain(handle->pd, ResourceType::kRwq, &wq->domain_memory);
  leave_domain(handle->pd);
  shim::release(wq->receive.notes);
  release_object(wq);
  return 0;
}

ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* handle, ibv_rwq_ind_table_init_attr* attributes) {
  Context* context = context_of(handle);
  if (context == nullptr || attributes->comp_mask != 0) return refuse(EINVAL);
  constexpr std::uint32_t kMostLog = 31;
  if (attributes->log_ind_tbl_size > kMostLog ||
      1u << attributes->log_ind_tbl_size > protocol::CreateRwqTable::kMostQueues) {
    return refuse(refuse_with(EINVAL, "ibv_create_rwq_ind_table: log_ind_tbl_size %u", attributes->log_ind_tbl_size));
  }
  protocol::CreateRwqTable command{};
  command.log_size = attributes->log_ind_tbl_size;
  for (std::uint32_t i = 0; i < 1u << command.log_size; ++i) {
    if (object<Wq>(attributes->ind_tbl[i]) == nullptr) return refuse(EINVAL);
    command.queues[i] = attributes->ind_tbl[i]->handle;
  }
  auto* table = allocate_object<RwqTable>();
  if (table == nullptr) return nullptr;
  if (const int error = execute(command, context->handle); error != 0) {
    release_object(table);
    return refuse(error);
  }
  table->base.context = handle;
  table->base.ind_tbl_handle = static_cast<int>(command.handle);
  table->base.ind_tbl_num = static_cast<int>(command.number);
  return &table->base;
}

int destroy_rwq_ind_table(ibv_rwq_ind_table* handle) {
  auto* table = object<RwqTable>(handle);
  if (table == nullptr) return EINVAL;
  const auto number = static_cast<std::uint32_t>(handle->ind_tbl_handle);
  const int error = destroy(protocol::CommandType::kDestroyRwqTable, handle->context, number);
  if (error == 0) release_object(table);
  return error;
}

}  // namespace verbatim::verbs
