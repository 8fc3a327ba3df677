// Follows every packet of a fabric by trace records: its bytes are in one output queue, on one line, delivered to an adapter,
// or dropped with a reason. A packet that arrives at a switch is forwarded or dropped before the next one of the same port.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/fabric/switch.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

class Conservation final : public ib::PacketObserver {
 public:
  void add_cable(ComponentId a, ComponentId b) {
    ports_[a.value].far = b.value;
    ports_[b.value].far = a.value;
  }
  // `ports` in the order of their numbers.
  void add_switch(ComponentId id, const std::vector<ComponentId>& ports) {
    for (const ComponentId port : ports) {
      switches_[id.value].push_back(port.value);
      ports_[port.value].is_of_switch = true;
    }
  }

  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId at) override {
    const auto bytes = static_cast<std::int64_t>(packet.sent_bytes);
    switch (record.event) {
      case TraceEvent::kPacketTransmitted: return transmit(record, at.value, bytes);
      case TraceEvent::kPacketReceived: return receive(record, at.value, bytes);
      case TraceEvent::kPacketForwarded:
        return forward(record, at.value, switches_.at(record.component).at(record.values[3] - 1), bytes);
      case TraceEvent::kPacketDropped: return drop(record, at.value, bytes);
      default: return;
    }
  }

  // Expects that no packet is in flight.
  void expect_rest() const {
    for (const auto& [id, port] : ports_) {
      EXPECT_EQ(port.queued, 0) << "bytes in the output queue of port " << id;
      EXPECT_EQ(port.on_line, 0) << "bytes on the line behind port " << id;
      EXPECT_EQ(port.arrived, 0) << "bytes that came in by port " << id << " and are nowhere";
    }
    EXPECT_EQ(sent_ + copied_, delivered_ + dropped_);
  }
  std::int64_t sent() const { return sent_; }
  std::int64_t copied() const { return copied_; }
  std::int64_t delivered() const { return delivered_; }
  std::int64_t dropped() const { return dropped_; }

 private:
  struct PortBytes {
    bool is_of_switch = false;
    std::uint32_t far = 0;
    std::int64_t queued = 0;   // for this output of a switch
    std::int64_t on_line = 0;  // sent by this port
    std::int64_t arrived = 0;  // at a switch, neither forwarded nor dropped yet
  };

  static void take(std::int64_t& from, std::int64_t bytes, const TraceRecord& record, const char* what) {
    from -= bytes;
    EXPECT_GE(from, 0) << what << ": more leaves than came, at " << record.time_ps << " ps, component " << record.component;
  }

  void transmit(const TraceRecord& record, std::uint32_t at, std::int64_t bytes) {
    PortBytes& port = ports_.at(at);
    EXPECT_EQ(bytes, static_cast<std::int64_t>(record.values[3]));
    port.on_line += bytes;
    if (port.is_of_switch) {
      take(port.queued, bytes, record, "output queue");
    } else {
      sent_ += bytes;
    }
  }

  void receive(const TraceRecord& record, std::uint32_t at, std::int64_t bytes) {
    PortBytes& port = ports_.at(at);
    take(ports_.at(port.far).on_line, bytes, record, "line");
    if (!port.is_of_switch) {
      delivered_ += bytes;
      return;
    }
    EXPECT_EQ(port.arrived, 0) << "a packet has vanished before " << record.time_ps << " ps, port " << at;
    port.arrived = bytes;
  }

  // The first output takes the packet that arrived, each further one a copy.
  void forward(const TraceRecord& record, std::uint32_t in, std::uint32_t out, std::int64_t bytes) {
    PortBytes& input = ports_.at(in);
    if (input.arrived == 0) {
      EXPECT_EQ(last_forwarded_, in) << "a copy of nothing at " << record.time_ps << " ps";
      copied_ += bytes;
    } else {
      take(input.arrived, bytes, record, "switch");
    }
    last_forwarded_ = in;
    ports_.at(out).queued += bytes;
  }

  void drop(const TraceRecord& record, std::uint32_t at, std::int64_t bytes) {
    EXPECT_FALSE(ib::text_of(static_cast<DropReason>(record.values[3])).empty()) << record.values[3] << " is no reason";
    PortBytes& port = ports_.at(at);
    dropped_ += bytes;
    const auto reason = static_cast<DropReason>(record.values[3]);
    if (reason == DropReason::kLostOnLink) return take(ports_.at(port.far).on_line, bytes, record, "line");
    if (reason == DropReason::kFault) return take(port.on_line, bytes, record, "line");
    if (!port.is_of_switch) {
      sent_ += bytes;  // it was in an adapter's queue
    } else if (port.arrived > 0) {
      take(port.arrived, bytes, record, "switch");
    } else {
      take(port.queued, bytes, record, "output queue");
    }
  }

  std::map<std::uint32_t, PortBytes> ports_;                         // by component
  std::map<std::uint32_t, std::vector<std::uint32_t>> switches_;     // their ports
  std::uint32_t last_forwarded_ = 0;                                 // input port
  std::int64_t sent_ = 0, copied_ = 0, delivered_ = 0, dropped_ = 0;  // bytes
};

}  // namespace verbatim::fabric
