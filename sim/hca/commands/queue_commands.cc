// Commands on completion queues and queue pairs. Queues are granted as many entries as their rings can hold:
// counts are rounded up to powers of two, entries to whole 64-byte (send) and 16-byte (receive) units.
#include <algorithm>
#include <bit>
#include <cerrno>

#include "sim/hca/commands/hca_impl.h"
#include "sim/hca/datapath/memory_window.h"

namespace verbatim::hca {

using ib::QpType;

namespace {

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}
constexpr std::uint32_t kSgeBytes = sizeof(protocol::Sge);

// ibv_qp_create_flags
enum QpCreateFlag : std::uint32_t {
  kBlockSelfMulticast = 1 << 1,
  kCreateScatterFrameCheck = 1 << 8,
  kCreateStripVlan = 1 << 9,
  kCreatePadWrites = 1 << 11,
};

std::uint32_t create_flags_of(QpType type) {
  if (type == QpType::kUd) return kBlockSelfMulticast;
  if (type != QpType::kRawPacket) return 0;
  return kBlockSelfMulticast | kCreateScatterFrameCheck | kCreateStripVlan | kCreatePadWrites;
}

std::uint32_t frame_options_of(std::uint32_t create_flags) {
  return ((create_flags & kCreateScatterFrameCheck) != 0 ? kScatterFrameCheck : 0u) |
         ((create_flags & kCreateStripVlan) != 0 ? kStripVlan : 0u) |
         ((create_flags & kCreatePadWrites) != 0 ? kPadWrites : 0u);
}

bool is_type(std::uint32_t type) {
  switch (static_cast<QpType>(type)) {
    case QpType::kRc:
    case QpType::kUc:
    case QpType::kUd:
    case QpType::kRawPacket:
    case QpType::kXrcSend:
    case QpType::kXrcReceive:
      return true;
  }
  return false;
}

}  // namespace

std::uint32_t Hca::Impl::send_stride(const protocol::QpCapabilities& capabilities) {
  return send_entry_bytes(std::max(capabilities.max_send_sge * kSgeBytes, capabilities.max_inline_data));
}

std::uint32_t Hca::Impl::recv_stride(std::uint32_t max_sge) {
  return std::bit_ceil(static_cast<std::uint32_t>(sizeof(protocol::RecvWqe)) +
                       std::max(max_sge, 1u) * kSgeBytes);
}

QueuePair* Hca::Impl::find_qp(Context& context, std::uint32_t handle) {
  const auto it = context.objects.qps.find(handle);
  return it == context.objects.qps.end() ? nullptr : it->second.get();
}

CompletionQueue* Hca::Impl::find_cq(Context& context, std::uint32_t handle) {
  const auto it = context.objects.cqs.find(handle);
  return it == context.objects.cqs.end() ? nullptr : it->second.get();
}

int Hca::Impl::create_cq(Context& context, protocol::CreateCq& command) {
  if (command.cqe == 0 || command.cqe > adapter.profile.max_cqe) return refuse_entries(command.cqe);
  if (command.ignores_overrun > 1) return refuse(EINVAL, "unknown flags");
  if (cqs_.size() >= adapter.profile.max_cq) return refuse(ENOMEM, "all of max_cq ", adapter.profile.max_cq, " are in use");
  CompletionQueueParams params;
  params.entries = std::bit_ceil(command.cqe);
  const std::uint64_t ring_bytes = std::uint64_t{params.entries} * sizeof(protocol::Cqe);
  const auto ring = context.arena->allocate(ring_bytes);
  if (!ring) return no_room();
  const auto record = context.arena->allocate(sizeof(protocol::CompletionQueueRecord));
  if (!record) {
    context.arena->release(*ring, ring_bytes);
    return no_room();
  }
  params.handle = take_handle(context);
  params.number = cq_numbers_.take([this](std::uint32_t number) { return cqs_.contains(number); });
  params.cookie = command.cookie;
  params.has_channel = command.channel_fd >= 0;
  params.channel = command.channel;
  params.ignores_overrun = command.ignores_overrun != 0;
  params.depth = grants_full_ring(freedom::kQueueDepth) ? params.entries : command.cqe;
  params.ring_offset = *ring;
  params.record_offset = *record;
  const Ref<CompletionQueue> cq = cq_pool_.create(adapter, context, params);
  context.objects.cqs[params.handle] = cq;
  cqs_[params.number] = cq;
  command.cqe = std::min(params.depth, adapter.profile.max_cqe);
  command.handle = params.handle;
  command.number = params.number;
  command.ring_offset = context.program.arena_offset + params.ring_offset;
  command.record_offset = context.program.arena_offset + params.record_offset;
  command.ring_entries = params.entries;
  return 0;
}

