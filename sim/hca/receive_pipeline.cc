#include "sim/hca/receive_pipeline.h"

#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queue_pair.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::hca {

ReceivePipeline::ReceivePipeline(Adapter& adapter)
    : adapter_(adapter),
      check_(adapter.clock, adapter.profile.receive_check),
      checked_(DelayLine<Incoming>::of<&ReceivePipeline::on_checked>(adapter.engine, adapter.id,
                                                                     EventClass::kStage, this)) {}

void ReceivePipeline::receive(ib::PacketPtr packet, fabric::ArrivalTimes times) {
  if (Trail& trail = packet->trail) [[unlikely]] {
    const std::uint32_t rest = packet->wire_bytes() - (port_ != nullptr ? port_->link().header_bytes : 0);
    trail.add(times.tail, {adapter_.id, "link: rest of the packet", TrailKind::kBytes, rest});
  }
  const Instant done = check_.accept(times.tail, packet->trail, adapter_.id, "receive check");
  checked_.push(done, {std::move(packet), true, {}});
}

void ReceivePipeline::loop_back(ib::PacketPtr packet) {
  const Instant done = check_.accept(adapter_.engine.now(), packet->trail, adapter_.id, "receive check");
  checked_.push(done, {std::move(packet), false, {}});
}

void ReceivePipeline::release(Incoming& incoming, Instant when) {
  if (!incoming.in_buffer) return;
  incoming.in_buffer = false;
  if (port_ != nullptr) port_->release(incoming.packet->lrh.lane, incoming.packet->wire_bytes(), when);
}

void ReceivePipeline::drop(Incoming& incoming, DropReason reason) {
  ib::record_drop(adapter_.tracer, adapter_.id, *incoming.packet, reason,
                  port_ != nullptr ? port_->id() : adapter_.id);
  release(incoming, adapter_.engine.now());
}

void ReceivePipeline::on_checked(Incoming incoming) {
  incoming.checked_at = adapter_.engine.now();
  const ib::Packet& packet = *incoming.packet;
  // IBA 9.6: packet integrity, destination and partition are checked before anything that the queue pair
  // knows.
  if (packet.corrupted) return drop(incoming, DropReason::kCorrupted);
  const bool to_group = is_multicast(packet.lrh.destination);
  if (!to_group && !adapter_.is_addressed_here(packet)) {
    return drop(incoming, DropReason::kWrongLid);
  }
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  if (!operation.defined) return drop(incoming, DropReason::kUndefinedOpcode);
  if (to_group) return deliver_to_group(std::move(incoming), operation);
  QueuePair* qp = adapter_.qp_by_number(packet.bth.destination);
  if (qp == nullptr) return drop(incoming, DropReason::kUnknownQp);
  qp->receive(std::move(incoming), operation);
}

void ReceivePipeline::deliver_to_group(Incoming incoming, const ib::OpcodeInfo& operation) {
  const std::vector<Ref<QueuePair>> members = adapter_.multicast.members(*incoming.packet);
  if (members.empty()) return drop(incoming, DropReason::kUnknownQp);
  for (std::size_t i = 0; i + 1 < members.size(); ++i) {
    Incoming copy{std::make_unique<ib::Packet>(*incoming.packet), false, incoming.checked_at};
    if (QueuePair* qp = members[i].get(); qp != nullptr) qp->receive(std::move(copy), operation);
  }
  QueuePair* last = members.back().get();
  if (last == nullptr) return drop(incoming, DropReason::kUnknownQp);
  last->receive(std::move(incoming), operation);
}

}  // namespace verbatim::hca
