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

// Packets that were marked or lost, by the direction of a link. What ports count themselves is read from them
// at the end.
class LinkCounts final : public ib::PacketObserver {
 public:
  explicit LinkCounts(const ComponentTable& components) : ports_(components.size()) {}
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;

  // As CSV, under a line of titles: links in the order of the topology, each from its end "a" first.
  // `congestion` is finished, and the run has ended.
  void write_table(std::FILE* file, config::Simulation& simulation, const observe::Congestion& congestion,
                   Instant end) const;

 private:
  struct Port {
    std::uint64_t marked = 0;         // as it sent them
    std::uint64_t lost_sending = 0;   // at the output, or on the link
    std::uint64_t lost_arriving = 0;  // on the link, or behind it by the buffer or switch of the port
  };
  std::vector<Port> ports_;  // by component
};

}  // namespace verbatim::cli