int Hca::Impl::resize_cq(Context& context, protocol::ResizeCq& command) {
  CompletionQueue* cq = find_cq(context, command.handle);
  if (cq == nullptr) return no_object("completion queue", command.handle);
  if (command.cqe == 0 || command.cqe > adapter.profile.max_cqe) return refuse_entries(command.cqe);
  adapter.completions.settle(*cq);
  const std::uint32_t entries = std::bit_ceil(command.cqe);
  const std::uint64_t old_offset = cq->params().ring_offset;
  const std::uint64_t old_bytes = std::uint64_t{cq->params().entries} * sizeof(protocol::Cqe);
  const std::uint64_t ring_bytes = std::uint64_t{entries} * sizeof(protocol::Cqe);
  Arena& arena = *cq->context.arena;
  const auto ring = arena.allocate(ring_bytes);
  if (!ring) return no_room();
  const std::uint32_t depth = grants_full_ring(freedom::kQueueDepth) ? entries : command.cqe;
  if (!cq->move_to(*ring, entries, depth)) {
    arena.release(*ring, ring_bytes);
    return refuse(EINVAL, "more completions than ", depth, " have not been polled yet");
  }
  arena.release(old_offset, old_bytes);
  command.cqe = std::min(depth, adapter.profile.max_cqe);
  command.ring_entries = entries;
  command.ring_offset = cq->context.program.arena_offset + *ring;
  return 0;
}

int Hca::Impl::modify_cq(Context& context, protocol::ModifyCq& command) {
  CompletionQueue* cq = find_cq(context, command.handle);
  if (cq == nullptr) return no_object("completion queue", command.handle);
  if (command.period_us > protocol::ModifyCq::kMaxPeriodUs) {
    return refuse(EINVAL, "cq_period ", command.period_us, ": it may be 0 to ", protocol::ModifyCq::kMaxPeriodUs, " us");
  }
  constexpr std::int64_t kPsPerUs = 1'000'000;
  cq->moderate(command.count, Duration(command.period_us * kPsPerUs));
  return 0;
}

void Hca::Impl::remove_cq(CompletionQueue& cq) {
  Context& context = cq.context;
  const CompletionQueueParams params = cq.params();
  context.arena->release(params.ring_offset, std::uint64_t{params.entries} * sizeof(protocol::Cqe));
  context.arena->release(params.record_offset, sizeof(protocol::CompletionQueueRecord));
  context.objects.cqs.erase(params.handle);
  cqs_.erase(params.number);
  cq_numbers_.give_back(params.number);
  cq_pool_.destroy(cq.self);
}

int Hca::Impl::destroy_cq(Context& context, protocol::DestroyObject& command) {
  CompletionQueue* cq = find_cq(context, command.handle);
  if (cq == nullptr) return no_object_to_destroy("completion queue", command.handle);
  if (cq->users > 0) return refuse(EBUSY, cq->users, " queues still complete to it");
  command.events_reported = cq->events_reported;
  command.async_events_reported = cq->async_events_reported;
  context.program.listener->on_queue_destroyed(cq->params().cookie);
  remove_cq(*cq);
  return 0;
}

