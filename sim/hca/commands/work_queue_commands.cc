// Commands on receive work queues, tables of them, and the queue pairs that spread frames over these (ibv_create_wq(3),
// ibv_create_rwq_ind_table(3), ibv_create_qp_ex(3)).
#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>

#include "sim/hca/commands/hca_impl.h"

namespace verbatim::hca {

using ib::QpState;

namespace {

constexpr std::uint32_t kReceiveType = 0;                                       // IBV_WQT_RQ
enum WqState : std::uint32_t { kWqReset, kWqReady, kWqError, kWqStateCount };   // ibv_wq_state
enum WqMask : std::uint32_t { kWqState = 1, kWqCurrentState = 2, kWqFlags = 4 };  // ibv_wq_attr_mask

WqState wq_state_of(const QueuePair& wq) {
  return wq.state() == QpState::kReset ? kWqReset : wq.state() == QpState::kErr ? kWqError : kWqReady;
}

// From RESET a queue becomes ready, and an error ends with RESET, as with queue pairs.
bool may_move(WqState from, WqState to) {
  return !(from == kWqReset && to == kWqError) && !(from == kWqError && to == kWqReady);
}

}  // namespace

QueuePair* Hca::Impl::find_wq(Context& context, std::uint32_t handle) {
  const auto it = context.objects.wqs.find(handle);
  return it == context.objects.wqs.end() ? nullptr : it->second.get();
}

int Hca::Impl::create_wq(Context& context, protocol::CreateWq& command) {
  const HcaProfile& profile = adapter.profile;
  if (!adapter.address.roce) return refuse(EOPNOTSUPP, "work queues need an Ethernet port");
  const auto pd = context.objects.pds.find(command.pd);
  CompletionQueue* cq = find_cq(context, command.cq);
  if (pd == context.objects.pds.end()) return no_object("protection domain", command.pd);
  if (cq == nullptr) return no_object("completion queue", command.cq);
  if (command.type != kReceiveType) return refuse(EINVAL, "there is no work queue type ", command.type);
  if ((command.flags & ~kFrameOptions) != 0) return refuse(EOPNOTSUPP, "create_flags ", Hex{command.flags}, ": the device has ", Hex{kFrameOptions});
  if (command.max_wr == 0 || command.max_wr > profile.max_qp_wr || command.max_sge > profile.max_sge) {
    return refuse(EINVAL, "max_wr ", command.max_wr, ", max_sge ", command.max_sge, ": they may be up to ", profile.max_qp_wr,
                  " and ", profile.max_sge, ", and max_wr is at least 1");
  }
  if (wq_count_ >= profile.max_wq) return refuse(ENOMEM, "all of ", profile.max_wq, " work queues are in use");
  const std::uint32_t entries = std::bit_ceil(command.max_wr);
  const std::uint32_t stride = recv_stride(command.max_sge);
  const std::uint64_t ring_bytes = (std::uint64_t{entries} * stride + 63) & ~std::uint64_t{63};
  QueuePairParams params;
  params.block_bytes = ring_bytes + sizeof(protocol::QueuePairRecord);
  const auto block = context.arena->allocate(params.block_bytes);
  if (!block) return no_room();
  params.handle = take_handle(context);
  params.number = take_qp_number();
  params.cookie = command.cookie;
  params.type = ib::QpType::kRawPacket;
  params.pd = command.pd;
  params.recv_cq = cq->self;
  params.is_work_queue = true;
  params.frame_options = command.flags;
  params.send_offset = params.recv_offset = *block;
  params.record_offset = *block + ring_bytes;
  const WorkQueue ring(context.arena->at(*block, std::uint64_t{entries} * stride), entries, stride);
  const Ref<QueuePair> wq = qp_pool_.create(adapter, context, params, WorkQueue(), ring);
  add_qp(wq);
  --qp_count_;  // counted by itself
  ++wq_count_;
  ++pd->second.users;
  ++cq->users;
  context.objects.wqs[params.handle] = wq;
  command.handle = params.handle;
  command.number = params.number;
  command.recv_entries = entries;
  if (grants_full_ring(freedom::kQueueDepth)) command.max_wr = std::min(entries, profile.max_qp_wr);
  command.max_sge = std::min((stride - static_cast<std::uint32_t>(sizeof(protocol::RecvWqe))) /
                                 static_cast<std::uint32_t>(sizeof(protocol::Sge)),
                             profile.max_sge);
  command.recv_stride = stride;
  command.recv_offset = context.program.arena_offset + *block;
  command.record_offset = context.program.arena_offset + params.record_offset;
  return 0;
}

int Hca::Impl::modify_wq(Context& context, protocol::ModifyWq& command) {
  QueuePair* wq = find_wq(context, command.handle);
  if (wq == nullptr) return no_object("work queue", command.handle);
  if ((command.mask & ~(kWqState | kWqCurrentState | kWqFlags)) != 0) return refuse(EINVAL, "unknown bits in attr_mask ", Hex{command.mask});
  const WqState from = wq_state_of(*wq);
  if ((command.mask & kWqCurrentState) != 0 && command.current_state != from) {
    return refuse(EINVAL, "curr_wq_state ", command.current_state, ": the state is ", std::uint32_t{from});
  }
  const std::uint32_t to = (command.mask & kWqState) != 0 ? command.state : from;
  if (to >= kWqStateCount || !may_move(from, static_cast<WqState>(to))) {
    return refuse(EINVAL, "no work queue goes from state ", std::uint32_t{from}, " to ", to);
  }
  if ((command.mask & kWqFlags) != 0) {
    if ((command.flags_mask & ~kFrameOptions) != 0 || (command.flags & ~command.flags_mask) != 0) {
      return refuse(EINVAL, "flags ", Hex{command.flags}, " with flags_mask ", Hex{command.flags_mask});
    }
    // As mlx5: the others are fixed when the queue is made.
    if ((command.flags_mask & ~kStripVlan) != 0) return refuse(EOPNOTSUPP, "only IBV_WQ_FLAGS_CVLAN_STRIPPING can change later");
    wq->frame_options = (wq->frame_options & ~command.flags_mask) | command.flags;
  }
  constexpr QpState kStates[] = {QpState::kReset, QpState::kRtr, QpState::kErr};
  if ((command.mask & kWqState) != 0) wq->move_work_queue(kStates[to]);
  command.current_state = wq_state_of(*wq);
  return 0;
}

void Hca::Impl::close_wq(Context& context, std::uint32_t handle) {
  QueuePair& wq = *context.objects.wqs.at(handle).get();
  context.objects.wqs.erase(handle);
  --context.objects.pds.at(wq.params.pd).users;
  --wq.params.recv_cq.get()->users;
  wq.context.arena->release(wq.params.send_offset, wq.params.block_bytes);
  --wq_count_;
  destroy_numbered(wq);
}

int Hca::Impl::destroy_wq(Context& context, protocol::DestroyObject& command) {
  QueuePair* wq = find_wq(context, command.handle);
  if (wq == nullptr) return no_object_to_destroy("work queue", command.handle);
  if (wq->uses.tables > 0) return refuse(EBUSY, "it is in ", wq->uses.tables, " indirection tables");
  adapter.completions.settle(wq->number);
  command.events_reported = command.async_events_reported = wq->async_events_reported;
  context.program.listener->on_queue_destroyed(wq->params.cookie);
  close_wq(context, command.handle);
  return 0;
}

int Hca::Impl::create_rwq_table(Context& context, protocol::CreateRwqTable& command) {
  const HcaProfile& profile = adapter.profile;
  if (!adapter.address.roce) return refuse(EOPNOTSUPP, "indirection tables need an Ethernet port");
  constexpr std::uint32_t kMostLog = 31;
  if (command.log_size > kMostLog || 1u << command.log_size > profile.max_rwq_table_size) {
    return refuse(EINVAL, "log_ind_tbl_size ", command.log_size, ": the device has tables of ", profile.max_rwq_table_size);
  }
  if (table_count_ >= profile.max_rwq_tables) return refuse(ENOMEM, "all of ", profile.max_rwq_tables, " tables are in use");
  IndirectionTable table;
  for (std::uint32_t i = 0; i < 1u << command.log_size; ++i) {
    QueuePair* wq = find_wq(context, command.queues[i]);
    if (wq == nullptr) return no_object("work queue", command.queues[i]);
    table.queues.push_back(wq->self);
  }
  for (const Ref<QueuePair>& wq : table.queues) ++wq.get()->uses.tables;
  ++table_count_;
  command.handle = command.number = take_handle(context);
  context.objects.tables[command.handle] = std::move(table);
  return 0;
}

void Hca::Impl::close_table(Context& context, std::uint32_t handle) {
  const auto it = context.objects.tables.find(handle);
  for (const Ref<QueuePair>& wq : it->second.queues) --wq.get()->uses.tables;
  context.objects.tables.erase(it);
  --table_count_;
}

int Hca::Impl::destroy_rwq_table(Context& context, protocol::DestroyObject& command) {
  const auto it = context.objects.tables.find(command.handle);
  if (it == context.objects.tables.end()) return no_object_to_destroy("indirection table", command.handle);
  if (it->second.users > 0) return refuse(EBUSY, it->second.users, " queue pairs use it");
  close_table(context, command.handle);
  return 0;
}

int Hca::Impl::create_scaling_qp(Context& context, protocol::CreateQp& command) {
  const protocol::ReceiveHash& hash = command.hash;
  const auto pd = context.objects.pds.find(command.pd);
  const auto table = context.objects.tables.find(hash.table);
  if (pd == context.objects.pds.end()) return no_object("protection domain", command.pd);
  if (table == context.objects.tables.end()) return no_object("indirection table", hash.table);
  if (command.srq != 0) return refuse(EINVAL, "a queue pair with a table has no srq");
  if (static_cast<ib::QpType>(command.type) != ib::QpType::kRawPacket) return refuse(EOPNOTSUPP, "only raw packet queue pairs can have an indirection table");
  // It only receives, and by the options of its queues.
  const protocol::QpCapabilities& caps = command.capabilities;
  if (caps.max_recv_wr != 0 || caps.max_recv_sge != 0) return refuse(EINVAL, "a queue pair with a table has no receive queue");
  if (caps.max_send_wr != 0 || caps.max_inline_data != 0 || command.create_flags != 0) {
    return refuse(EOPNOTSUPP, "a queue pair with a table only receives, with the options of its work queues");
  }
  if (hash.function != kToeplitz || (hash.fields & ~kHashFields) != 0) {
    return refuse(EOPNOTSUPP, "rx_hash_function ", hash.function, ", rx_hash_fields_mask ", Hex{hash.fields},
                  ": see rss_caps of ibv_query_device_ex");
  }
  if (hash.key_length != protocol::ReceiveHash::kKeyBytes) {
    return refuse(EINVAL, "rx_hash_key_len ", hash.key_length, ": a Toeplitz key has ", protocol::ReceiveHash::kKeyBytes, " bytes");
  }
  // A frame has one kind of address and one kind of ports.
  const auto both = [&](std::uint64_t a, std::uint64_t b) { return (hash.fields & a) != 0 && (hash.fields & b) != 0; };
  if (both(kHashSourceIpv4 | kHashDestinationIpv4, kHashSourceIpv6 | kHashDestinationIpv6) ||
      both(kHashSourcePortTcp | kHashDestinationPortTcp, kHashSourcePortUdp | kHashDestinationPortUdp)) {
    return refuse(EINVAL, "rx_hash_fields_mask ", Hex{hash.fields}, " has two kinds of addresses or of ports");
  }
  auto scaling = std::make_shared<ReceiveScaling>();
  scaling->table = hash.table;
  std::copy(std::begin(hash.key), std::end(hash.key), scaling->key.begin());
  scaling->fields = hash.fields;
  scaling->queues = table->second.queues;
  QueuePairParams params;
  params.handle = take_handle(context);
  params.number = take_qp_number();
  params.cookie = command.cookie;
  params.type = ib::QpType::kRawPacket;
  params.pd = command.pd;
  params.scaling = std::move(scaling);
  const auto record = context.arena->allocate(sizeof(protocol::QueuePairRecord));
  if (!record) return no_room();
  params.record_offset = params.send_offset = *record;
  params.block_bytes = sizeof(protocol::QueuePairRecord);
  const Ref<QueuePair> qp = qp_pool_.create(adapter, context, params, WorkQueue(), WorkQueue());
  add_qp(qp);
  ++pd->second.users;
  ++table->second.users;
  context.objects.qps[params.handle] = qp;
  command.capabilities = {};
  command.handle = params.handle;
  command.number = params.number;
  command.send_entries = command.send_stride = command.recv_entries = command.recv_stride = 0;
  command.send_offset = command.recv_offset = 0;
  command.record_offset = context.program.arena_offset + params.record_offset;
  return 0;
}

}  // namespace verbatim::hca
