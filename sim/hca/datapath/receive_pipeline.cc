#include "sim/hca/datapath/receive_pipeline.h"

#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queues/queue_pair.h"
#include "sim/ib/group_address.h"
#include "sim/ib/lid_ranges.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::hca {

ReceivePipeline::ReceivePipeline(Adapter& adapter)
    : adapter_(adapter),
      looks_up_(adapter.contexts.is_limited() || adapter.protections.is_limited()),
      notify_bytes_(adapter.profile.congestion_control.cnp_receive_buffer_bytes),
      icrc_(adapter.clock, adapter.profile.icrc),
      check_(adapter.clock, adapter.profile.receive_check),
      checked_(DelayLine<Incoming>::of<&ReceivePipeline::on_checked>(adapter.engine, adapter.id,
                                                                     EventClass::kStage, this)) {}

void ReceivePipeline::receive(ib::PacketPtr packet, fabric::ArrivalTimes times) {
  if (port_ != nullptr && !port_->admit(*packet)) {
    return ib::record_drop(adapter_.tracer, port_->id(), *packet, fabric::full_buffer_reason(packet->lrh.lane), port_->id());
  }
  if (port_ != nullptr && !port_->carries(packet->lrh.lane)) [[unlikely]] {
    ib::record_drop(adapter_.tracer, port_->id(), *packet, DropReason::kNotActive, port_->id());
    return port_->release(packet->lrh.lane, packet->wire_bytes(), times.tail);
  }
  if (Trail& trail = packet->trail) [[unlikely]] {
    const std::uint32_t rest = packet->wire_bytes() - (port_ != nullptr ? port_->link().header_bytes : 0);
    trail.add(times.tail, {adapter_.id, "link: rest of the packet", TrailKind::kBytes, rest});
  }
  Instant there = times.tail;
  if (icrc_.takes_time()) [[unlikely]] there = icrc_.accept(there, packet->trail, adapter_.id, kIcrc);
  const Instant done = check_.accept(there, packet->trail, adapter_.id, "receive check");
  const bool fills = notify_bytes_ > 0 && fills_buffer(*packet);
  checked_.push(done, {.packet = std::move(packet), .in_buffer = true, .finds_full_buffer = fills});
}

bool ReceivePipeline::fills_buffer(const ib::Packet& packet) {
  // Room that is released at this instant serves later packets.
  while (!releases_.empty() && releases_.front().when < adapter_.engine.now()) {
    held_bytes_ -= releases_.front().bytes;
    releases_.pop_front();
  }
  held_bytes_ += packet.wire_bytes();
  return held_bytes_ >= notify_bytes_;
}

void ReceivePipeline::loop_back(ib::PacketPtr packet) {
  const Instant done = check_.accept(adapter_.engine.now(), packet->trail, adapter_.id, "receive check");
  checked_.push(done, {std::move(packet), false, {}});
}

void ReceivePipeline::release(Incoming& incoming, Instant when) {
  if (!incoming.in_buffer) return;
  incoming.in_buffer = false;
  if (notify_bytes_ > 0) [[unlikely]] releases_.push_back({when, incoming.packet->wire_bytes()});
  if (port_ != nullptr) port_->release(incoming.packet->lrh.lane, incoming.packet->wire_bytes(), when);
}

void ReceivePipeline::drop(Incoming& incoming, DropReason reason) {
  ib::record_drop(adapter_.tracer, adapter_.id, *incoming.packet, reason,
                  port_ != nullptr ? port_->id() : adapter_.id);
  release(incoming, adapter_.engine.now());
}

void ReceivePipeline::on_checked(Incoming&& incoming) {
  incoming.checked_at = adapter_.engine.now();
  const ib::Packet& packet = *incoming.packet;
  // IBA 9.6: packet integrity, destination and partition are checked before anything that the queue pair
  // knows.
  if (packet.corrupted) {
    if (port_ != nullptr) ++port_->counters().rcv_errors;
    ++adapter_.counters.rx_icrc_encapsulated;
    return drop(incoming, DropReason::kCorrupted);
  }
  if (adapter_.steering.flows.has_sniffers() && incoming.in_buffer) [[unlikely]] adapter_.steering.sniff(packet);
  if (packet.is_frame) [[unlikely]] return adapter_.steering.receive(std::move(incoming));
  if (GeneralServices::is_subnet_management(packet)) [[unlikely]] return to_subnet_management(std::move(incoming));
  const bool to_group = ib::is_to_group(packet);
  if (!to_group && !adapter_.address.is_destination_of(packet)) {
    return drop(incoming, DropReason::kWrongLid);
  }
  if (packet.ethernet && !adapter_.address.takes_tag_of(packet)) return drop(incoming, DropReason::kWrongVlan);
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  if (!operation.defined) return drop(incoming, DropReason::kUndefinedOpcode);
  if (to_group) return deliver_to_group(std::move(incoming), operation);
  if (looks_up_) {
    const std::uint32_t qpn = packet.bth.destination.value;
    if (const auto stall = stalls_.find(qpn); stall != stalls_.end()) {
      stall->second.packets.push_back(std::move(incoming));
      return;
    }
    const bool is_known = adapter_.qp_by_number(packet.bth.destination) != nullptr;
    if (const Need lacks = is_known ? missing(packet, kContext) : kNothing; lacks != kNothing) {
      Stall& stall = stalls_[qpn];
      stall.lacks = lacks;
      stall.packets.push_back(std::move(incoming));
      return;
    }
  }
  to_queue_pair(std::move(incoming));
}

// IBA 14.2.2: a datagram whose route is written in it comes to the permissive LID.
void ReceivePipeline::to_subnet_management(Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  if (packet.lrh.destination != ib::kPermissiveLid && !adapter_.address.is_destination_of(packet)) {
    return drop(incoming, DropReason::kWrongLid);
  }
  if (!adapter_.services.takes(packet)) return drop(incoming, DropReason::kUnknownQp);
  adapter_.services.receive(std::move(incoming));
}

void ReceivePipeline::to_queue_pair(Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  QueuePair* qp = adapter_.qp_by_number(packet.bth.destination);
  if (qp == nullptr && adapter_.services.takes(packet)) return adapter_.services.receive(std::move(incoming));
  if (qp == nullptr) return drop(incoming, DropReason::kUnknownQp);
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
  if (need == kContext) return adapter_.contexts.use(qpn, *this, qpn);
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  ib::Reth named;  // IBA 9.7.4.1.7: a request for no bytes names no memory
  if (operation.has_reth) named = packet.reth;
  if (operation.has_atomic_eth) named = {packet.atomic.va, packet.atomic.rkey, sizeof(std::uint64_t)};
  if (named.length == 0) return true;
  return adapter_.protections.use(adapter_.protection_key(named.rkey.value), *this, qpn);
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
  const std::vector<Ref<QueuePair>> members = adapter_.multicast.members(*incoming.packet);
  if (members.empty()) return drop(incoming, DropReason::kUnknownQp);
  for (std::size_t i = 0; i + 1 < members.size(); ++i) {
    if (is_own_copy(members[i].get(), incoming)) continue;
    Incoming copy{std::make_unique<ib::Packet>(*incoming.packet), false, incoming.checked_at};
    if (QueuePair* qp = members[i].get(); qp != nullptr) qp->receive(std::move(copy), operation);
  }
  QueuePair* last = members.back().get();
  if (last == nullptr || is_own_copy(last, incoming)) return drop(incoming, DropReason::kUnknownQp);
  last->receive(std::move(incoming), operation);
}

}  // namespace verbatim::hca