int Hca::Impl::create_qp(Context& context, protocol::CreateQp& command) {
  const HcaProfile& profile = adapter.profile;
  protocol::QpCapabilities& capabilities = command.capabilities;
  if (!is_type(command.type)) return refuse(EINVAL, "there is no queue pair type ", command.type);
  const QpType type = static_cast<QpType>(command.type);
  // There are no Ethernet frames on InfiniBand.
  if (type == QpType::kRawPacket && !adapter.address.roce) {
    return refuse(EOPNOTSUPP, "raw packet queue pairs need an Ethernet port");
  }
  if ((command.create_flags & ~create_flags_of(type)) != 0) {
    return refuse(EOPNOTSUPP, "create_flags ", Hex{command.create_flags}, ": this type of queue pair has ", Hex{create_flags_of(type)});
  }
  if (qp_count_ >= profile.max_qp) return refuse(ENOMEM, "all of max_qp ", profile.max_qp, " are in use");
  if (type == QpType::kXrcReceive) return create_xrc_receiver(context, command);
  if (command.hash.table != 0) return create_scaling_qp(context, command);
  const bool only_sends = type == QpType::kXrcSend;
  const auto pd = context.objects.pds.find(command.pd);
  CompletionQueue* send_cq = find_cq(context, command.send_cq);
  CompletionQueue* recv_cq = only_sends ? nullptr : find_cq(context, command.recv_cq);
  SharedReceiveQueue* srq = command.srq == 0 ? nullptr : find_srq(context, command.srq);
  if (pd == context.objects.pds.end()) return no_object("protection domain", command.pd);
  if (send_cq == nullptr) return no_object("completion queue", command.send_cq);
  if (recv_cq == nullptr && !only_sends) return no_object("completion queue", command.recv_cq);
  // IBA 10.2.9: shared receive queues are for reliable connections and datagrams.
  if (command.srq != 0 && (srq == nullptr || srq->params.domain != 0 || type == QpType::kUc ||
                           type == QpType::kRawPacket || only_sends)) {
    if (srq == nullptr) return no_object("shared receive queue", command.srq);
    return refuse(EINVAL, "only queue pairs of types RC and UD have an srq, and it must be a basic one; XRC queue pairs refer to "
                          "theirs by number");
  }
  if (srq != nullptr && srq->tags != nullptr && type != QpType::kRc) {
    return refuse(EINVAL, "only queue pairs of type RC can have an srq with tag matching (tm_caps.flags)");
  }
  if (srq != nullptr || only_sends) capabilities.max_recv_wr = capabilities.max_recv_sge = 0;
  if (capabilities.max_send_wr > profile.max_qp_wr || capabilities.max_recv_wr > profile.max_qp_wr) {
    return refuse(EINVAL, "max_send_wr ", capabilities.max_send_wr, ", max_recv_wr ", capabilities.max_recv_wr,
                  ": the device's max_qp_wr is ", profile.max_qp_wr);
  }
  if (capabilities.max_send_sge > profile.max_sge || capabilities.max_recv_sge > profile.max_sge) {
    return refuse(EINVAL, "max_send_sge ", capabilities.max_send_sge, ", max_recv_sge ", capabilities.max_recv_sge,
                  ": the device's max_sge is ", profile.max_sge);
  }
  if (capabilities.max_inline_data > profile.max_inline_data) {
    return refuse(EINVAL, "max_inline_data ", capabilities.max_inline_data, ": the device has ", profile.max_inline_data);
  }

  const std::uint32_t send_entries =
      capabilities.max_send_wr == 0 ? 0 : std::bit_ceil(capabilities.max_send_wr);
  const std::uint32_t recv_entries =
      capabilities.max_recv_wr == 0 ? 0 : std::bit_ceil(capabilities.max_recv_wr);
  const std::uint32_t send_bytes_each = send_stride(capabilities);
  const std::uint32_t recv_bytes_each = recv_stride(capabilities.max_recv_sge);
  // One block: send ring, receive ring, record; the record on its own cache line.
  const std::uint64_t send_bytes = std::uint64_t{send_entries} * send_bytes_each;
  const std::uint64_t recv_bytes = (std::uint64_t{recv_entries} * recv_bytes_each + 63) & ~std::uint64_t{63};
  const std::uint64_t block_bytes = send_bytes + recv_bytes + sizeof(protocol::QueuePairRecord);
  const auto block = context.arena->allocate(block_bytes);
  if (!block) return no_room();

  QueuePairParams params;
  params.handle = take_handle(context);
  params.number = take_qp_number();
  params.cookie = command.cookie;
  params.type = type;
  params.pd = command.pd;
  params.send_cq = send_cq->self;
  if (recv_cq != nullptr) params.recv_cq = recv_cq->self;
  if (srq != nullptr) params.srq = srq->self;
  params.signal_all = command.signal_all != 0;
  params.blocks_own_copies = (command.create_flags & kBlockSelfMulticast) != 0;
  params.frame_options = frame_options_of(command.create_flags);
  params.send_offset = *block;
  params.recv_offset = *block + send_bytes;
  params.record_offset = *block + send_bytes + recv_bytes;
  params.block_bytes = block_bytes;
  const WorkQueue send(context.arena->at(params.send_offset, send_bytes), send_entries, send_bytes_each);
  const WorkQueue recv(context.arena->at(params.recv_offset, std::uint64_t{recv_entries} * recv_bytes_each),
                       recv_entries, recv_bytes_each);
  const Ref<QueuePair> qp = qp_pool_.create(adapter, context, params, send, recv);
  add_qp(qp);
  ++pd->second.users;
  ++send_cq->users;
  if (recv_cq != nullptr) ++recv_cq->users;
  if (srq != nullptr) ++srq->users;
  context.objects.qps[params.handle] = qp;

  // The granted values are the requested ones, or those that the rings have room for, and never more than the
  // device's limits.
  const bool is_deep = grants_full_ring(freedom::kQueueDepth);
  const std::uint32_t send_room = send_bytes_each - static_cast<std::uint32_t>(sizeof(protocol::SendWqe));
  if (grants_full_ring(freedom::kInlineRoom)) capabilities.max_inline_data = std::min(send_room, profile.max_inline_data);
  if (is_deep) {
    capabilities.max_send_wr = std::min(send_entries, profile.max_qp_wr);
    capabilities.max_recv_wr = std::min(recv_entries, profile.max_qp_wr);
    capabilities.max_send_sge = std::min(send_room / kSgeBytes, profile.max_sge);
  }
  if (is_deep && srq == nullptr && !only_sends) {
    capabilities.max_recv_sge =
        std::min((recv_bytes_each - static_cast<std::uint32_t>(sizeof(protocol::RecvWqe))) / kSgeBytes,
                 profile.max_sge);
  }
  qp.get()->attributes.capabilities = capabilities;
  command.handle = params.handle;
  command.number = params.number;
  command.send_entries = send_entries;
  command.send_stride = send_bytes_each;
  command.recv_entries = recv_entries;
  command.recv_stride = recv_bytes_each;
  command.send_offset = context.program.arena_offset + params.send_offset;
  command.recv_offset = context.program.arena_offset + params.recv_offset;
  command.record_offset = context.program.arena_offset + params.record_offset;
  return 0;
}

