#include "tools/verbatim/workload/bottleneck.h"

#include <algorithm>

#include "tools/verbatim/fabric/layout.h"

namespace verbatim::cli {

Duration time_for(std::uint64_t bytes, std::uint64_t bits_per_second) {
  constexpr unsigned __int128 kScale = 8ull * 1'000'000'000'000;
  return Duration(static_cast<std::int64_t>((bytes * kScale + bits_per_second - 1) / bits_per_second));
}

std::size_t FabricCuts::node_of(const config::Endpoint& end) const {
  return end.is_switch ? topology_.adapters.size() + end.node : end.node;
}

FabricCuts::FabricCuts(const config::TopologySpec& topology) : topology_(topology) {
  const FabricLayers layers(topology);
  const std::size_t adapters = topology.adapters.size();
  std::vector<std::uint32_t> of_node(layers.size(), kNoPart);
  for (std::size_t i = 0; i < adapters; ++i) of_node[i] = static_cast<std::uint32_t>(i);
  divisions_.push_back(divide(of_node, static_cast<std::uint32_t>(adapters)));

  // Each switch with its adapters. An adapter has one cable; one between two adapters belongs to no switch.
  std::fill(of_node.begin(), of_node.end(), kNoPart);
  for (std::size_t i = adapters; i < of_node.size(); ++i) of_node[i] = static_cast<std::uint32_t>(i - adapters);
  for (const FabricLayers::Cable& cable : layers.cables()) {
    if (cable.a < adapters) of_node[cable.a] = of_node[cable.b];
  }
  divisions_.push_back(divide(of_node, static_cast<std::uint32_t>(topology.switches.size())));

  std::vector<std::vector<std::size_t>> neighbours(layers.size());
  for (const FabricLayers::Cable& cable : layers.cables()) {
    neighbours[cable.a].push_back(cable.b);
    neighbours[cable.b].push_back(cable.a);
  }
  for (std::size_t layer = 1; layer <= layers.top(); ++layer) {
    std::fill(of_node.begin(), of_node.end(), kNoPart);
    std::uint32_t parts = 0;
    for (std::size_t first = adapters; first < layers.size(); ++first) {
      if (of_node[first] != kNoPart || layers.layer(first) > layer) continue;
      std::vector<std::size_t> front{first};
      of_node[first] = parts;
      for (std::size_t i = 0; i < front.size(); ++i) {
        for (const std::size_t next : neighbours[front[i]]) {
          if (of_node[next] != kNoPart || layers.layer(next) > layer) continue;
          of_node[next] = parts;
          front.push_back(next);
        }
      }
      ++parts;
    }
    divisions_.push_back(divide(of_node, parts));
  }
}

FabricCuts::Division FabricCuts::divide(const std::vector<std::uint32_t>& of_node, std::uint32_t parts) const {
  Division division{of_node, std::vector<Part>(parts)};
  for (std::uint32_t i = 0; i < topology_.links.size(); ++i) {
    const config::LinkSpec& link = topology_.links[i];
    const std::uint32_t a = of_node[node_of(link.end_a)], b = of_node[node_of(link.end_b)];
    if (a == b) continue;
    for (const std::uint32_t part : {a, b}) {
      if (part == kNoPart) continue;
      division.parts[part].bits_per_second += static_cast<std::uint64_t>(config::bits_per_second(link.rate));
      division.parts[part].cables.push_back(i);
    }
  }
  return division;
}

Bottleneck FabricCuts::describe(const Division& division, std::uint32_t part, bool is_into, std::uint64_t bytes) const {
  const Part& cut = division.parts[part];
  Bottleneck found;
  found.is_into = is_into;
  found.cables = cut.cables.size();
  found.bytes = bytes;
  found.bits_per_second = cut.bits_per_second;
  if (cut.cables.size() == 1) {
    const config::LinkSpec& link = topology_.links[cut.cables[0]];
    const auto name = [&](const config::Endpoint& end) { return topology_.node_name(end) + ":" + std::to_string(end.port); };
    const bool leaves_a = (division.of_node[node_of(link.end_a)] == part) != is_into;
    found.from = name(leaves_a ? link.end_a : link.end_b);
    found.to = name(leaves_a ? link.end_b : link.end_a);
    return found;
  }
  for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
    if (division.of_node[topology_.adapters.size() + i] == part) found.switches.push_back(topology_.switches[i].name);
  }
  return found;
}

std::optional<Bottleneck> FabricCuts::slowest(const BytesOfPairs& pairs) const {
  std::optional<Bottleneck> slowest;
  const auto is_slower = [&](const Bottleneck& one) {
    if (!slowest) return true;
    if (one.time() != slowest->time()) return one.time() > slowest->time();
    if (one.cables != slowest->cables) return one.cables < slowest->cables;
    return std::tie(one.from, one.switches, one.is_into) < std::tie(slowest->from, slowest->switches, slowest->is_into);
  };
  std::vector<std::uint64_t> out, in;  // by part
  for (const Division& division : divisions_) {
    out.assign(division.parts.size(), 0);
    in.assign(division.parts.size(), 0);
    for (const auto& [pair, bytes] : pairs) {
      const std::uint32_t from = division.of_node[pair.first], to = division.of_node[pair.second];
      if (from == to) continue;
      if (from != kNoPart) out[from] += bytes;
      if (to != kNoPart) in[to] += bytes;
    }
    for (std::uint32_t part = 0; part < division.parts.size(); ++part) {
      if (division.parts[part].cables.empty()) continue;
      for (const bool is_into : {false, true}) {
        const std::uint64_t bytes = is_into ? in[part] : out[part];
        if (bytes == 0) continue;
        const Duration time = time_for(bytes, division.parts[part].bits_per_second);
        if (slowest && time < slowest->time()) continue;
        Bottleneck one = describe(division, part, is_into, bytes);
        if (is_slower(one)) slowest = std::move(one);
      }
    }
  }
  return slowest;
}

}  // namespace verbatim::cli
