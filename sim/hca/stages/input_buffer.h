// The port's input buffer: a received packet occupies space until its payload has left for the root complex,
// or the packet is dropped.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/fabric/port.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

struct AdapterBase;

using ib::DropReason;

class InputBuffer {
 public:
  explicit InputBuffer(AdapterBase& adapter);

  void attach(fabric::Port& port) { port_ = &port; }
  // The adapter is being destroyed, perhaps after its port: later releases have no effect.
  void detach() { port_ = nullptr; }

  // The last byte of a packet arrives from the port at `tail`. False: there is no space, or its lane is not
  // active; the drop has been recorded.
  bool admit(const ib::Packet& packet, Instant tail);
  // Counts an admitted packet; call exactly once. True: the buffer has reached the fill level for a
  // congestion notification (CongestionControl::cnp_receive_buffer_bytes).
  bool count_arrival(const ib::Packet& packet) { return notify_bytes_ > 0 && fills(packet); }
  // Header bytes of a frame on the port's link; 0: there is no port.
  std::uint32_t header_bytes() const { return port_ != nullptr ? port_->link().header_bytes : 0; }
  // A damaged packet has arrived (PortRcvErrors).
  void count_error() {
    if (port_ != nullptr) ++port_->counters().rcv_errors;
  }

  // Frees the packet's space at `when`.
  void release(const ib::Packet& packet, Instant when);
  void record_drop(const ib::Packet& packet, DropReason reason);
  Instant now() const;

 private:
  struct Release {
    Instant when;
    std::uint32_t bytes = 0;
  };
  bool fills(const ib::Packet& packet);

  AdapterBase& adapter_;
  fabric::Port* port_ = nullptr;
  const std::uint32_t notify_bytes_;  // 0: the fill level causes no notifications
  std::uint64_t held_bytes_ = 0;
  Ring<Release> releases_;  // in the order in which packets were executed
};

// A packet that is being received, and the input buffer space that it still holds.
struct Incoming {
  ib::PacketPtr packet;
  bool in_buffer = false;  // false: looped back, a copy, or its space has been released
  InputBuffer* buffer = nullptr;
  Instant checked_at{};
  std::uint32_t flow_tag = 0;      // tag of the flow rule that took a frame
  bool finds_full_buffer = false;  // result of InputBuffer::count_arrival()

  void release(Instant when) {
    if (!in_buffer) return;
    in_buffer = false;
    buffer->release(*packet, when);
  }
  void drop(DropReason reason) {
    buffer->record_drop(*packet, reason);
    release(buffer->now());
  }
  // Another packet with the same contents, without space in the buffer.
  Incoming copy() const { return {std::make_unique<ib::Packet>(*packet), false, buffer, checked_at}; }
};

}  // namespace verbatim::hca