int Hca::Impl::modify_qp(Context& context, protocol::ModifyQp& command) {
  QueuePair* qp = find_qp(context, command.handle);
  if (qp == nullptr) return no_object("queue pair", command.handle);
  if (qp->params.scaling != nullptr) return refuse(EOPNOTSUPP, "a queue pair that spreads frames has no state");
  const int status = qp->modify(command.attributes, command.mask);
  command.attributes.qp_state = static_cast<std::uint32_t>(qp->state());
  return status;
}

int Hca::Impl::query_qp(Context& context, protocol::QueryQp& command) {
  QueuePair* qp = find_qp(context, command.handle);
  if (qp == nullptr) return no_object("queue pair", command.handle);
  if (qp->params.scaling != nullptr) return refuse(EOPNOTSUPP, "a queue pair that spreads frames has no state");
  command.attributes = qp->attributes;
  command.attributes.qp_state = command.attributes.cur_qp_state = static_cast<std::uint32_t>(qp->state());
  // As mlx5 reports them: the PSNs of the packets that come next, not those of the beginning.
  command.attributes.sq_psn = qp->requester.next_new_psn().value;
  command.attributes.rq_psn = qp->responder.expected().value;
  command.signal_all = qp->params.signal_all ? 1 : 0;
  return 0;
}

