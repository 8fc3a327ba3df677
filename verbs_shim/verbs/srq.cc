// Shared receive queues.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

Srq* create(ibv_context* handle, ibv_srq_init_attr_ex* attributes, ibv_srq_type type) {
  Context* context = context_of(handle);
  if (context == nullptr || object<Pd>(attributes->pd) == nullptr) return refuse(EINVAL);
  auto* srq = allocate_object<Srq>();
  if (srq == nullptr) return nullptr;
  protocol::CreateSrq command{};
  command.cookie = reinterpret_cast<std::uint64_t>(srq);
  command.pd = attributes->pd->handle;
  command.srq_type = type;
  if (type == IBV_SRQT_XRC) {
    command.xrcd = reinterpret_cast<Xrcd*>(attributes->xrcd)->handle;
    command.cq = attributes->cq->handle;
  } else if (type == IBV_SRQT_TM) {
    command.cq = attributes->cq->handle;
    command.max_num_tags = attributes->tm_cap.max_num_tags;
    command.max_ops = attributes->tm_cap.max_ops;
  }
  command.max_wr = attributes->attr.max_wr;
  command.max_sge = attributes->attr.max_sge;
  command.srq_limit = attributes->attr.srq_limit;
  if (int error = execute(command, context->handle)) {
    release_object(srq);
    return refuse(error);
  }
  const std::uint64_t ring_bytes = std::uint64_t{command.recv_entries} * command.recv_stride +
                                   std::uint64_t{command.operation_entries} * command.operation_stride;
  if (!allocate_in_domain(attributes->pd, ResourceType::kSrq, ring_bytes, &srq->domain_memory)) {
    destroy(protocol::CommandType::kDestroySrq, handle, command.handle);
    release_object(srq);
    return refuse(refuse_with(ENOMEM, "ibv_create_srq: the allocator of the parent domain gave no memory"));
  }
  srq->base.context = handle;
  srq->base.srq_context = attributes->srq_context;
  srq->base.pd = attributes->pd;
  enter_domain(attributes->pd);
  srq->base.handle = command.handle;
  srq->number = command.number;
  srq->record = static_cast<protocol::SharedReceiveQueueRecord*>(shim::arena(command.record_offset));
  srq->receive.ring = static_cast<std::byte*>(shim::arena(command.recv_offset));
  srq->receive.entries = command.recv_entries;
  srq->receive.stride = command.recv_stride;
  srq->receive.max_wr = command.max_wr < command.recv_entries ? command.max_wr : command.recv_entries;
  srq->receive.max_sge = command.max_sge;
  srq->receive.notes = allocate_notes(command.recv_entries);
  srq->record->receive_notes = notes_for_adapter(srq->receive.notes);
  if (type == IBV_SRQT_TM) {
    srq->tags.ring = static_cast<std::byte*>(shim::arena(command.operation_offset));
    srq->tags.entries = command.operation_entries;
    srq->tags.stride = command.operation_stride;
    srq->tags.max_num_tags = command.max_num_tags;
    attributes->tm_cap.max_ops = command.max_ops;
  }
  attributes->attr.max_wr = command.max_wr;
  attributes->attr.max_sge = command.max_sge;
  srq->next = context->srqs;
  context->srqs = srq;
  return srq;
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_RESERVED - 1;
  std::uint32_t mask = attributes->comp_mask;
  if ((mask & ~kKnown) != 0 || (mask & IBV_SRQ_INIT_ATTR_PD) == 0) {
    return refuse(refuse_with(EINVAL, "ibv_create_srq_ex: comp_mask %#x has unknown bits, or lacks IBV_SRQ_INIT_ATTR_PD", mask));
  }
  ibv_srq_type type = (mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? attributes->srq_type : IBV_SRQT_BASIC;
  if (type == IBV_SRQT_TM) {
    constexpr std::uint32_t kNeeded = IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
    if ((mask & kNeeded) != kNeeded || object<Cq>(attributes->cq) == nullptr) {
      return refuse(refuse_with(EINVAL, "ibv_create_srq_ex: an SRQ of type TM needs a CQ and tm_cap, in comp_mask, too"));
    }
  } else if ((mask & IBV_SRQ_INIT_ATTR_TM) != 0) {
    return refuse(refuse_with(EINVAL, "ibv_create_srq_ex: tm_cap is of an SRQ of type TM alone"));
  }
  if (type == IBV_SRQT_XRC) {
    if ((mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || (mask & IBV_SRQ_INIT_ATTR_CQ) == 0 ||
        object<Xrcd>(attributes->xrcd) == nullptr || object<Cq>(attributes->cq) == nullptr) {
      return refuse(refuse_with(EINVAL, "ibv_create_srq_ex: an SRQ of type XRC needs an XRC domain and a CQ, in comp_mask, too"));
    }
  } else if (type != IBV_SRQT_BASIC && type != IBV_SRQT_TM) {
    return refuse(refuse_with(EINVAL, "ibv_create_srq_ex: there is no SRQ type %d", static_cast<int>(type)));
  }
  Srq* srq = create(context, attributes, type);
  return srq == nullptr ? nullptr : &srq->base;
}

int get_srq_num(ibv_srq* handle, std::uint32_t* number) {
  auto* srq = object<Srq>(handle);
  if (srq == nullptr) return EINVAL;
  *number = srq->number;
  return 0;
}

}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Srq;

extern "C" ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  ibv_srq_init_attr_ex extended{};
  extended.srq_context = attributes->srq_context;
  extended.attr = attributes->attr;
  extended.pd = pd;
  Srq* srq = verbs::create(pd->context, &extended, IBV_SRQT_BASIC);
  if (srq == nullptr) return nullptr;
  attributes->attr = extended.attr;
  return &srq->base;
}

