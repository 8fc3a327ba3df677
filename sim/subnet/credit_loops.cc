#include "sim/subnet/credit_loops.h"

#include <algorithm>
#include <bitset>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/core/check.h"

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using fabric::RouteTable;
using Vertices = std::vector<std::uint32_t>;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();

// Tarjan's algorithm without recursion: the strongly connected component of each vertex, and the size of each
// component.
struct Components {
  Vertices of, sizes;
};

Components components_of(const std::vector<Vertices>& graph) {
  Components found{Vertices(graph.size(), kNone), {}};
  Vertices number(graph.size(), kNone), least(graph.size(), 0), open;
  std::vector<std::pair<std::uint32_t, std::size_t>> calls;  // vertex, and index of its next edge
  std::uint32_t next_number = 0;
  const auto enter = [&](std::uint32_t vertex) {
    number[vertex] = least[vertex] = next_number++;
    open.push_back(vertex);
    calls.emplace_back(vertex, 0);
  };
  for (std::uint32_t root = 0; root < graph.size(); ++root) {
    if (number[root] != kNone) continue;
    enter(root);
    while (!calls.empty()) {
      const std::uint32_t vertex = calls.back().first;
      if (calls.back().second < graph[vertex].size()) {
        const std::uint32_t next = graph[vertex][calls.back().second++];
        if (number[next] == kNone) enter(next);
        else if (found.of[next] == kNone) least[vertex] = std::min(least[vertex], number[next]);
        continue;
      }
      calls.pop_back();
      if (!calls.empty()) least[calls.back().first] = std::min(least[calls.back().first], least[vertex]);
      if (least[vertex] != number[vertex]) continue;
      std::uint32_t last;
      found.sizes.push_back(0);
      do {
        last = open.back();
        open.pop_back();
        found.of[last] = static_cast<std::uint32_t>(found.sizes.size() - 1);
        ++found.sizes.back();
      } while (last != vertex);
    }
  }
  return found;
}

// The shortest cycle through `start` with fewer than `limit` vertices, all in its component; empty: none.
Vertices cycle_through(std::uint32_t start, const std::vector<Vertices>& graph, const Components& components, std::size_t limit,
                       Vertices& before) {
  Vertices front{start}, cycle;
  std::vector<std::size_t> length{1};
  for (std::size_t i = 0; i < front.size() && cycle.empty() && length[i] < limit; ++i) {
    for (const std::uint32_t next : graph[front[i]]) {
      if (next == start) {
        for (std::uint32_t at = front[i]; at != start; at = before[at]) cycle.push_back(at);
        cycle.push_back(start);
        std::ranges::reverse(cycle);
        break;
      }
      if (components.of[next] != components.of[start] || before[next] != kNone) continue;
      before[next] = front[i];
      front.push_back(next);
      length.push_back(length[i] + 1);
    }
  }
  for (const std::uint32_t vertex : front) before[vertex] = kNone;
  return cycle;
}

// A shortest cycle; of several, the one with the least vertex, which comes first. Edges must be ascending.
Vertices shortest_cycle(const std::vector<Vertices>& graph) {
  const Components components = components_of(graph);
  Vertices best, before(graph.size(), kNone);
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    const bool is_alone = components.sizes[components.of[vertex]] == 1;
    if (is_alone && !std::ranges::binary_search(graph[vertex], vertex)) continue;
    Vertices cycle = cycle_through(vertex, graph, components, best.empty() ? kUnreached : best.size(), before);
    if (!cycle.empty()) best = std::move(cycle);
  }
  return best;
}

using Ports = std::bitset<256>;

template <class Visit>
void for_each_port(const Ports& ports, const Visit& visit) {
  for (std::size_t port = ports._Find_first(); port < ports.size(); port = ports._Find_next(port)) visit(port);
}