std::uint32_t Hca::Impl::take_qp_number() {
  const auto choice = adapter.choices.choose(freedom::kQueuePairNumber, adapter.id, kNumberChoices);
  const std::uint32_t number =
      qp_numbers_.take([this](std::uint32_t taken) { return adapter.qp_by_number(ib::Qpn{taken}) != nullptr; },
                       static_cast<NumberChoice>(choice));
  CHECK(number != 0);
  return number;
}

void Hca::Impl::destroy_numbered(QueuePair& qp) {
  qp_numbers_.give_back(qp.number);
  adapter.qps.remove(qp.number);
  qp_pool_.destroy(qp.self);
}

void Hca::Impl::add_qp(const Ref<QueuePair>& qp) {
  const std::uint32_t number = qp.get()->number;
  ++qp_count_;
  adapter.qps.add(number, qp);
}

void Hca::Impl::close_qp(Context& context, std::uint32_t handle) {
  QueuePair& qp = *context.objects.qps.at(handle).get();
  context.objects.qps.erase(handle);
  if (qp.is_datagram()) adapter.multicast.forget(qp);
  if (qp.is_xrc_receiver()) {
    std::erase_if(qp.openings, [&](const QueuePairOpening& opening) {
      if (&opening.context.get()->objects != &context.objects || opening.handle != handle) return false;
      --context.objects.xrcds.at(opening.xrcd).users;
      return true;
    });
    if (!qp.openings.empty()) return;
    --qp_count_;
    destroy_numbered(qp);
    return;
  }
  --context.objects.pds.at(qp.params.pd).users;
  if (qp.params.scaling != nullptr) {
    --context.objects.tables.at(qp.params.scaling->table).users;
    qp.context.arena->release(qp.params.send_offset, qp.params.block_bytes);
    --qp_count_;
    destroy_numbered(qp);
    return;
  }
  unbind_windows_of(qp);
  --qp.params.send_cq.get()->users;
  if (CompletionQueue* cq = qp.params.recv_cq.get(); cq != nullptr) --cq->users;
  if (SharedReceiveQueue* srq = qp.params.srq.get(); srq != nullptr) --srq->users;
  qp.context.arena->release(qp.params.send_offset, qp.params.block_bytes);
  --qp_count_;
  destroy_numbered(qp);
}

namespace {

// A receiver of XRC has one for each opening.
std::uint64_t cookie_of(const QueuePair& qp, const Context& context, std::uint32_t handle) {
  for (const QueuePairOpening& opening : qp.openings) {
    if (&opening.context.get()->objects == &context.objects && opening.handle == handle) return opening.cookie;
  }
  return qp.params.cookie;
}

}  // namespace

int Hca::Impl::destroy_qp(Context& context, protocol::DestroyObject& command) {
  QueuePair* qp = find_qp(context, command.handle);
  if (qp == nullptr) return no_object_to_destroy("queue pair", command.handle);
  if (qp->is_datagram() && adapter.multicast.has_member(*qp)) return refuse(EBUSY, "it is attached to a multicast group");
  if (qp->uses.flows > 0) return refuse(EBUSY, qp->uses.flows, " flow rules send frames to it");
  adapter.completions.settle(qp->number);
  command.events_reported = qp->async_events_reported;
  command.async_events_reported = qp->async_events_reported;
  context.program.listener->on_queue_destroyed(cookie_of(*qp, context, command.handle));
  close_qp(context, command.handle);
  return 0;
}

}  // namespace verbatim::hca