extern "C" int ibv_modify_srq(ibv_srq* handle, ibv_srq_attr* attributes, int mask) {
  auto* srq = verbs::object<Srq>(handle);
  if (srq == nullptr) return EINVAL;
  // The ring's size is fixed at creation; only limits change.
  if ((mask & IBV_SRQ_MAX_WR) != 0) return verbs::refuse_with(EOPNOTSUPP, "ibv_modify_srq: the device does not resize SRQs");
  protocol::SrqAttributes command{};
  command.handle = handle->handle;
  command.mask = static_cast<std::uint32_t>(mask);
  command.srq_limit = attributes->srq_limit;
  return verbs::execute(command, verbs::handle_of(handle->context), protocol::CommandType::kModifySrq);
}

extern "C" int ibv_query_srq(ibv_srq* handle, ibv_srq_attr* attributes) {
  auto* srq = verbs::object<Srq>(handle);
  if (srq == nullptr) return EINVAL;
  protocol::SrqAttributes command{};
  command.handle = handle->handle;
  if (int error =
          verbs::execute(command, verbs::handle_of(handle->context), protocol::CommandType::kQuerySrq)) {
    return error;
  }
  attributes->max_wr = command.max_wr;
  attributes->max_sge = command.max_sge;
  attributes->srq_limit = command.srq_limit;
  return 0;
}

extern "C" int ibv_destroy_srq(ibv_srq* handle) {
  auto* srq = verbs::object<Srq>(handle);
  if (srq == nullptr) return EINVAL;
  if (int error = verbs::destroy(protocol::CommandType::kDestroySrq, handle->context, handle->handle))
    return error;
  if (auto* context = verbs::context_of(handle->context)) {
    Srq** link = &context->srqs;
    while (*link != nullptr && *link != srq) link = &(*link)->next;
    if (*link != nullptr) *link = srq->next;
  }
  verbs::wait_for_acknowledgements(&handle->mutex, &handle->cond, &handle->events_completed, &srq->async_events,
                                   VERBATIM_WAIT_IN(protocol::WaitingVerb::kDestroySrq, srq->number, srq->event_taker));
  verbs::release_in_domain(handle->pd, verbs::ResourceType::kSrq, &srq->domain_memory);
  verbs::leave_domain(handle->pd);
  shim::release(srq->receive.notes);
  verbs::release_object(srq);
  return 0;
}
