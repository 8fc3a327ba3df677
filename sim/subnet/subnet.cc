#include "sim/subnet/subnet.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/ib/partition.h"
#include "sim/subnet/fat_tree.h"
#include "sim/subnet/layers.h"
#include "sim/subnet/multicast_trees.h"
#include "sim/subnet/shortest_routes.h"
#include "sim/subnet/switch_graph.h"
#include "sim/subnet/torus.h"
#include "sim/subnet/up_down.h"

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using fabric::RouteTable;

// Locally administered EUI-64 identifiers that spell "VB"; bits 47:40 distinguish adapters and switches.
constexpr std::uint64_t kAdapterGuids = 0x0256'4200'0000'0000;
constexpr std::uint64_t kSwitchGuids = 0x0256'4201'0000'0000;

class Planner {
 public:
  Planner(const std::vector<Node>& nodes, const std::vector<Cable>& cables, bool all_paths, const Routing& routing,
          const Plan* before)
      : nodes_(nodes), all_paths_(all_paths), routing_(routing), before_(before), graph_(nodes, cables) {
    by_name_.resize(nodes.size());
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
      if (nodes[a].kind != nodes[b].kind) return nodes[a].kind == NodeKind::kAdapter;
      return nodes[a].name < nodes[b].name;
    });
  }

  Plan run() {
    assign_addresses();
    graph_.add_adapters(owners_);
    set_multicast_ports(graph_, shortest_tree(graph_), plan_);
    choose_engine();
    find_islands();
    return std::move(plan_);
  }

 private:
  // Adapters first, so that they keep their LIDs when a switch is added; ports in order within a node.
  void assign_addresses() {
    plan_.nodes.resize(nodes_.size());
    std::uint64_t index[2] = {0, 0};
    std::size_t next = 1;  // all lower LIDs are taken
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].lid != 0)
        own(nodes_[node].lid, {node, PortNumber{static_cast<std::uint8_t>(nodes_[node].kind == NodeKind::kSwitch ? 0 : 1)}});
    }
    for (const std::size_t node : by_name_) {
      const bool is_switch = nodes_[node].kind == NodeKind::kSwitch;
      NodePlan& target = plan_.nodes[node];
      target.guid = (is_switch ? kSwitchGuids : kAdapterGuids) | (++index[is_switch] << 8);
      const std::uint64_t port_guid = nodes_[node].port_guid != 0 ? nodes_[node].port_guid
                                      : is_switch                 ? target.guid
                                                                  : target.guid + 1;
      if (nodes_[node].guid != 0) target.guid = nodes_[node].guid;
      const std::uint32_t count = is_switch ? 1 : nodes_[node].ports;
      for (std::uint32_t i = 0; i < count; ++i) {
        PortPlan port;
        port.guid = is_switch ? target.guid : port_guid + i;
        port.gid = link_local_gid(port.guid);
        if (!is_switch) port.mac = ib::MacAddress{kMacBase.value + ++macs_};
        if (nodes_[node].lid != 0) {
          port.lid = ib::Lid{nodes_[node].lid};
        } else if ((next = free_lid(next)) <= kUnicastLids) {
          port.lid = ib::Lid{static_cast<std::uint16_t>(next)};
          own(next, {node, PortNumber{static_cast<std::uint8_t>(is_switch ? 0 : i + 1)}});
        } else {
          plan_.findings.push_back(nodes_[node].name + ": no LID is left; a subnet has at most 49151");
        }
        if (plan_.subnet_manager.value == 0 && !is_switch && nodes_[node].has_management) plan_.subnet_manager = port.lid;
        target.ports.push_back(port);
      }
    }
  }

  std::size_t free_lid(std::size_t from) const {
    while (from < owners_.size() && owners_[from].node != kNowhere) ++from;
    return from;
  }

  void own(std::size_t lid, const Attachment& owner) {
    if (owners_.size() <= lid) owners_.resize(lid + 1, Attachment{kNowhere, {}});
    owners_[lid] = owner;
  }

  // As in OpenSM: the first engine that can route the fabric, otherwise minhop.
  void choose_engine() {
    for (const Engine engine : routing_.engines) {
      if (try_engine(engine)) return;
    }
    if (!routing_.no_fallback && try_engine(Engine::kMinhop)) return;
    plan_.is_routed = false;
    for (std::size_t number = 0; number < graph_.size(); ++number)
      plan_.nodes[graph_.node(number)].forwarding_table.assign(owners_.size(), RouteTable::kNoRoute);
  }

  bool try_engine(Engine engine) {
    for (NodePlan& node : plan_.nodes) node.routes = nullptr;
    std::string refusal = compute_routes(engine);
    if (refusal.empty()) {
      plan_.engine = engine;
      return true;
    }
    plan_.refusals.push_back({engine, std::move(refusal)});
    return false;
  }

  // Computes routes; returns "" or the reason of the refusal.
  std::string compute_routes(Engine engine) {
    ShortestOptions options;
    options.all_paths = all_paths_ && has_groups(engine);
    using Choice = ShortestOptions::Choice;
    switch (engine) {
      case Engine::kMinhop:
        options.before = before_;
        return route_shortest(options);
      case Engine::kDor:
        options.choice = Choice::kFirstDimension;
        options.before = before_;
        return route_shortest(options);
      case Engine::kUpdn: {
        const std::vector<std::size_t> roots = routing_.roots.empty() ? find_roots(graph_) : given_roots();
        if (roots.empty()) return "no switch has nearly all adapters at one distance, as a root has; name the roots";
        options.ranks = ranks_below(graph_, roots);
        options.before = before_;
        return route_shortest(options);
      }
      case Engine::kDnup:
        options.ranks = ranks_above_adapters(graph_);
        options.before = before_;
        return route_shortest(options);
      case Engine::kLash:
        options.choice = Choice::kOneForSwitch;
        return route_in_layers(options);
      case Engine::kDfsssp:
        options.choice = Choice::kCheapest;
        return route_in_layers(options);
      case Engine::kFtree:
        return route_fat_tree();
      case Engine::kTorus2Qos:
        if (routing_.torus.switches.empty()) return "the torus is not described";
        return compute_torus_routes(graph_, nodes_, owners_.size(), routing_.torus, routing_.lanes, plan_);
      case Engine::kFile:
        return use_given_tables();
    }
    return "";
  }

  std::string route_fat_tree() {
    std::string problem = compute_fat_tree_routes(graph_, nodes_, owners_.size(), given_roots(), plan_);
    if (!problem.empty()) return problem;
    ShortestOptions options;
    options.all_paths = true;
    options.ranks = routing_.roots.empty() ? ranks_above_adapters(graph_) : ranks_below(graph_, given_roots());
    grow_tree_below(options.ranks);
    if (!all_paths_) return "";
    Plan all;
    all.nodes = plan_.nodes;
    compute_shortest_routes(graph_, owners_.size(), options, all);
    for (std::size_t node = 0; node < plan_.nodes.size(); ++node) plan_.nodes[node].routes = std::move(all.nodes[node].routes);
    return "";
  }

  // If no root leads down to all adapters, the tree of shortest paths stays.
  void grow_tree_below(const std::vector<std::uint64_t>& ranks) {
    if (ranks.empty()) return;
    if (const std::vector<TreeCable> tree = tree_below(graph_, ranks); !tree.empty()) set_multicast_ports(graph_, tree, plan_);
  }

  std::string use_given_tables() {
    if (routing_.tables.size() != graph_.size()) return "not every switch has a forwarding table";
    for (const GivenTable& given : routing_.tables) {
      std::vector<PortNumber>& table = plan_.nodes[given.node].forwarding_table;
      table.assign(owners_.size(), RouteTable::kNoRoute);
      for (const auto& [lid, port] : given.entries) {
        if (lid < table.size()) table[lid] = PortNumber{port};
      }
    }
    return "";
  }

  std::vector<std::size_t> given_roots() const {
    std::vector<std::size_t> roots;
    for (const std::size_t node : routing_.roots) roots.push_back(graph_.number(node));
    return roots;
  }

  std::string route_shortest(const ShortestOptions& options) {
    const Unreached gap = compute_shortest_routes(graph_, owners_.size(), options, plan_);
    if (!gap) {
      grow_tree_below(options.ranks);
      return "";
    }
    const auto name = [&](std::size_t number) { return nodes_[graph_.node(number)].name; };
    return "no path from switch " + name(gap->first) + " to " + name(gap->second) + " goes up first and then down";
  }

  std::string route_in_layers(const ShortestOptions& options) {
    compute_shortest_routes(graph_, owners_.size(), options, plan_);
    std::optional<Layering> layering = assign_layers(graph_, owners_.size(), routing_.lanes, plan_);
    if (!layering)
      return "paths without credit loops need more than the " + std::to_string(routing_.lanes) +
             (routing_.lanes == 1 ? " data lane" : " data lanes") + " that cables between switches have";
    plan_.levels = std::move(layering->levels);
    plan_.layers = layering->layers;
    return "";
  }

  // Adapter ports reach each other over cables and switches, not through adapters.
  void find_islands() {
    std::vector<std::size_t> island_of_switch(nodes_.size(), kNowhere);
    std::vector<std::vector<std::string>> islands;
    std::vector<std::vector<bool>> seen(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) seen[i].assign(nodes_[i].ports, false);

    for (const std::size_t node : by_name_) {
      if (nodes_[node].kind != NodeKind::kAdapter) continue;
      for (std::uint32_t i = 0; i < nodes_[node].ports; ++i) {
        const Attachment& end = graph_.neighbour(node, i + 1);
        if (end.node == kNowhere) {
          plan_.findings.push_back(port_name(node, i) + " has no cable");
          continue;
        }
        if (seen[node][i]) continue;
        seen[node][i] = true;
        if (nodes_[end.node].kind == NodeKind::kAdapter) {
          seen[end.node][end.port.value - 1u] = true;
          islands.push_back({port_name(node, i), port_name(end.node, end.port.value - 1u)});
          continue;
        }
        if (island_of_switch[end.node] == kNowhere) {
          for (const std::size_t other : graph_.switches_by_distance(graph_.number(end.node), distances_, plan_.steps))
            island_of_switch[graph_.node(other)] = islands.size();
          islands.emplace_back();
        }
        islands[island_of_switch[end.node]].push_back(port_name(node, i));
      }
    }
    for (std::size_t i = 1; i < islands.size(); ++i) {
      std::string sentence = "no cable leads from " + islands[0].front() + " to " + islands[i].front();
      if (islands[i].size() > 1) {
        const std::size_t more = islands[i].size() - 1;
        sentence +=
            " and " + std::to_string(more) + (more == 1 ? " other port" : " other ports") + " beside it";
      }
      plan_.findings.push_back(std::move(sentence));
    }
  }

  std::string port_name(std::size_t node, std::uint32_t index) const {
    return nodes_[node].name + " port " + std::to_string(index + 1);
  }

  const std::vector<Node>& nodes_;
  const bool all_paths_;
  const Routing& routing_;
  const Plan* const before_;
  SwitchGraph graph_;
  std::vector<std::size_t> by_name_;                 // adapters, then switches
  std::vector<Attachment> owners_{{kNowhere, {}}};   // by LID
  std::vector<std::uint32_t> distances_;
  std::uint32_t macs_ = 0;
  Plan plan_;
};

}  // namespace

