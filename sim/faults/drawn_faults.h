// Faults that come from the choices of a run and not from its script: at most so many packets, as its budget says, of any link
// are lost, duplicated or late. Which ones is chosen ahead for each port, as a number of packets, so that with all of a
// budget's faults in the first packets or far behind them is equally likely.
#pragma once

#include <cstdint>
#include <map>

#include "sim/core/choice.h"
#include "sim/core/trace.h"
#include "sim/fabric/port.h"

namespace verbatim::faults {

// How many packets of a port pass before the next is hit: one of four steps in each of 12 octaves from 1 on; at the default none
// is hit among the next 4,096.
inline constexpr std::string_view kPacketFault = "packet-fault";
inline constexpr std::uint32_t kDistanceOctaves = 12, kDistanceSteps = 4;
// Lost, duplicated or late; as late as some multiples of usual timeouts: up to 0.5 s.
inline constexpr std::string_view kPacketFaultKind = "packet-fault/kind";
inline constexpr DelaySite kPacketFaultDelay{"packet-fault/delay", Duration(1'000'000), 19};
// The rules of a script are numbered from 0 on; these are the numbers of the kinds in the trace.
inline constexpr std::uint64_t kFirstDrawnRule = 1'000'000;

class DrawnFaults final : public fabric::PacketFaults {
 public:
  // What `script` does to a packet comes first.
  DrawnFaults(Choices& choices, Tracer& tracer, fabric::PacketFaults& script)
      : choices_(choices), tracer_(tracer), script_(script) {}
  DrawnFaults(const DrawnFaults&) = delete;
  DrawnFaults& operator=(const DrawnFaults&) = delete;

  // So many packets in all of the ports that are added; 0: none.
  void set_budget(std::uint64_t packets) { left_ = packets; }
  // The port is connected and outlives the last packet.
  void add(fabric::Port& port) { port.set_faults(this); }
  // How many packets were hit.
  std::uint64_t fired() const { return fired_; }

  fabric::PacketFate on_packet(const fabric::Port& port, ib::Packet& packet) override;

 private:
  struct Ahead {
    std::uint64_t packets = 0;  // until that one
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
