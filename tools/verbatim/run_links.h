// `run --links FILE`: a line for each direction of each link.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/observe/congestion.h"

namespace verbatim::cli {

// Counts marked and lost packets by direction of a link. At the end, the ports' own counters are added.
class LinkCounts final : public ib::PacketObserver {
 public:
  explicit LinkCounts(const ComponentTable& components) : ports_(components.size()) {}
  TraceEvents packet_events() const override { return bits_of(TraceEvent::kPacketMarked, TraceEvent::kPacketDropped); }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;

  // Writes a header and lines as CSV: links in the topology's order, each from its end "a" first.
  // `congestion` must be finished and the run ended.
  void write_table(std::FILE* file, config::Simulation& simulation, const observe::Congestion& congestion,
                   Instant end) const;

 private:
  struct Port {
    std::uint64_t marked = 0;         // when this port sent them
    std::uint64_t lost_sending = 0;   // at the output, or on the link
    std::uint64_t lost_arriving = 0;  // on the link, or after it by the port's buffer or switch
  };
  std::vector<Port> ports_;  // by component
};

}  // namespace verbatim::cli