Plan plan(const std::vector<Node>& nodes, const std::vector<Cable>& cables, bool all_paths, const Routing& routing,
          const Plan* before) {
  return Planner(nodes, cables, all_paths, routing, before).run();
}

std::vector<std::vector<std::uint16_t>> pkey_tables(std::size_t adapters, std::vector<Partition> partitions) {
  constexpr std::uint16_t kDefault = ib::kDefaultPkey & ib::kPartitionMask;
  const auto is_default = [](const Partition& partition) { return partition.number == kDefault; };
  const bool is_given = std::any_of(partitions.begin(), partitions.end(), is_default);
  std::sort(partitions.begin(), partitions.end(), [&](const Partition& a, const Partition& b) {
    return std::pair(!is_default(a), a.number) < std::pair(!is_default(b), b.number);
  });
  std::vector<std::vector<std::uint16_t>> tables(adapters);
  if (!is_given) tables.assign(adapters, {ib::kDefaultPkey});
  for (const Partition& partition : partitions) {
    for (const std::size_t member : partition.full)
      tables[member].push_back(partition.number | ib::kFullMembership);
    for (const std::size_t member : partition.limited) tables[member].push_back(partition.number);
  }
  return tables;
}

ib::Gid link_local_gid(ib::MacAddress mac) {
  constexpr std::uint64_t kUniversal = 0x0200'0000'0000'0000, kMiddle = 0xfffe;
  const std::uint64_t high = mac.value >> 24, low = mac.value & 0xffffff;
  return link_local_gid((high << 40 | kMiddle << 24 | low) ^ kUniversal);
}

ib::Gid link_local_gid(std::uint64_t port_guid) {
  ib::Gid gid;
  gid.raw[0] = 0xfe;
  gid.raw[1] = 0x80;
  for (int i = 0; i < 8; ++i) gid.raw[8 + i] = static_cast<std::uint8_t>(port_guid >> (56 - 8 * i));
  return gid;
}

}  // namespace verbatim::subnet
