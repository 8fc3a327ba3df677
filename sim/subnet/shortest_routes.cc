#include "sim/subnet/shortest_routes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using fabric::RouteTable;
using Choice = ShortestOptions::Choice;

class ShortestRouter {
 public:
  ShortestRouter(const SwitchGraph& graph, std::size_t lids, const ShortestOptions& options, Plan& plan)
      : graph_(graph), options_(options), plan_(plan), tables_(graph.size(), RouteTable(options.all_paths ? lids : 0)) {
    for (std::size_t number = 0; number < graph.size(); ++number) {
      plan.nodes[graph.node(number)].forwarding_table.assign(lids, RouteTable::kNoRoute);
      loads_.push_back(unloaded(graph.ports(number)));
    }
    known_.resize(graph.size());
    path_ports_.resize(graph.size());
  }

  Unreached compute() {
    find_islands();
    for (const std::size_t root : order_of_roots()) route_to(root);
    for (std::size_t number = 0; options_.all_paths && number < graph_.size(); ++number)
      plan_.nodes[graph_.node(number)].routes = std::make_shared<const RouteTable>(std::move(tables_[number]));
    return unreached_;
  }

 private:
  std::vector<std::size_t> order_of_roots() {
    std::vector<std::size_t> order;
    std::vector<bool> seen(graph_.size(), false);
    for (std::size_t first = 0; first < graph_.size(); ++first) {
      if (seen[first]) continue;
      for (const std::size_t number : graph_.switches_by_distance(first, distances_, plan_.steps)) {
        seen[number] = true;
        order.push_back(number);
      }
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t number) { return graph_.adapters(number).size(); });
    return order;
  }

  // Without ranks, every switch that cables connect is reached, so islands are not needed.
  void find_islands() {
    if (options_.ranks.empty()) return;
    islands_.assign(graph_.size(), kUnreachable);
    std::uint64_t steps = 0;
    for (std::size_t first = 0; first < graph_.size(); ++first) {
      if (islands_[first] != kUnreachable) continue;
      for (const std::size_t number : graph_.switches_by_distance(first, distances_, steps))
        islands_[number] = static_cast<std::uint32_t>(first);
    }
  }

  // Routes to a switch and its adapters.
  void route_to(std::size_t root) {
    const std::vector<std::size_t> front =
        options_.ranks.empty() ? graph_.switches_by_distance(root, distances_, plan_.steps) : legal_by_distance(root);
    std::vector<PortNumber> ports;
    for (const std::size_t from : front) {
      if (from == root) continue;
      ports.clear();
      for (const SwitchGraph::Hop& hop : graph_.hops_of(from)) {
        ++plan_.steps;
        if (is_step(from, hop)) ports.push_back(hop.port);
      }
      if (options_.choice == Choice::kFirstDimension) keep_those_to(from, graph_.next_switch(from, ports.front()), ports);
      path_ports_[from] = entry_of(from, ports);
      if (options_.choice != Choice::kOneForSwitch) continue;
      keep_those_to(from, graph_.next_switch(from, least_loaded(from)), ports);
      path_ports_[from] = entry_of(from, ports);
    }
    note_unreached(root);
    NodePlan& own = plan_.nodes[graph_.node(root)];
    for (const auto& [lid, port] : graph_.adapters(root)) {
      own.forwarding_table[lid] = port;
      if (options_.all_paths) tables_[root].set(lid, port.value);
      route_to_adapter(lid, front);
    }
    const std::size_t lid = own.ports[0].lid.value;
    if (lid == 0) return;
    own.forwarding_table[lid] = PortNumber{0};
    for (const std::size_t from : std::span(front).subspan(1)) table_of(from)[lid] = chosen(from, lid, Choice::kLeastLoaded);
  }

  std::vector<PortNumber>& table_of(std::size_t number) { return plan_.nodes[graph_.node(number)].forwarding_table; }

  RouteTable::Entry entry_of(std::size_t from, const std::vector<PortNumber>& ports) {
    const auto [set, is_new] = known_[from].try_emplace(ports, RouteTable::kNone);
    if (is_new) set->second = tables_[from].add(ports);
    return set->second;
  }

  void keep_those_to(std::size_t from, std::size_t to, std::vector<PortNumber>& ports) const {
    std::erase_if(ports, [&](PortNumber port) { return graph_.next_switch(from, port) != to; });
  }

  // The switches that have a legal path to `root`, by ascending distance; fills distances_ and goes_down_. A
  // switch that can reach it over ascending ranks only does so, since packets from a lesser rank may do
  // nothing else.
  std::vector<std::size_t> legal_by_distance(std::size_t root) {
    distances_.assign(graph_.size(), kUnreachable);
    goes_down_.assign(graph_.size(), false);
    std::vector<std::vector<std::size_t>> by_distance{{root}};
    distances_[root] = 0;
    goes_down_[root] = true;
    const auto reach = [&](std::size_t number, std::uint32_t distance) {
      distances_[number] = distance;
      if (by_distance.size() <= distance) by_distance.resize(distance + 1);
      by_distance[distance].push_back(number);
    };
    const auto follow = [&](bool down) {
      for (std::uint32_t distance = 0; distance < by_distance.size(); ++distance) {
        for (std::size_t i = 0; i < by_distance[distance].size(); ++i) {
          const std::size_t to = by_distance[distance][i];
          for (const SwitchGraph::Hop& hop : graph_.hops_of(to)) {
            ++plan_.steps;
            if (distances_[hop.to] != kUnreachable || (options_.ranks[hop.to] < options_.ranks[to]) != down) continue;
            goes_down_[hop.to] = down;
            reach(hop.to, distance + 1);
          }
        }
      }
    };
    follow(true);
    follow(false);
    std::vector<std::size_t> front;
    for (const std::vector<std::size_t>& ring : by_distance) front.insert(front.end(), ring.begin(), ring.end());
    return front;
  }

  bool is_step(std::size_t from, const SwitchGraph::Hop& hop) const {
    if (distances_[hop.to] + 1 != distances_[from]) return false;
    if (options_.ranks.empty()) return true;
    const bool is_down = options_.ranks[from] < options_.ranks[hop.to];
    return goes_down_[from] ? is_down && goes_down_[hop.to] : !is_down;
  }

  void note_unreached(std::size_t root) {
    if (options_.ranks.empty() || unreached_ || !graph_.is_leaf(root)) return;
    for (std::size_t number = 0; number < graph_.size() && !unreached_; ++number) {
      if (distances_[number] == kUnreachable && graph_.is_leaf(number) && islands_[number] == islands_[root])
        unreached_.emplace(number, root);
    }
  }

  // The farthest switches choose first. When a switch chooses, the number of adapters whose packets to `lid`
  // reach it is known; it is added to the load of the chosen port.
  void route_to_adapter(std::size_t lid, const std::vector<std::size_t>& front) {
    arriving_.resize(graph_.size());
    for (const std::size_t from : front) arriving_[from] = static_cast<std::uint32_t>(graph_.adapters(from).size());
    if (options_.choice == Choice::kCheapest) find_cheapest(front);
    for (std::size_t i = front.size(); i-- > 1;) {
      const std::size_t from = front[i];
      const PortNumber port = chosen(from, lid, options_.choice);
      table_of(from)[lid] = port;
      if (options_.all_paths) tables_[from].set(lid, path_ports_[from]);
      loads_[from][port.value] += arriving_[from] * kOnePath;
      arriving_[graph_.next_switch(from, port)] += arriving_[from];
    }
  }

  // The nearest switches first: the cost of a path is that of its rest plus the load of its first port.
  void find_cheapest(const std::vector<std::size_t>& front) {
    costs_.resize(graph_.size());
    cheapest_.resize(graph_.size());
    costs_[front[0]] = 0;
    for (const std::size_t from : std::span(front).subspan(1)) {
      std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
      const auto consider = [&](PortNumber port) {
        const std::uint64_t cost = costs_[graph_.next_switch(from, port)] + loads_[from][port.value] / kOnePath;
        if (cost >= least) return;
        least = cost;
        cheapest_[from] = port;
      };
      if (RouteTable::is_set(path_ports_[from])) std::ranges::for_each(tables_[from].ports_of(path_ports_[from]), consider);
      else consider(PortNumber{static_cast<std::uint8_t>(path_ports_[from])});
      costs_[from] = least;
    }
  }

  PortNumber chosen(std::size_t from, std::size_t lid, Choice choice) {
    if (options_.before != nullptr) [[unlikely]] {
      const std::vector<PortNumber>& before = options_.before->nodes[graph_.node(from)].forwarding_table;
      if (lid < before.size() && begins_path(from, before[lid])) return before[lid];
    }
    return choice == Choice::kCheapest ? cheapest_[from] : least_loaded(from);
  }

  bool begins_path(std::size_t from, PortNumber port) const {
    if (!RouteTable::is_set(path_ports_[from])) return path_ports_[from] == port.value;
    return std::ranges::find(tables_[from].ports_of(path_ports_[from]), port) != tables_[from].ports_of(path_ports_[from]).end();
  }

  // Loads of ports 0 … `ports`: paths between two adapters, and in the low bits the port, so that the minimum
  // selects the first port with the least load. The comparison has no branches: it takes most of the planning
  // time.
  static constexpr std::uint64_t kOnePath = 256;
  static std::vector<std::uint64_t> unloaded(std::uint32_t ports) {
    std::vector<std::uint64_t> loads(ports + 1);
    std::iota(loads.begin(), loads.end(), std::uint64_t{0});
    return loads;
  }

  // Chooses among the ports of path_ports_.
  PortNumber least_loaded(std::size_t from) {
    const RouteTable::Entry ports_of_paths = path_ports_[from];
    if (!RouteTable::is_set(ports_of_paths)) return PortNumber{static_cast<std::uint8_t>(ports_of_paths)};
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    const std::span<const PortNumber> ports = tables_[from].ports_of(ports_of_paths);
    for (const PortNumber port : ports) least = std::min(least, loads_[from][port.value]);
    plan_.steps += ports.size();
    return PortNumber{static_cast<std::uint8_t>(least % kOnePath)};
  }

  const SwitchGraph& graph_;
  const ShortestOptions& options_;
  Plan& plan_;
  Unreached unreached_;
  // By switch number:
  std::vector<RouteTable> tables_;
  std::vector<std::map<std::vector<PortNumber>, RouteTable::Entry>> known_;  // entries of its port sets
  std::vector<std::vector<std::uint64_t>> loads_;                            // by port, see unloaded()
  std::vector<RouteTable::Entry> path_ports_;  // to the root whose routes are being computed
  std::vector<std::uint32_t> distances_;  // hops to that root
  std::vector<bool> goes_down_;           // over ascending ranks only, to that root
  std::vector<std::uint32_t> islands_;
  std::vector<std::uint32_t> arriving_;  // adapters whose packets to the present LID reach the switch
  std::vector<std::uint64_t> costs_;     // of the cheapest path to the present LID
  std::vector<PortNumber> cheapest_;     // first port of that path
};

}  // namespace

Unreached compute_shortest_routes(const SwitchGraph& graph, std::size_t lids, const ShortestOptions& options, Plan& plan) {
  return ShortestRouter(graph, lids, options, plan).compute();
}

}  // namespace verbatim::subnet
