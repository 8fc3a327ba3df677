// Commands on shared receive queues.
#include <bit>
#include <cerrno>
#include <memory>

#include "sim/hca/commands/hca_impl.h"

namespace verbatim::hca {

namespace {

constexpr std::uint32_t kBasicType = 0, kXrcType = 1, kTagMatchingType = 2;  // ibv_srq_type
enum SrqAttributeMask : std::uint32_t { kMaxWr = 1, kLimit = 2 };

}  // namespace

SharedReceiveQueue* Hca::Impl::find_srq(Context& context, std::uint32_t handle) {
  const auto it = context.objects.srqs.find(handle);
  return it == context.objects.srqs.end() ? nullptr : it->second.get();
}

std::uint32_t Hca::Impl::operation_stride() const {
  const std::size_t bytes = sizeof(protocol::TagOperationWqe) + adapter.profile.max_tag_sge * sizeof(protocol::Sge);
  return static_cast<std::uint32_t>((bytes + 63) & ~std::size_t{63});
}

int Hca::Impl::check_tags(const protocol::CreateSrq& command, bool has_tags) const {
  if (!has_tags) return 0;
  const HcaProfile& profile = adapter.profile;
  if (profile.max_num_tags == 0) return refuse(EOPNOTSUPP, "the device has no tag matching");
  if (command.max_num_tags == 0 || command.max_num_tags > profile.max_num_tags || command.max_ops == 0 ||
      command.max_ops > profile.max_tag_operations) {
    return refuse(EINVAL, "max_num_tags ", command.max_num_tags, ", max_ops ", command.max_ops, ": the device has 1 to ",
                  profile.max_num_tags, " tags and 1 to ", profile.max_tag_operations, " operations");
  }
  return 0;
}

int Hca::Impl::create_srq(Context& context, protocol::CreateSrq& command) {
  const HcaProfile& profile = adapter.profile;
  const auto pd = context.objects.pds.find(command.pd);
  if (pd == context.objects.pds.end()) return no_object("protection domain", command.pd);
  const bool is_xrc = command.srq_type == kXrcType;
  const bool has_tags = command.srq_type == kTagMatchingType;
  if (!is_xrc && !has_tags && command.srq_type != kBasicType) {
    return refuse(EOPNOTSUPP, "there are no shared receive queues of type ", command.srq_type);
  }
  XrcOpening* xrcd = is_xrc ? find_xrcd(context, command.xrcd) : nullptr;
  const bool has_cq = is_xrc || has_tags;
  CompletionQueue* cq = has_cq ? find_cq(context, command.cq) : nullptr;
  if (is_xrc && xrcd == nullptr) return no_object("XRC domain", command.xrcd);
  if (has_cq && cq == nullptr) return no_object("completion queue", command.cq);
  if (command.max_wr == 0 || command.max_wr > profile.max_srq_wr || command.max_sge > profile.max_srq_sge) {
    return refuse(EINVAL, "max_wr ", command.max_wr, ", max_sge ", command.max_sge, ": the device has max_srq_wr ",
                  profile.max_srq_wr, " and max_srq_sge ", profile.max_srq_sge, ", and max_wr is at least 1");
  }
  if (srq_count_ >= profile.max_srq) return refuse(ENOMEM, "all of max_srq ", profile.max_srq, " are in use");
  const std::uint32_t entries = std::bit_ceil(command.max_wr);
  const std::uint32_t stride = recv_stride(command.max_sge);
  const std::uint64_t ring_bytes = (std::uint64_t{entries} * stride + 63) & ~std::uint64_t{63};
  if (int error = check_tags(command, has_tags)) return error;
  // One block: receives, operations on the list of tags, record.
  const std::uint32_t operations = has_tags ? std::bit_ceil(command.max_ops) : 0;
  const std::uint64_t operation_bytes = std::uint64_t{operations} * operation_stride();
  SharedReceiveQueueParams params;
  params.block_bytes = ring_bytes + operation_bytes + sizeof(protocol::SharedReceiveQueueRecord);
  const auto block = context.arena->allocate(params.block_bytes);
  if (!block) return no_room();
  params.block_offset = *block;
  params.handle = take_handle(context);
  params.number = take_srq_number();
  params.cookie = command.cookie;
  params.pd = command.pd;
  // The granted number is the requested one, or the one that the ring has room for.
  const bool is_deep = grants_full_ring(freedom::kQueueDepth);
  params.max_wr = is_deep ? entries : command.max_wr;
  params.max_sge = !is_deep ? command.max_sge : std::min((stride - static_cast<std::uint32_t>(sizeof(protocol::RecvWqe))) /
                                static_cast<std::uint32_t>(sizeof(protocol::Sge)),
                            profile.max_srq_sge);
  if (is_xrc) {
    params.xrcd = command.xrcd;
    params.domain = xrcd->domain;
    ++xrcd->users;
  }
  if (has_cq) {
    params.cq = cq->self;
    ++cq->users;
  }
  const WorkQueue ring(context.arena->at(*block, std::uint64_t{entries} * stride), entries, stride);
  const std::uint64_t record_offset = *block + ring_bytes + operation_bytes;
  auto& record = *reinterpret_cast<protocol::SharedReceiveQueueRecord*>(
      context.arena->at(record_offset, sizeof(protocol::SharedReceiveQueueRecord)).data());
  const Ref<SharedReceiveQueue> srq = srq_pool_.create(adapter, context, params, ring, record);
  if (has_tags) {
    const WorkQueue tag_ring(context.arena->at(*block + ring_bytes, operation_bytes), operations, operation_stride());
    srq.get()->tags = std::make_unique<TagMatching>(adapter, *srq.get(), tag_ring, command.max_num_tags, record);
  }
  ++srq_count_;
  ++pd->second.users;
  context.objects.srqs[params.handle] = srq;
  adapter.srqs[params.number] = srq;
  command.handle = params.handle;
  command.number = params.number;
  command.recv_entries = entries;
  command.max_wr = granted_entries(*srq.get());
  command.max_sge = params.max_sge;
  command.srq_limit = 0;
  command.recv_stride = stride;
  command.recv_offset = context.program.arena_offset + *block;
  command.operation_entries = command.max_ops = operations;
  command.operation_stride = has_tags ? operation_stride() : 0;
  command.operation_offset = context.program.arena_offset + *block + ring_bytes;
  command.record_offset = context.program.arena_offset + record_offset;
  return 0;
}

std::uint32_t Hca::Impl::take_srq_number() {
  const auto choice = static_cast<NumberChoice>(adapter.choices.choose(freedom::kSharedQueueNumber, adapter.id, kNumberChoices));
  return srq_numbers_.take([this](std::uint32_t number) { return adapter.srqs.contains(number); }, choice);
}

std::uint32_t Hca::Impl::granted_entries(const SharedReceiveQueue& srq) const {
  return std::min(srq.params.max_wr, adapter.profile.max_srq_wr);
}

int Hca::Impl::modify_srq(Context& context, protocol::SrqAttributes& command) {
  SharedReceiveQueue* srq = find_srq(context, command.handle);
  if (srq == nullptr) return no_object("shared receive queue", command.handle);
  if ((command.mask & ~(kMaxWr | kLimit)) != 0) return refuse(EINVAL, "unknown bits in srq_attr_mask ", Hex{command.mask});
  if ((command.mask & kMaxWr) != 0) return refuse(EOPNOTSUPP, "the device does not resize shared receive queues");
  if ((command.mask & kLimit) == 0) return 0;
  if (const std::uint32_t granted = granted_entries(*srq); command.srq_limit > granted) {
    return refuse(EINVAL, "srq_limit ", command.srq_limit, ": the queue has ", granted, " entries");
  }
  srq->receives.set_limit(command.srq_limit);
  return 0;
}

int Hca::Impl::query_srq(Context& context, protocol::SrqAttributes& command) {
  const SharedReceiveQueue* srq = find_srq(context, command.handle);
  if (srq == nullptr) return no_object("shared receive queue", command.handle);
  command.max_wr = granted_entries(*srq);
  command.max_sge = srq->params.max_sge;
  command.srq_limit = srq->receives.limit();
  return 0;
}

void Hca::Impl::remove_srq(SharedReceiveQueue& srq) {
  Context& context = srq.context;
  const SharedReceiveQueueParams params = srq.params;
  --context.objects.pds.at(params.pd).users;
  if (params.domain != 0) --context.objects.xrcds.at(params.xrcd).users;
  if (CompletionQueue* cq = params.cq.get(); cq != nullptr) --cq->users;
  context.arena->release(params.block_offset, params.block_bytes);
  context.objects.srqs.erase(params.handle);
  adapter.srqs.erase(params.number);
  srq_numbers_.give_back(params.number);
  --srq_count_;
  srq_pool_.destroy(srq.self);
}

int Hca::Impl::destroy_srq(Context& context, protocol::DestroyObject& command) {
  SharedReceiveQueue* srq = find_srq(context, command.handle);
  if (srq == nullptr) return no_object_to_destroy("shared receive queue", command.handle);
  if (srq->users > 0) return refuse(EBUSY, srq->users, " queue pairs take their receives from it");
  command.events_reported = command.async_events_reported = srq->async_events_reported;
  context.program.listener->on_queue_destroyed(srq->params.cookie);
  remove_srq(*srq);
  return 0;
}

}  // namespace verbatim::hca
