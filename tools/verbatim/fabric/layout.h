// Divides a fabric into layers: adapters are layer 0, switches with adapters layer 1, switches behind these
// layer 2, and so on. A switch without adapters that has the same switches above it as one with adapters is in
// the layer of that one. Layers follow from the cables, so every topology has them. For pictures, nodes of a layer are
// grouped in boxes until each layer has few boxes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/config/spec.h"

namespace verbatim::cli {

// Nodes are adapters, then switches, as in config::nodes_of().
class FabricLayers {
 public:
  explicit FabricLayers(const config::TopologySpec& topology);

  std::size_t size() const { return layer_.size(); }
  std::size_t layer(std::size_t node) const { return layer_[node]; }
  std::size_t top() const { return top_; }
  // Least index of an adapter below the node, following one layer at a time; orders the nodes of a layer from
  // left to right.
  std::size_t place(std::size_t node) const { return place_[node]; }
  struct Cable {
    std::size_t a, b;  // nodes; a is not in a higher layer than b
  };
  const std::vector<Cable>& cables() const { return cables_; }  // in the order of the topology's links

 private:
  void lower_switches_without_hosts(const std::vector<std::vector<std::size_t>>& neighbours,
                                    const std::vector<std::size_t>& front);

  std::vector<std::size_t> layer_, place_;
  std::vector<Cable> cables_;
  std::size_t top_ = 0;
};

struct FabricBox {
  std::size_t layer = 0;
  std::vector<std::size_t> nodes;  // from left to right
};

// Boxes layer by layer, each layer from left to right. If no layer has more than `most` nodes, each node has
// its own box. Otherwise adapters of one switch are grouped, then switches of a layer that are joined by
// cables to lower layers, for higher and higher layers; in the end each layer is one box.
std::vector<FabricBox> boxes_of(const FabricLayers& layers, std::size_t most);

}  // namespace verbatim::cli
