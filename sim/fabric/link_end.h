// One end of a cable: the line of what leaves, the arrivals of what comes, and the flow control between them. A port owns it,
// and decides what starts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/arrivals.h"
#include "sim/fabric/channel.h"
#include "sim/fabric/link_flow_control.h"
#include "sim/ib/packet.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

// Who sends by an end of a cable.
class LinkUser {
 public:
  // Grants for which a lane waits may arrive at another time than was known, or have become known.
  virtual void on_grants_changed() = 0;

 protected:
  ~LinkUser() = default;
};

// What an end knows of the port that it belongs to.
struct LinkSide {
  ComponentId id;
  PortNumber number;
  PacketSink& sink;
  ib::PortCounters& counters;
  LinkUser& user;
  std::uint32_t data_lanes = 1;
  std::uint32_t input_buffer_bytes = 0;  // per lane
};

class LinkEnd {
 public:
  LinkEnd(Engine& engine, Tracer& tracer, const LinkParams& params, const LinkSide& near, const LinkSide& far);
  // Both ends exist.
  void connect(LinkEnd& far) { far_ = &far; }

  const LinkParams& params() const { return channel_.params(); }
  const LineClock& line() const { return channel_.line(); }
  const LinkFlowControl& flow_control() const { return flow_; }

  // Frames of flow control that have left before now, towards the far end, are on the line.
  void advance() {
    if (flow_.is_due(channel_.line(), engine_.now())) send_due_frames();
  }
  // What the far end has granted up to now is known.
  void take_grants(std::size_t lane) {
    far_->advance();
    flow_.take_grants(lane, engine_.now());
  }
  // When a packet of so many blocks may start on a data lane that is otherwise ready at `at`; kNever: not known yet. Notes that
  // the lane waits for grants that have not left the far end.
  Instant may_start(std::size_t lane, std::uint32_t blocks, Instant at) {
    const Instant granted = flow_.may_start(lane, blocks, at);
    return granted != kNever ? granted : await_grants(lane, blocks, at);
  }
  // When a data packet that may start at `at` can, as far as the line and its frames of flow control are known.
  Instant data_start(Instant at) const { return flow_.data_start(channel_.line(), at); }
  void stop_awaiting_grants() { awaits_grants_ = false; }

  // A packet starts. Returns when its last byte leaves.
  Instant transmit(ib::PacketPtr&& packet, std::uint32_t wire_bytes, Duration delay) {
    const PassageTimes times = channel_.transmit(engine_.now(), wire_bytes, packet->trail, delay);
    far_->arrivals_.expect(std::move(packet), wire_bytes, times.arrival);
    notify_far_end();
    return times.leaves;
  }
  // The same, and it never arrives. Flow control counts what was sent, not what came (IBA 7.9.4.4): the far end finds its space
  // unused.
  Instant transmit_lost(ib::Packet& packet, ib::VirtualLane lane, std::uint32_t wire_bytes);
  // Data of this end takes credits.
  void on_start(std::size_t lane, std::uint32_t blocks) { flow_.on_start(lane, blocks); }
  std::uint32_t credits(std::size_t lane) const { return flow_.credits(lane); }

  // Space of this end's input buffer is free at `when`.
  void on_release(std::size_t lane, std::uint32_t blocks, Instant when) {
    flow_.on_release(lane, blocks, when);
    notify_far_end();
  }

  // Takes a packet that this end has sent and whose head has not arrived; null when there is none.
  ib::PacketPtr take_in_flight() { return far_->arrivals_.take_expected(); }
  void restore(std::size_t lane, std::uint32_t blocks) { flow_.restore(lane, blocks); }

  // A fault of the cable has lost a packet that this end has sent.
  void count_error_at_far_end() { ++far_->counters_.rcv_errors; }

 private:
  void send_due_frames();
  Instant await_grants(std::size_t lane, std::uint32_t blocks, Instant at);
  // What the far end knew about grants to come may have changed.
  void notify_far_end() {
    if (far_->awaits_grants_) far_->user_.on_grants_changed();
  }

  Engine& engine_;
  LinkUser& user_;
  ib::PortCounters& counters_;
  LinkEnd* far_ = nullptr;
  Channel channel_;
  LinkFlowControl flow_;
  Arrivals arrivals_;
  bool awaits_grants_ = false;  // a lane waits for grants that have not left the far end
};

}  // namespace verbatim::fabric
