// Lower bounds for the time in which a fabric can carry given bytes, whatever the routes: the bytes that have to
// cross a cut, over the summed rates of the cut's cables in that direction. The cuts are the cable of each adapter, each
// switch with its adapters, and in each layer (FabricLayers) the parts of the fabric up to that layer that are joined
// to each other by higher layers alone, such as pods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/spec.h"

namespace verbatim::cli {

// Payload from an adapter to another one, by their indices.
using BytesOfPairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

// Time for bytes at a rate above 0, rounded up to a picosecond.
Duration time_for(std::uint64_t bytes, std::uint64_t bits_per_second);

struct Bottleneck {
  std::string from, to;               // of one cable: its ends in the direction of the bytes; else empty
  std::vector<std::string> switches;  // of several cables: the switches that the bytes leave or reach
  bool is_into = false;               // bytes to hosts below the switches, not from them
  std::size_t cables = 1;
  std::uint64_t bytes = 0, bits_per_second = 0;  // the rate is that of all cables

  Duration time() const { return time_for(bytes, bits_per_second); }
};

class FabricCuts {
 public:
  // The topology must outlive this object.
  explicit FabricCuts(const config::TopologySpec& topology);

  // The cut that needs the most time; of equal ones that with the fewest cables, then the first one by name.
  // nullopt: no bytes cross any cut.
  std::optional<Bottleneck> slowest(const BytesOfPairs& pairs) const;

 private:
  static constexpr std::uint32_t kNoPart = ~0u;
  struct Part {
    std::uint64_t bits_per_second = 0;  // of the cables that leave it
    std::vector<std::uint32_t> cables;  // indices of these links
  };
  struct Division {
    std::vector<std::uint32_t> of_node;  // by node, adapters first: its part
    std::vector<Part> parts;
  };

  Division divide(const std::vector<std::uint32_t>& of_node, std::uint32_t parts) const;
  Bottleneck describe(const Division& division, std::uint32_t part, bool is_into, std::uint64_t bytes) const;
  std::size_t node_of(const config::Endpoint& end) const;

  const config::TopologySpec& topology_;
  std::vector<Division> divisions_;
};

}  // namespace verbatim::cli
