// Plans by routing engines, their routes, their loops, and tori.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/subnet/credit_loops.h"
#include "tests/subnet/graphs.h"

namespace verbatim::subnet {

using fabric::PortNumber;

inline constexpr std::uint32_t kLanes = 8;

inline Routing by(Engine engine, std::vector<std::size_t> roots = {}) {
  return {.engines = {engine}, .no_fallback = false, .roots = std::move(roots), .torus = {}, .lanes = kLanes};
}

inline Plan plan_by(const Graph& graph, const Routing& routing, const Plan* before = nullptr) {
  return plan(graph.nodes, graph.cables, false, routing, before);
}

// The engine's lanes, or else the lane with the level's number.
inline LaneOf lanes_of(const Plan& plan) {
  return [&plan](std::size_t node, PortNumber in, PortNumber port, std::uint8_t level) -> std::uint8_t {
    const NodePlan& own = plan.nodes[node];
    std::vector<fabric::LevelMapping> lanes;
    if (!own.lanes.empty()) lanes = own.lanes[port.value - 1u];
    for (const NodePlan::TurnLanes& turn : own.turn_lanes) {
      if (turn.in == in && turn.out == port) lanes = turn.lanes;
    }
    return fabric::LaneTable(lanes).of(ib::ServiceLevel{level}, kLanes).value;
  };
}

inline std::string loop_of(const Graph& graph, const Plan& plan) {
  return credit_loop_text(graph.nodes, find_credit_loop(graph.nodes, graph.cables, plan, lanes_of(plan)));
}

// The cabling by port.
class Cabling {
 public:
  explicit Cabling(const Graph& graph) : graph_(graph) {
    for (const Cable& cable : graph.cables) {
      ends_[{cable.a.node, cable.a.port.value}] = cable.b;
      ends_[{cable.b.node, cable.b.port.value}] = cable.a;
    }
  }

  // Switch outputs that a packet from an adapter to another takes, those to adapters, too. Empty: it does not get there.
  Route route(const Plan& plan, std::size_t from, std::size_t to) const {
    const std::uint16_t lid = plan.nodes[to].ports[0].lid.value;
    Route route;
    const auto first = ends_.find({from, 1});
    if (first == ends_.end()) return {};
    for (std::size_t at = first->second.node; at != to;) {
      if (graph_.nodes[at].kind == NodeKind::kAdapter || route.size() > graph_.nodes.size()) return {};
      const PortNumber port = plan.nodes[at].forwarding_table.at(lid);
      const auto next = ends_.find({at, port.value});
      if (next == ends_.end()) return {};
      route.push_back({at, port});
      at = next->second.node;
    }
    return route;
  }

 private:
  const Graph& graph_;
  std::map<std::pair<std::size_t, std::uint32_t>, Attachment> ends_;
};

inline std::vector<std::size_t> nodes_of(const Graph& graph, NodeKind kind) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == kind) found.push_back(i);
  }
  return found;
}

inline std::size_t node_named(const Graph& graph, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(graph.nodes, name, &Node::name) - graph.nodes.begin());
}

// Pairs of adapters that minimum hops join and `plan` does not.
inline std::size_t gaps(const Graph& graph, const Plan& plan) {
  const Plan all = plan_by(graph, by(Engine::kMinhop));
  const Cabling cabling(graph);
  const std::vector<std::size_t> adapters = nodes_of(graph, NodeKind::kAdapter);
  std::size_t count = 0;
  for (const std::size_t from : adapters) {
    for (const std::size_t to : adapters) {
      if (from != to && cabling.route(plan, from, to).empty() && !cabling.route(all, from, to).empty()) ++count;
    }
  }
  return count;
}

// A torus of three dimensions at the most, one host at each switch; ports: the host, then up and down along each dimension.
struct TorusGraph {
  Graph graph;
  Torus torus;
};

inline TorusGraph torus_of(const std::vector<std::uint32_t>& sizes, bool is_closed = true) {
  TorusGraph result;
  std::size_t count = 1;
  for (const std::uint32_t size : sizes) {
    result.torus.dimensions.push_back({size, is_closed});
    count *= size;
  }
  for (std::size_t i = 0; i < count; ++i)
    result.torus.switches.push_back(add_switch(result.graph, "s" + std::to_string(1000 + i), 1, 7));
  std::size_t stride = count;
  for (std::uint32_t d = 0; d < sizes.size(); ++d) {
    stride /= sizes[d];
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = i / stride % sizes[d], next = (place + 1) % sizes[d];
      if (sizes[d] == 1 || (next == 0 && (!is_closed || sizes[d] == 2))) continue;
      result.graph.cables.push_back(
          {end(result.torus.switches[i], 2 + 2 * d), end(result.torus.switches[i + next * stride - place * stride], 3 + 2 * d)});
    }
  }
  return result;
}

inline Routing torus_2qos(const TorusGraph& of) {
  Routing routing = by(Engine::kTorus2Qos);
  routing.torus = of.torus;
  routing.no_fallback = true;
  return routing;
}

// Without all cables of the switches at these places to others.
inline TorusGraph without(TorusGraph of, const std::set<std::size_t>& places) {
  std::set<std::size_t> failed;
  for (const std::size_t place : places) failed.insert(of.torus.switches[place]);
  std::erase_if(of.graph.cables, [&](const Cable& cable) {
    const auto is_switch = [&](const Attachment& at) { return of.graph.nodes[at.node].kind == NodeKind::kSwitch; };
    return is_switch(cable.a) && is_switch(cable.b) && (failed.contains(cable.a.node) || failed.contains(cable.b.node));
  });
  return of;
}

// Together with the routes, and to every adapter once.
inline void expect_legal_tree(const Graph& graph, const Plan& plan) {
  const auto loop = find_credit_loop(graph.nodes, graph.cables, plan, lanes_of(plan), true);
  EXPECT_EQ(credit_loop_text(graph.nodes, loop), "") << name_of(plan.engine);
  std::map<std::pair<std::size_t, std::uint32_t>, Attachment> ends;
  for (const Cable& cable : graph.cables) {
    ends[{cable.a.node, cable.a.port.value}] = cable.b;
    ends[{cable.b.node, cable.b.port.value}] = cable.a;
  }
  std::set<std::size_t> reached;
  std::size_t isolated = 0;
  for (const std::size_t adapter : nodes_of(graph, NodeKind::kAdapter)) {
    std::vector<std::pair<std::size_t, std::uint32_t>> front;  // switches, and the ports by which a copy arrived
    const Attachment first = ends.at({adapter, 1});
    front.emplace_back(first.node, first.port.value);
    std::size_t copies = 0;
    for (std::size_t i = 0; i < front.size() && front.size() <= graph.nodes.size(); ++i) {
      for (const PortNumber port : plan.nodes[front[i].first].multicast_ports) {
        if (port.value == front[i].second) continue;
        const Attachment next = ends.at({front[i].first, port.value});
        if (graph.nodes[next.node].kind == NodeKind::kAdapter) ++copies;
        else front.emplace_back(next.node, next.port.value);
      }
    }
    isolated += copies == 0 ? 1 : 0;
    reached.insert(copies);
  }
  const std::size_t adapters = nodes_of(graph, NodeKind::kAdapter).size();
  reached.erase(0);
  EXPECT_EQ(reached, std::set<std::size_t>{adapters - 1 - isolated}) << name_of(plan.engine);
}

}  // namespace verbatim::subnet
