// Unscripted packet faults: packets of any link that are lost, duplicated or late, within a run's budget. The
// packets are chosen in advance for each port, as distances in packets, so that hits among the first packets
// and hits long after them are equally likely.
#pragma once

#include <cstdint>
#include <map>

#include "sim/core/choice.h"
#include "sim/core/trace.h"
#include "sim/fabric/port.h"

namespace verbatim::faults {

// Number of packets of a port up to and including the next hit: one of four steps in each of 12 octaves from
// 1 on; the default answer: no hit among the next 4,096.
inline constexpr std::string_view kPacketFault = "packet-fault";
inline constexpr std::uint32_t kDistanceOctaves = 12, kDistanceSteps = 4;
// The number of packets for a step, from the shortest on.
constexpr std::uint64_t drawn_distance(std::uint32_t step) {
  return (std::uint64_t{1} << step / kDistanceSteps) * (kDistanceSteps + step % kDistanceSteps) / kDistanceSteps;
}
// Lost, duplicated or late; the delay may exceed usual timeouts: up to 0.5 s.
inline constexpr std::string_view kPacketFaultKind = "packet-fault/kind";
enum class DrawnFaultKind : std::uint32_t { kLost, kDuplicated, kLate };
inline constexpr std::uint32_t kDrawnFaultKinds = 3;
inline constexpr DelaySite kPacketFaultDelay{"packet-fault/delay", Duration(1'000'000), 19};
// First rule number in the trace, one per kind of fault; rules of a script are numbered from 0.
inline constexpr std::uint64_t kFirstDrawnRule = 1'000'000;

class DrawnFaults final : public fabric::PacketFaults {
 public:
  // `script` is applied to each packet first.
  DrawnFaults(Choices& choices, Tracer& tracer, fabric::PacketFaults& script)
      : choices_(choices), tracer_(tracer), script_(script) {}
  DrawnFaults(const DrawnFaults&) = delete;
  DrawnFaults& operator=(const DrawnFaults&) = delete;

  // Maximum number of packets hit at all ports together; 0: none.
  void set_budget(std::uint64_t packets) { left_ = packets; }
  // The port must be connected and outlive the last packet.
  void add(fabric::Port& port) { port.set_faults(this); }
  // Number of packets hit.
  std::uint64_t fired() const { return fired_; }

  fabric::PacketFate on_packet(const fabric::Port& port, ib::Packet& packet) override;

 private:
  struct Ahead {
    std::uint64_t packets = 0;  // up to and including the next hit
    bool is_hit = false;
  };
  Ahead draw(ComponentId port);

  Choices& choices_;
  Tracer& tracer_;
  fabric::PacketFaults& script_;
  std::uint64_t left_ = 0, fired_ = 0;
  std::map<ComponentId, Ahead> ahead_;
};

}  // namespace verbatim::faults