// The outputs of all switches by name and port, and their use in sequence.
class Dependencies {
 public:
  Dependencies(const std::vector<Node>& nodes, const std::vector<Cable>& cables, const Plan& plan, const LaneOf& lane_of)
      : nodes_(nodes),
        plan_(plan),
        lane_of_(lane_of),
        first_output_(nodes.size()),
        to_switches_(nodes.size()),
        adapters_at_(nodes.size()),
        sets_(nodes.size()) {
    std::vector<std::size_t> by_name(nodes.size());
    std::iota(by_name.begin(), by_name.end(), std::size_t{0});
    std::ranges::sort(by_name, {}, [&](std::size_t node) -> const std::string& { return nodes[node].name; });
    for (const std::size_t node : by_name) {
      first_output_[node] = outputs_.size();
      for (std::uint32_t port = 1; port <= nodes[node].ports; ++port)
        outputs_.push_back({node, PortNumber{static_cast<std::uint8_t>(port)}});
    }
    far_ends_.assign(outputs_.size(), Attachment{kUnreached, {}});
    for (const Cable& cable : cables) {
      for (const auto& [here, there] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
        far_ends_[output(here)] = there;
        if (nodes[there.node].kind == NodeKind::kSwitch) to_switches_[here.node].set(here.port.value);
        else ++adapters_at_[here.node];
      }
    }
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (nodes[node].kind == NodeKind::kSwitch && adapters_at_[node] > 0) leaves_.push_back(node);
    }
    (plan.levels == nullptr ? followers_.resize(outputs_.size()) : paths_.resize(outputs_.size()));
  }

  void add_all_routes() {
    std::set<std::size_t> treated;  // last switches that have been processed
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].kind != NodeKind::kAdapter) continue;
      for (std::uint32_t port = 0; port < nodes_[node].ports; ++port) {
        const Attachment& end = far_ends_[first_output_[node] + port];
        if (end.node == kUnreached || nodes_[end.node].kind != NodeKind::kSwitch) continue;
        const std::uint16_t lid = plan_.nodes[node].ports[port].lid.value;
        // All shortest paths depend on the last switch only.
        const bool is_spread = plan_.nodes[end.node].routes != nullptr;
        if (lid == 0 || (!treated.insert(end.node).second && is_spread)) continue;
        if (plan_.levels == nullptr) add_routes_to(lid, end.node);
        else add_paths_to(lid, end.node);
      }
    }
  }

  // Packets of level 0 leave each switch by all tree ports except the ingress port.
  void add_tree() {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      for (const PortNumber in : plan_.nodes[node].multicast_ports) {
        if (!to_switches_[node].test(in.value)) continue;
        const Attachment& before = far_ends_[output_of(node, in.value)];
        for (const PortNumber next : plan_.nodes[node].multicast_ports) {
          if (next != in && to_switches_[node].test(next.value)) add_tree_step(before, node, in, next);
        }
      }
    }
  }

  Route loop() const {
    const std::vector<std::map<Lanes, Ports>> followers = followers_by_lane();
    std::vector<Channel> channels;
    std::map<std::pair<std::size_t, std::uint8_t>, std::uint32_t> numbers;  // by output and lane
    std::vector<Vertices> graph;
    for (std::size_t from = 0; from < followers.size(); ++from) {
      for (const auto& [lanes, ports] : followers[from]) {
        if (!numbers.emplace(std::pair(from, lanes.first), static_cast<std::uint32_t>(channels.size())).second) continue;
        channels.push_back({outputs_[from].node, outputs_[from].port, lanes.first});
      }
    }
    graph.resize(channels.size());
    for (std::size_t from = 0; from < followers.size(); ++from) {
      for (const auto& [lanes, ports] : followers[from]) {
        Vertices& edges = graph[numbers.at({from, lanes.first})];
        for_each_port(ports, [&, &lanes = lanes](std::size_t port) {
          // An output without a successor is in no cycle.
          const auto next = numbers.find({output_of(far_ends_[from].node, port), lanes.second});
          if (next != numbers.end()) edges.push_back(next->second);
        });
      }
    }
    for (Vertices& edges : graph) std::ranges::sort(edges);
    Route loop;
    for (const std::uint32_t vertex : shortest_cycle(graph)) loop.push_back(channels[vertex]);
    return loop;
  }

 private:
  using Lanes = std::pair<std::uint8_t, std::uint8_t>;
  static constexpr std::size_t kLevels = 16, kNoOutput = ~std::size_t{0};

  std::size_t output_of(std::size_t node, std::size_t port) const { return first_output_[node] + port - 1; }
  std::size_t output(const Attachment& at) const { return output_of(at.node, at.port.value); }

  // Ports of a switch by which packets to `lid` continue to another switch.
  Ports outputs_to(std::uint16_t lid, std::size_t node) {
    const NodePlan& of = plan_.nodes[node];
    std::size_t port = RouteTable::kNone;
    if (of.routes != nullptr) {
      const RouteTable::Entry entry = of.routes->entry(lid);
      if (RouteTable::is_set(entry)) return set_of(node, entry);
      port = entry;
    } else if (lid < of.forwarding_table.size()) {
      port = of.forwarding_table[lid].value;
    }
    return Ports().set(port) & to_switches_[node];
  }

  const Ports& set_of(std::size_t node, RouteTable::Entry entry) {
    std::vector<Ports>& sets = sets_[node];
    const std::size_t place = entry - RouteTable::kSets;
    if (place >= sets.size()) sets.resize(place + 1);
    if (sets[place].none()) {
      for (const PortNumber port : plan_.nodes[node].routes->ports_of(entry)) sets[place].set(port.value);
      sets[place] &= to_switches_[node];
    }
    return sets[place];
  }

  // add_routes_to() for paths with individual levels, where each has a single route.
  void add_paths_to(std::uint16_t lid, std::size_t last) {
    for (const std::size_t leaf : leaves_) {
      if (leaf == last) continue;
      const std::uint8_t level = plan_.levels->of(plan_.nodes[leaf].ports[0].lid, ib::Lid{lid});
      std::size_t before = kNoOutput;
      std::uint8_t lane_before = 0;
      PortNumber in{0};
      for (std::size_t node = leaf; node != last;) {
        const Ports out = outputs_to(lid, node);
        if (out.none()) break;
        const PortNumber port{static_cast<std::uint8_t>(out._Find_first())};
        const std::size_t from = output_of(node, port.value);
        const std::uint8_t lane = lane_of_ ? lane_of_(node, in, port, level) : std::uint8_t{0};
        if (lane == kNoLane) break;
        if (before != kNoOutput) paths_[before][{lane_before, lane}].set(port.value);
        before = from;
        lane_before = lane;
        in = far_ends_[from].port;
        node = far_ends_[from].node;
      }
    }
  }

  // From output `before` to the switch `node`: packets may have entered the output's switch by any tree port,
  // so each possible lane of the output is added.
  void add_tree_step(const Attachment& before, std::size_t node, PortNumber in, PortNumber next) {
    const std::size_t from = output(before);
    if (plan_.levels == nullptr) {
      followers_[from].set(next.value);
      return;
    }
    const std::uint8_t after = lane_of_ ? lane_of_(node, in, next, 0) : std::uint8_t{0};
    if (after == kNoLane) return;
    for (const PortNumber came_by : plan_.nodes[before.node].multicast_ports) {
      if (came_by == before.port) continue;
      const bool is_from_switch = to_switches_[before.node].test(came_by.value);
      const std::uint8_t lane =
          lane_of_ ? lane_of_(before.node, is_from_switch ? came_by : PortNumber{0}, before.port, 0)
                   : std::uint8_t{0};
      if (lane != kNoLane) paths_[from][{lane, after}].set(next.value);
    }
  }

  // From every switch with another adapter; `last` is the destination's switch.
  void add_routes_to(std::uint16_t lid, std::size_t last) {
    std::vector<std::size_t> front;
    std::vector<bool> reached(nodes_.size(), false);
    const auto reach = [&](std::size_t node) {
      if (!reached[node]) front.push_back(node);
      reached[node] = true;
    };
    for (const std::size_t leaf : leaves_) {
      if (leaf != last || adapters_at_[leaf] > 1) reach(leaf);
    }
    for (std::size_t i = 0; i < front.size(); ++i) {
      const std::size_t node = front[i];
      for_each_port(outputs_to(lid, node), [&](std::size_t port) {
        const std::size_t from = output_of(node, port), behind = far_ends_[from].node;
        reach(behind);
        followers_[from] |= outputs_to(lid, behind);
      });
    }
  }

  // By output and the lanes of both outputs: following ports of the next switch.
  std::vector<std::map<Lanes, Ports>> followers_by_lane() const {
    if (plan_.levels != nullptr) return paths_;
    std::vector<std::map<Lanes, Ports>> by_lane(outputs_.size());
    for (std::size_t from = 0; from < followers_.size(); ++from) {
      if (followers_[from].none()) continue;
      if (!lane_of_) by_lane[from][{0, 0}] |= followers_[from];
      else for (std::size_t level = 0; level < kLevels; ++level) add_by_lane(from, level, followers_[from], by_lane);
    }
    return by_lane;
  }

  void add_by_lane(std::size_t from, std::size_t level, const Ports& ports, std::vector<std::map<Lanes, Ports>>& by_lane) const {
    const auto of = static_cast<std::uint8_t>(level);
    const std::uint8_t before = lane_of_(outputs_[from].node, PortNumber{0}, outputs_[from].port, of);
    if (before == kNoLane) return;
    for_each_port(ports, [&](std::size_t port) {
      const std::uint8_t after = lane_of_(far_ends_[from].node, PortNumber{0}, PortNumber{static_cast<std::uint8_t>(port)}, of);
      if (after != kNoLane) by_lane[from][{before, after}].set(port);
    });
  }

  const std::vector<Node>& nodes_;
  const Plan& plan_;
  const LaneOf& lane_of_;
  std::vector<std::size_t> first_output_;   // by node
  std::vector<Channel> outputs_;            // of all nodes, by name and port
  std::vector<Attachment> far_ends_;        // by output
  std::vector<Ports> to_switches_;          // by node: ports that lead to a switch
  std::vector<std::uint32_t> adapters_at_;  // by node
  std::vector<std::size_t> leaves_;         // switches with adapters
  std::vector<std::vector<Ports>> sets_;    // by node, and by set of its route table; empty: not computed yet
  // By output: following ports of the next switch; without individual levels.
  std::vector<Ports> followers_;
  std::vector<std::map<Lanes, Ports>> paths_;  // the same by lanes; with individual levels
};

}  // namespace

