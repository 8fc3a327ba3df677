// The performance management agent of a node (IBA 16.1): tells the counters of its ports, each up to the end of its field, and
// sets those that a mask names to what the datagram holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sim/management/node.h"

namespace verbatim::management {

class PerformanceAgent {
 public:
  // Both outlive it.
  PerformanceAgent(const Node& node, const PortCounters& counters) : node_(node), counters_(counters) {}

  // The answer to what has come in by a port; to what is no Get or Set, one that says so.
  ib::Mad answer(const ib::Mad& request, std::uint8_t in_port);

  // Of one port, as the settings leave them.
  PortCounts counts(std::uint8_t port) const;

 private:
  // Of one port; of port 255 of a switch, the sums.
  std::optional<PortCounts> selected(std::uint8_t port) const;
  template <class Format>
  std::uint16_t counters(ib::Mad& mad, bool sets, std::uint8_t in_port, std::uint16_t mask, std::uint16_t mask2);

  const Node& node_;
  const PortCounters& counters_;
  std::map<std::uint8_t, PortCounts> offsets_;  // by port: what is taken off, modulo 2^64
};

}  // namespace verbatim::management
