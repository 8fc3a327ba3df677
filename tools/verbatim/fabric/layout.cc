#include "tools/verbatim/fabric/layout.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace verbatim::cli {

namespace {

constexpr std::size_t kFar = ~std::size_t{0};

// Union-find over nodes.
class Islands {
 public:
  explicit Islands(std::size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), std::size_t{0}); }
  std::size_t of(std::size_t node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }
  void join(std::size_t a, std::size_t b) { parents_[of(a)] = of(b); }

 private:
  std::vector<std::size_t> parents_;
};

bool has_room(const std::vector<FabricBox>& boxes, std::size_t most) {
  std::map<std::size_t, std::size_t> counts;
  return std::ranges::none_of(boxes, [&](const FabricBox& box) { return ++counts[box.layer] > most; });
}

// Groups nodes of a layer with the same key in a box.
template <class Key>
std::vector<FabricBox> boxes_by(const FabricLayers& layers, const Key& key_of) {
  std::map<std::pair<std::size_t, std::size_t>, FabricBox> by_key;
  for (std::size_t node = 0; node < layers.size(); ++node) {
    FabricBox& box = by_key[{layers.layer(node), key_of(node)}];
    box.layer = layers.layer(node);
    box.nodes.push_back(node);
  }
  std::vector<FabricBox> boxes;
  const auto order = [&](std::size_t node) { return std::pair(layers.place(node), node); };
  for (auto& [key, box] : by_key) {
    std::ranges::sort(box.nodes, {}, order);
    boxes.push_back(std::move(box));
  }
  std::ranges::sort(boxes, {}, [&](const FabricBox& box) { return std::pair(box.layer, order(box.nodes.front())); });
  return boxes;
}

}  // namespace

FabricLayers::FabricLayers(const config::TopologySpec& topology) {
  const std::size_t adapters = topology.adapters.size(), count = adapters + topology.switches.size();
  const auto node_of = [&](const config::Endpoint& end) { return end.is_switch ? adapters + end.node : end.node; };
  layer_.assign(count, kFar);
  place_.assign(count, kFar);
  std::vector<std::vector<std::size_t>> neighbours(count);
  for (const config::LinkSpec& link : topology.links) {
    const std::size_t a = node_of(link.end_a), b = node_of(link.end_b);
    cables_.push_back({a, b});
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  std::vector<std::size_t> front;
  for (std::size_t node = 0; node < adapters; ++node) {
    layer_[node] = 0;
    place_[node] = node;
    front.push_back(node);
  }
  for (std::size_t i = 0; i < front.size(); ++i) {
    for (const std::size_t next : neighbours[front[i]]) {
      if (layer_[next] == kFar) {
        layer_[next] = layer_[front[i]] + 1;
        front.push_back(next);
      }
      if (layer_[next] == layer_[front[i]] + 1) place_[next] = std::min(place_[next], place_[front[i]]);
    }
  }
  lower_switches_without_hosts(neighbours, front);
  for (std::size_t& layer : layer_) {
    if (layer == kFar) layer = 1;  // a switch without a path to any adapter
    top_ = std::max(top_, layer);
  }
  for (Cable& cable : cables_) {
    if (layer_[cable.a] > layer_[cable.b]) std::swap(cable.a, cable.b);
  }
}

// A leaf without hosts is reached from above: it has the switches above its sibling below it. `front` is ordered
// by distance from the adapters.
void FabricLayers::lower_switches_without_hosts(const std::vector<std::vector<std::size_t>>& neighbours,
                                                const std::vector<std::size_t>& front) {
  const std::vector<std::size_t> distances = layer_;
  const auto at_distance = [&](std::size_t node, std::size_t distance) {
    std::vector<std::size_t> some;
    for (const std::size_t next : neighbours[node]) {
      if (distances[next] == distance) some.push_back(next);
    }
    std::ranges::sort(some);
    some.erase(std::unique(some.begin(), some.end()), some.end());
    return some;
  };
  std::map<std::vector<std::size_t>, std::size_t> last_places;  // by the switches above a node; these have one distance
  for (const std::size_t node : front) {
    const std::size_t distance = distances[node];
    if (distance == 0) continue;
    if (distance >= 3) {
      const std::vector<std::size_t> nearer = at_distance(node, distance - 1);
      if (std::ranges::all_of(nearer, [&](std::size_t next) { return layer_[next] < distances[next]; })) {
        layer_[node] = std::max<std::size_t>(layer_[nearer.front()], 2) - 1;
      } else if (const auto sibling = last_places.find(nearer); sibling != last_places.end()) {
        layer_[node] = distance - 2;
        place_[node] = sibling->second;
      }
    }
    const std::vector<std::size_t> farther = at_distance(node, distance + 1);
    if (farther.empty()) continue;
    std::size_t& last = last_places.try_emplace(farther, place_[node]).first->second;
    last = std::max(last, place_[node]);
  }
}

std::vector<FabricBox> boxes_of(const FabricLayers& layers, std::size_t most) {
  std::vector<FabricBox> boxes = boxes_by(layers, [](std::size_t node) { return node; });
  for (std::size_t joined = 1; joined <= layers.top() && !has_room(boxes, most); ++joined) {
    std::vector<std::vector<std::size_t>> keys;  // by highest layer of the joining cables, then by node
    for (std::size_t highest = 0; highest <= layers.top(); ++highest) {
      Islands islands(layers.size());
      for (const FabricLayers::Cable& cable : layers.cables()) {
        if (layers.layer(cable.a) != layers.layer(cable.b) && layers.layer(cable.b) <= highest)
          islands.join(cable.a, cable.b);
      }
      keys.emplace_back();
      for (std::size_t node = 0; node < layers.size(); ++node) keys.back().push_back(islands.of(node));
    }
    boxes = boxes_by(layers, [&](std::size_t node) { return keys[std::max(joined, layers.layer(node))][node]; });
  }
  if (!has_room(boxes, most)) boxes = boxes_by(layers, [](std::size_t) { return std::size_t{0}; });
  return boxes;
}

}  // namespace verbatim::cli
