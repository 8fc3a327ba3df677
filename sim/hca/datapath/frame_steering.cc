#include "sim/hca/datapath/frame_steering.h"

#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/receive_pipeline.h"
#include "sim/ib/wire.h"

namespace verbatim::hca {

FrameSteering::FrameSteering(AdapterBase& adapter, InputBuffer& input)
    : adapter_(adapter),
      input_(input),
      delay_timer_(
          Timer::of<&FrameSteering::on_delay_over>(adapter.engine, adapter.id, EventClass::kTimeout, this)) {}

bool FrameSteering::wants_copy(const ib::Packet& packet) {
  if (flows.size() == 0 || !is_group(packet.ethernet->destination)) return false;
  found_.clear();
  flows.find(ib::parse_frame(packet.payload.bytes()), true, found_);
  return !found_.empty();
}

void FrameSteering::receive(Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  const ib::Frame frame = ib::parse_frame(packet.payload.bytes());
  std::vector<const Flow*> found = std::move(found_);  // to use its memory again
  found.clear();
  flows.find(frame, is_group(packet.ethernet->destination), found);
  give(found, frame, std::move(incoming));
  found_ = std::move(found);
}

void FrameSteering::give(const std::vector<const Flow*>& found, const ib::Frame& frame, Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  if (found.empty()) return incoming.drop(DropReason::kNoFlow);
  bool is_dropped = false;
  for (const Flow* flow : found) {
    flow->count(packet.payload.length);
    is_dropped |= flow->drops;
  }
  if (is_dropped) return incoming.drop(DropReason::kFlowDrop);
  for (std::size_t i = 0; i + 1 < found.size(); ++i) {
    deliver(*found[i], frame, incoming.copy());
  }
  deliver(*found.back(), frame, std::move(incoming));
}

void FrameSteering::deliver(const Flow& flow, const ib::Frame& frame, Incoming&& incoming) {
  incoming.flow_tag = flow.tag;
  QueuePair* qp = flow.qp.get();
  if (qp == nullptr) return incoming.drop(DropReason::kUnknownQp);
  if (ReceivePipeline::is_own_copy(qp, incoming)) return incoming.drop(DropReason::kWrongSource);
  if (qp->params.scaling != nullptr) qp = qp->params.scaling->queue_for(frame).get();
  if (qp == nullptr) return incoming.drop(DropReason::kUnknownQp);
  qp->receive_frame(std::move(incoming));
}

void FrameSteering::sniff(const ib::Packet& packet) {
  std::vector<const Flow*> sniffers;
  flows.find_sniffers(sniffers);
  const ib::PacketPtr copy = ib::make_frame();
  copy->ethernet = packet.ethernet;
  std::vector<std::byte> bytes;
  ib::encode(packet, bytes);
  copy->payload = {ib::PayloadBuffer::copy_of(bytes), 0, static_cast<std::uint32_t>(bytes.size())};
  const ib::Frame frame = ib::parse_frame(copy->payload.bytes());
  for (const Flow* flow : sniffers) {
    flow->count(copy->payload.length);
    deliver(*flow, frame, {std::make_unique<ib::Packet>(*copy), false, &input_, adapter_.engine.now()});
  }
}

void FrameSteering::drop_later(const Ref<QueuePair>& qp, Instant deadline) {
  delayed_.emplace(std::pair(deadline, delayed_ever_++), qp);
  delay_timer_.cancel();
  delay_timer_.schedule_at(delayed_.begin()->first.first);
}

void FrameSteering::on_delay_over() {
  while (!delayed_.empty() && delayed_.begin()->first.first <= adapter_.engine.now()) {
    const Ref<QueuePair> qp = delayed_.extract(delayed_.begin()).mapped();
    if (QueuePair* waiting = qp.get(); waiting != nullptr) waiting->responder_driver.on_delay_over();
  }
  if (!delayed_.empty() && !delay_timer_.scheduled()) delay_timer_.schedule_at(delayed_.begin()->first.first);
}

}  // namespace verbatim::hca
