#include "sim/hca/stages/input_buffer.h"

#include "sim/hca/adapter_base.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::hca {

InputBuffer::InputBuffer(AdapterBase& adapter)
    : adapter_(adapter), notify_bytes_(adapter.profile.congestion_control.cnp_receive_buffer_bytes) {}

Instant InputBuffer::now() const { return adapter_.engine.now(); }

bool InputBuffer::admit(const ib::Packet& packet, Instant tail) {
  if (port_ == nullptr) return true;
  if (!port_->admit(packet)) {
    ib::record_drop(adapter_.tracer, port_->id(), packet, fabric::full_buffer_reason(packet.lrh.lane), port_->id());
    return false;
  }
  if (port_->carries(packet.lrh.lane)) [[likely]] return true;
  ib::record_drop(adapter_.tracer, port_->id(), packet, DropReason::kNotActive, port_->id());
  port_->release(packet.lrh.lane, packet.wire_bytes(), tail);
  return false;
}

bool InputBuffer::fills(const ib::Packet& packet) {
  // Room that is released at this instant serves later packets.
  while (!releases_.empty() && releases_.front().when < now()) {
    held_bytes_ -= releases_.front().bytes;
    releases_.pop_front();
  }
  held_bytes_ += packet.wire_bytes();
  return held_bytes_ >= notify_bytes_;
}

void InputBuffer::release(const ib::Packet& packet, Instant when) {
  if (notify_bytes_ > 0) [[unlikely]] releases_.push_back({when, packet.wire_bytes()});
  if (port_ != nullptr) port_->release(packet.lrh.lane, packet.wire_bytes(), when);
}

void InputBuffer::record_drop(const ib::Packet& packet, DropReason reason) {
  ib::record_drop(adapter_.tracer, adapter_.id, packet, reason, port_ != nullptr ? port_->id() : adapter_.id);
}

}  // namespace verbatim::hca