Route find_credit_loop(const std::vector<Route>& routes) {
  std::map<Channel, std::uint32_t> numbers;
  for (const Route& route : routes) {
    for (const Channel& channel : route) numbers.emplace(channel, 0);
  }
  std::vector<Channel> channels;
  for (auto& [channel, number] : numbers) {
    number = static_cast<std::uint32_t>(channels.size());
    channels.push_back(channel);
  }
  std::vector<Vertices> graph(channels.size());
  for (const Route& route : routes) {
    for (std::size_t i = 1; i < route.size(); ++i) graph[numbers.at(route[i - 1])].push_back(numbers.at(route[i]));
  }
  for (Vertices& edges : graph) {
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }
  Route loop;
  for (const std::uint32_t vertex : shortest_cycle(graph)) loop.push_back(channels[vertex]);
  return loop;
}

Route find_credit_loop(const std::vector<Node>& nodes, const std::vector<Cable>& cables, const Plan& plan,
                       const LaneOf& lane_of, bool with_groups) {
  CHECK(plan.nodes.size() == nodes.size());
  Dependencies dependencies(nodes, cables, plan, lane_of);
  dependencies.add_all_routes();
  if (with_groups) dependencies.add_tree();
  return dependencies.loop();
}

std::string credit_loop_text(const std::vector<Node>& nodes, const Route& loop, std::string_view lane_name) {
  if (loop.empty()) return "";
  const bool names_lanes =
      !lane_name.empty() || std::ranges::any_of(loop, [](const Channel& channel) { return channel.lane != 0; });
  if (lane_name.empty()) lane_name = "VL";
  const auto name = [&](const Channel& channel) {
    return nodes.at(channel.node).name + ":" + std::to_string(channel.port.value) +
           (names_lanes ? " " + std::string(lane_name) + " " + std::to_string(channel.lane) : "");
  };
  std::string text;
  for (const Channel& channel : loop) text += name(channel) + " -> ";
  return text + name(loop.front());
}

}  // namespace verbatim::subnet
