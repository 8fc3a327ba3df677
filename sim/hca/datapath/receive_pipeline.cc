#include "sim/hca/datapath/receive_pipeline.h"

#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/frame_steering.h"
#include "sim/hca/datapath/general_services.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/multicast.h"
#include "sim/hca/queue_counters.h"
#include "sim/hca/stages/memory_caches.h"
#include "sim/ib/group_address.h"
#include "sim/ib/lid_ranges.h"

namespace verbatim::hca {

ReceivePipeline::ReceivePipeline(AdapterBase& adapter, InputBuffer& input, AdapterCache& contexts, MemoryCaches& caches,
                                 QueueCounters& counters, FrameSteering& steering, GeneralServices& services,
                                 const MulticastTable& multicast, const NumberTable<Ref<QueuePair>>& qps)
    : adapter_(adapter),
      input_(input),
      contexts_(contexts),
      caches_(caches),
      counters_(counters),
      steering_(steering),
      services_(services),
      multicast_(multicast),
      qps_(qps),
      looks_up_(contexts.is_limited() || caches.has_protection_misses()),
      icrc_(adapter.clock, adapter.profile.icrc),
      check_(adapter.clock, adapter.profile.receive_check),
      checked_(DelayLine<Incoming>::of<&ReceivePipeline::on_checked>(adapter.engine, adapter.id,
                                                                     EventClass::kStage, this)) {}

void ReceivePipeline::receive(ib::PacketPtr packet, fabric::ArrivalTimes times) {
  if (!input_.admit(*packet, times.tail)) return;
  if (Trail& trail = packet->trail) [[unlikely]] {
    const std::uint32_t rest = packet->wire_bytes() - input_.header_bytes();
    trail.add(times.tail, {adapter_.id, "link: rest of the packet", TrailKind::kBytes, rest});
  }
  Instant there = times.tail;
  if (icrc_.takes_time()) [[unlikely]] there = icrc_.accept(there, packet->trail, adapter_.id, kIcrc);
  const Instant done = check_.accept(there, packet->trail, adapter_.id, "receive check");
  const bool is_full = input_.count_arrival(*packet);
  checked_.push(done, {.packet = std::move(packet), .in_buffer = true, .buffer = &input_, .finds_full_buffer = is_full});
}

void ReceivePipeline::loop_back(ib::PacketPtr packet) {
  const Instant done = check_.accept(adapter_.engine.now(), packet->trail, adapter_.id, "receive check");
  checked_.push(done, {.packet = std::move(packet), .buffer = &input_});
}

void ReceivePipeline::on_checked(Incoming&& incoming) {
  incoming.checked_at = adapter_.engine.now();
  const ib::Packet& packet = *incoming.packet;
  // IBA 9.6: packet integrity, destination and partition are checked before the queue pair.
  if (packet.corrupted) {
    input_.count_error();
    ++counters_.rx_icrc_encapsulated;
    return incoming.drop(DropReason::kCorrupted);
  }
  if (steering_.flows.has_sniffers() && incoming.in_buffer) [[unlikely]] steering_.sniff(packet);
  if (packet.is_frame) [[unlikely]] return steering_.receive(std::move(incoming));
  if (GeneralServices::is_subnet_management(packet)) [[unlikely]] return to_subnet_management(std::move(incoming));
  const bool to_group = ib::is_to_group(packet);
  if (!to_group && !adapter_.address.is_destination_of(packet)) {
    return incoming.drop(DropReason::kWrongLid);
  }
  if (packet.ethernet && !adapter_.address.has_vlan_of(packet)) return incoming.drop(DropReason::kWrongVlan);
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  if (!operation.defined) return incoming.drop(DropReason::kUndefinedOpcode);
  if (to_group) return deliver_to_group(std::move(incoming), operation);
  if (looks_up_) {
    const std::uint32_t qpn = packet.bth.destination.value;
    if (const auto stall = stalls_.find(qpn); stall != stalls_.end()) {
      stall->second.packets.push_back(std::move(incoming));
      return;
    }
    const bool is_known = qps_.find(packet.bth.destination.value).get() != nullptr;
    if (const Need lacks = is_known ? missing(packet, kContext) : kNothing; lacks != kNothing) {
      Stall& stall = stalls_[qpn];
      stall.lacks = lacks;
      stall.packets.push_back(std::move(incoming));
      return;
    }
  }
  to_queue_pair(std::move(incoming));
}

// IBA 14.2.2: a datagram with a directed route has the permissive LID.
void ReceivePipeline::to_subnet_management(Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  if (packet.lrh.destination != ib::kPermissiveLid && !adapter_.address.is_destination_of(packet)) {
    return incoming.drop(DropReason::kWrongLid);
  }
  if (!services_.takes(packet)) return incoming.drop(DropReason::kUnknownQp);
  services_.receive(std::move(incoming));
}

void ReceivePipeline::to_queue_pair(Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  QueuePair* qp = qps_.find(packet.bth.destination.value).get();
  if (qp == nullptr && services_.takes(packet)) return services_.receive(std::move(incoming));
  if (qp == nullptr) return incoming.drop(DropReason::kUnknownQp);
  qp->receive(std::move(incoming), ib::info(packet.bth.opcode));
}

ReceivePipeline::Need ReceivePipeline::missing(const ib::Packet& packet, Need first) {
  for (int need = first; need < kNothing; ++need) {
    if (!has(static_cast<Need>(need), packet)) return static_cast<Need>(need);
  }
  return kNothing;
}

bool ReceivePipeline::has(Need need, const ib::Packet& packet) {
  const std::uint32_t qpn = packet.bth.destination.value;
  if (need == kContext) return contexts_.use(qpn, *this, qpn);
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  ib::Reth named;  // IBA 9.7.4.1.7: a request for no bytes names no memory
  if (operation.has_reth) named = packet.reth;
  if (operation.has_atomic_eth) named = {packet.atomic.va, packet.atomic.rkey, sizeof(std::uint64_t)};
  if (named.length == 0) return true;
  return caches_.use_protection(named.rkey.value, *this, qpn);
}

void ReceivePipeline::on_cached(std::uint64_t qpn) {
  constexpr const char* kWaited[] = {kContextMiss, kProtectionMiss};
  const auto found = stalls_.find(static_cast<std::uint32_t>(qpn));
  Stall& stall = found->second;
  const char* waited = kWaited[stall.lacks];
  Need next = static_cast<Need>(stall.lacks + 1);
  while (!stall.packets.empty()) {
    ib::Packet& first = *stall.packets.front().packet;
    first.trail.add(adapter_.engine.now(), {adapter_.id, waited});
    stall.lacks = missing(first, next);
    if (stall.lacks != kNothing) return;
    to_queue_pair(stall.packets.pop_front());
    waited = kEarlierPackets;
    next = kContext;
  }
  stalls_.erase(found);
}

bool ReceivePipeline::is_own_copy(const QueuePair* qp, const Incoming& incoming) {
  return qp != nullptr && qp->params.blocks_own_copies && !incoming.in_buffer &&
         incoming.packet->deth.source.value == qp->number;
}

void ReceivePipeline::deliver_to_group(Incoming&& incoming, const ib::OpcodeInfo& operation) {
  const std::vector<Ref<QueuePair>> members = multicast_.members(*incoming.packet);
  if (members.empty()) return incoming.drop(DropReason::kUnknownQp);
  for (std::size_t i = 0; i + 1 < members.size(); ++i) {
    if (is_own_copy(members[i].get(), incoming)) continue;
    if (QueuePair* qp = members[i].get(); qp != nullptr) qp->receive(incoming.copy(), operation);
  }
  QueuePair* last = members.back().get();
  if (last == nullptr || is_own_copy(last, incoming)) return incoming.drop(DropReason::kUnknownQp);
  last->receive(std::move(incoming), operation);
}

}  // namespace verbatim::hca
