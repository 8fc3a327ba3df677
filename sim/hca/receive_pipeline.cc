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
  checked_.push(check_.accept(times.tail), {std::move(packet), true, {}});
}

void ReceivePipeline::loop_back(ib::PacketPtr packet) {
  checked_.push(check_.accept(adapter_.engine.now()), {std::move(packet), false, {}});
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
  if (packet.lrh.destination != adapter_.address.lid) return drop(incoming, DropReason::kWrongLid);
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  if (!operation.defined) return drop(incoming, DropReason::kUndefinedOpcode);
  QueuePair* qp = adapter_.qp_by_number(packet.bth.destination);
  if (qp == nullptr) return drop(incoming, DropReason::kUnknownQp);
  qp->receive(std::move(incoming), operation);
}

}  // namespace verbatim::hca
