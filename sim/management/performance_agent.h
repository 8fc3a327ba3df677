// The performance management agent of a node (IBA 16.1): reports the counters of its ports, each limited to
// the width of its field, and sets the counters that a mask selects to the values in the datagram.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sim/management/node.h"

namespace verbatim::management {

class PerformanceAgent {
 public:
  // Both must outlive the agent.
  PerformanceAgent(const Node& node, const PortCounters& counters) : node_(node), counters_(counters) {}

  // Response to a datagram received by a port; one that is not Get or Set gets a response with an error
  // status.
  ib::Mad answer(const ib::Mad& request, std::uint8_t in_port);

  // Counters of one port, relative to the values set.
  PortCounts counts(std::uint8_t port) const;

 private:
  // Counters of one port; of port 255 of a switch, the sums.
  std::optional<PortCounts> selected(std::uint8_t port) const;
  template <class Format>
  std::uint16_t counters(ib::Mad& mad, bool sets, std::uint8_t in_port, std::uint16_t mask, std::uint16_t mask2);

  const Node& node_;
  const PortCounters& counters_;
  std::map<std::uint8_t, PortCounts> offsets_;  // by port: subtracted, modulo 2^64
};

}  // namespace verbatim::management
