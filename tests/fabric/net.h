// Shared by the fabric tests: an engine with a stored trace, packets, and hosts that consume packets.
//
// The tests are compiled twice. With FABRIC_IN_WINDOWS every cable with a propagation time connects parts of
// the fabric that are executed in windows (`windows.h`).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/port.h"
#include "sim/fabric/switch.h"
#include "tests/core/at.h"
#include "tests/fabric/windows.h"

namespace verbatim::fabric {

inline constexpr ByteTime kEdr4x{80, 1};
inline constexpr ByteTime kFdr4x{440, 3};
inline constexpr ByteTime kQdr4x{250, 1};

// The propagation of cables whose length does not matter.
inline constexpr std::int64_t kWayPs = 10'000;
inline constexpr Duration kWay{kWayPs};

// A middle packet of an RC SEND: 26 bytes of headers and CRCs around the payload.
inline ib::PacketPtr make_packet(std::uint16_t lid, std::uint32_t payload, std::uint32_t number = 0,
                                 std::uint8_t lane = 0) {
  auto packet = std::make_unique<ib::Packet>();
  packet->lrh.destination = ib::Lid{lid};
  packet->lrh.service_level = ib::ServiceLevel{lane};
  packet->lrh.lane = ib::VirtualLane{lane};
  packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kSendMiddle);
  packet->bth.psn = ib::Psn{number};
  packet->payload.length = payload;
  return packet;
}

struct Keeper final : TraceSink {
  std::vector<TraceRecord> records;
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    records.push_back(record);
  }
  std::vector<TraceRecord> of(TraceEvent event) const {
    std::vector<TraceRecord> some;
    for (const TraceRecord& record : records) {
      if (record.event == event) some.push_back(record);
    }
    return some;
  }
};

#ifdef FABRIC_IN_WINDOWS
inline constexpr bool kInWindows = true;
#else
inline constexpr bool kInWindows = false;
#endif

class FabricEngine : public Engine {
 public:
  void connect(Port& a, Port& b, const LinkParams& link) { windows_.connect(a, b, link); }
  void run() { windows_.run(); }
  void run_until(Instant end) { windows_.run_until(end); }

 private:
  Windows windows_{*this, kInWindows};
};

// Component names are given in sorted order by the test: ids are their places.
struct Simulation {
  FabricEngine engine;
  Tracer tracer{engine};
  Keeper trace;
  Simulation() { tracer.add(trace); }
  void connect(Port& a, Port& b, const LinkParams& link) { engine.connect(a, b, link); }
};

// An end node. Returns buffer space at the packet's tail, unless set to keep it.
struct Host final : PacketSink {
  Host(Simulation& simulation, std::uint32_t id, const PortParams& params = {})
      : port(simulation.engine, simulation.tracer, ComponentId{id}, PortNumber{1}, params, *this) {}

  void receive(PortNumber, ib::PacketPtr packet, ArrivalTimes times) override {
    if (!port.admit(*packet)) {
      ++dropped;
      return;
    }
    arrivals.push_back(times);
    numbers.push_back(packet->bth.psn.value);
    if (release) port.release(packet->lrh.lane, packet->wire_bytes(), times.tail);
    kept.push_back(std::move(packet));
  }

  bool release = true;
  std::size_t dropped = 0;  // for want of space
  std::vector<ArrivalTimes> arrivals;
  std::vector<std::uint32_t> numbers;
  std::vector<ib::PacketPtr> kept;
  Port port;
};

// Nothing has arrived at t - 1 ps, `count` packets at t.
inline void expect_arrival_at(Simulation& simulation, const Host& host, std::size_t count, Instant t) {
  simulation.engine.run_until(t - Duration(1));
  EXPECT_EQ(host.arrivals.size(), count - 1) << "1 ps before " << to_ps(t);
  simulation.engine.run_until(t);
  ASSERT_EQ(host.arrivals.size(), count) << "at " << to_ps(t);
  EXPECT_EQ(host.arrivals.back().head, t);
}

}  // namespace verbatim::fabric
