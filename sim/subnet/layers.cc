#include "sim/subnet/layers.h"

#include <algorithm>
#include <bitset>
#include <iterator>
#include <utility>
#include <vector>

#include "sim/core/check.h"

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using Ports = std::bitset<256>;

// Outputs that lead to switches, numbered by switch and port.
class Outputs {
 public:
  explicit Outputs(const SwitchGraph& graph) : graph_(graph) {
    for (std::size_t number = 0; number < graph.size(); ++number) {
      first_.push_back(count_);
      count_ += graph.ports(number);
    }
  }
  std::size_t size() const { return count_; }
  std::uint32_t of(std::size_t number, PortNumber port) const {
    return static_cast<std::uint32_t>(first_[number] + port.value - 1);
  }

  // Calls visit(output, port of the next switch, output of the next switch) for each two outputs in sequence
  // on the path from a switch to a LID, until it returns false.
  template <class Visit>
  void walk(std::size_t from, std::size_t lid, const Plan& plan, const Visit& visit) const {
    std::size_t at = from;
    PortNumber port = next(at, lid, plan);
    while (leads_to_switch(at, port)) {
      const std::size_t behind = graph_.next_switch(at, port);
      const PortNumber following = next(behind, lid, plan);
      if (!leads_to_switch(behind, following)) return;
      if (!visit(of(at, port), following, of(behind, following))) return;
      at = behind;
      port = following;
    }
  }

  std::vector<PortNumber> to_switches(std::size_t number, const std::vector<PortNumber>& ports) const {
    std::vector<PortNumber> some;
    std::ranges::copy_if(ports, std::back_inserter(some), [&](PortNumber port) { return leads_to_switch(number, port); });
    return some;
  }

 private:
  PortNumber next(std::size_t number, std::size_t lid, const Plan& plan) const {
    return plan.nodes[graph_.node(number)].forwarding_table[lid];
  }
  bool leads_to_switch(std::size_t number, PortNumber port) const {
    if (port.value == 0 || port == fabric::RouteTable::kNoRoute) return false;
    const Attachment& end = graph_.neighbour(graph_.node(number), port.value);
    return end.node != kNowhere && graph_.number(end.node) != kNowhere;
  }

  const SwitchGraph& graph_;
  std::vector<std::size_t> first_;  // by number
  std::size_t count_ = 0;
};

using Edges = std::vector<std::vector<std::uint32_t>>;

// A graph without cycles that grows by edges, and an order of its vertices in which all edges ascend. After
// Pearce and Kelly (ACM Journal of Experimental Algorithmics 11, 2006): only vertices between the two ends of
// a new edge are visited.
class Acyclic {
 public:
  Acyclic(std::size_t outputs, const std::vector<std::uint32_t>& places)
      : next_(outputs), before_(outputs), ports_(outputs), places_(places), seen_(outputs, false) {}

  bool has(std::uint32_t from, PortNumber port) const { return ports_[from].test(port.value); }

  // `port`: the port of `to` at its switch. False: the edge would close a cycle, and nothing is changed.
  bool insert(std::uint32_t from, PortNumber port, std::uint32_t to) {
    if (places_[from] >= places_[to] && !reorder(from, to)) return false;
    ports_[from].set(port.value);
    next_[from].push_back(to);
    before_[to].push_back(from);
    return true;
  }
  // Removes an edge, which must be the last one inserted at both ends.
  void take_back(std::uint32_t from, PortNumber port, std::uint32_t to) {
    CHECK(next_[from].back() == to && before_[to].back() == from);
    next_[from].pop_back();
    before_[to].pop_back();
    ports_[from].reset(port.value);
  }

 private:
  bool reorder(std::uint32_t from, std::uint32_t to) {
    const std::vector<std::uint32_t> behind = reach(to, next_, [&](std::uint32_t at) { return places_[at] <= places_[from]; });
    if (std::ranges::find(behind, from) != behind.end()) return false;
    std::vector<std::uint32_t> all = reach(from, before_, [&](std::uint32_t at) { return places_[at] >= places_[to]; });
    const auto by_place = [&](std::uint32_t at) { return places_[at]; };
    std::vector<std::uint32_t> later = behind;
    std::ranges::sort(all, {}, by_place);
    std::ranges::sort(later, {}, by_place);
    all.insert(all.end(), later.begin(), later.end());
    std::vector<std::uint32_t> places;
    for (const std::uint32_t at : all) places.push_back(places_[at]);
    std::ranges::sort(places);
    for (std::size_t i = 0; i < all.size(); ++i) places_[all[i]] = places[i];
    return true;
  }

  template <class May>
  std::vector<std::uint32_t> reach(std::uint32_t first, const Edges& edges, const May& may) {
    std::vector<std::uint32_t> found{first};
    seen_[first] = true;
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const std::uint32_t at : edges[found[i]]) {
        if (seen_[at] || !may(at)) continue;
        seen_[at] = true;
        found.push_back(at);
      }
    }
    for (const std::uint32_t at : found) seen_[at] = false;
    return found;
  }

  Edges next_, before_;
  std::vector<Ports> ports_;  // by output: following ports of the next switch
  std::vector<std::uint32_t> places_;
  std::vector<bool> seen_;
};

struct Edge {
  std::uint32_t from;
  PortNumber port;
  std::uint32_t to;
};

class Layers {
 public:
  Layers(const SwitchGraph& graph, std::size_t lids, const Plan& plan)
      : graph_(graph), lids_(lids), plan_(plan), outputs_(graph), leaves_(leaves_of(graph)) {}

  std::optional<Layering> assign(std::uint32_t lanes) {
    if (find_order()) return Layering{};
    auto levels = std::make_shared<ServiceLevels>(switches_of_lids(graph_, lids_, plan_), graph_.size());
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const std::optional<std::uint8_t> layer = layer_of(leaves_[i], leaves_[j], lanes);
        if (!layer) return std::nullopt;
        levels->set(leaves_[i], leaves_[j], *layer);
        levels->set(leaves_[j], leaves_[i], *layer);
      }
    }
    return Layering{static_cast<std::uint32_t>(layers_.size()), std::move(levels)};
  }

 private:
  // Fills places_ with an order in which as many edges as possible ascend. True: all do, so there is no
  // cycle.
  bool find_order() {
    Edges edges(outputs_.size());
    std::vector<Ports> known(outputs_.size());
    for (const std::size_t to : leaves_) {
      for (const SwitchGraph::Adapter& adapter : graph_.adapters(to)) {
        for (const std::size_t from : leaves_) {
          outputs_.walk(from, adapter.lid, plan_, [&](std::uint32_t output, PortNumber port, std::uint32_t next) {
            if (!known[output].test(port.value)) edges[output].push_back(next);
            known[output].set(port.value);
            return true;
          });
        }
      }
    }
    for (const Edge& edge : tree_edges()) {
      if (!known[edge.from].test(edge.port.value)) edges[edge.from].push_back(edge.to);
      known[edge.from].set(edge.port.value);
    }
    // Reverse postorder of a depth-first search.
    places_.assign(outputs_.size(), 0);
    std::vector<std::uint8_t> state(outputs_.size(), 0);  // 1: being visited, 2: finished
    std::uint32_t place = static_cast<std::uint32_t>(outputs_.size());
    bool is_acyclic = true;
    std::vector<std::pair<std::uint32_t, std::size_t>> calls;
    for (std::uint32_t first = 0; first < outputs_.size(); ++first) {
      if (state[first] != 0) continue;
      state[first] = 1;
      calls.emplace_back(first, 0);
      while (!calls.empty()) {
        auto& [at, next] = calls.back();
        if (next == edges[at].size()) {
          places_[at] = --place;
          state[at] = 2;
          calls.pop_back();
          continue;
        }
        const std::uint32_t to = edges[at][next++];
        if (state[to] == 1) is_acyclic = false;
        if (state[to] != 0) continue;
        state[to] = 1;
        calls.emplace_back(to, 0);
      }
    }
    return is_acyclic;
  }

  std::optional<std::uint8_t> layer_of(std::size_t a, std::size_t b, std::uint32_t lanes) {
    for (std::uint32_t layer = 0; layer < lanes; ++layer) {
      if (layer == layers_.size()) add_layer();
      if (fits(layers_[layer], a, b)) return static_cast<std::uint8_t>(layer);
    }
    return std::nullopt;
  }

  void add_layer() {
    layers_.emplace_back(outputs_.size(), places_);
    if (layers_.size() > 1) return;
    for (const Edge& edge : tree_edges()) CHECK(layers_[0].insert(edge.from, edge.port, edge.to));
  }

  // Multicast packets have level 0: pairs of outputs in sequence on the tree.
  std::vector<Edge> tree_edges() const {
    std::vector<Edge> edges;
    for (std::size_t at = 0; at < graph_.size(); ++at) {
      const std::vector<PortNumber> ports = outputs_.to_switches(at, plan_.nodes[graph_.node(at)].multicast_ports);
      for (const PortNumber in : ports) {
        const std::size_t before = graph_.next_switch(at, in);
        const PortNumber out = graph_.neighbour({graph_.node(at), in}).port;
        for (const PortNumber next : ports) {
          if (next != in) edges.push_back({outputs_.of(before, out), next, outputs_.of(at, next)});
        }
      }
    }
    return edges;
  }

  bool fits(Acyclic& layer, std::size_t a, std::size_t b) {
    std::vector<Edge> added;
    bool is_free = true;
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      for (const SwitchGraph::Adapter& adapter : graph_.adapters(to)) {
        outputs_.walk(from, adapter.lid, plan_, [&](std::uint32_t output, PortNumber port, std::uint32_t next) {
          if (layer.has(output, port)) return true;
          is_free = layer.insert(output, port, next);
          if (is_free) added.push_back({output, port, next});
          return is_free;
        });
        if (!is_free) break;
      }
      if (!is_free) break;
    }
    if (is_free) return true;
    for (std::size_t i = added.size(); i-- > 0;) layer.take_back(added[i].from, added[i].port, added[i].to);
    return false;
  }

  const SwitchGraph& graph_;
  const std::size_t lids_;
  const Plan& plan_;
  const Outputs outputs_;
  const std::vector<std::size_t> leaves_;
  std::vector<std::uint32_t> places_;  // by output
  std::vector<Acyclic> layers_;
};

}  // namespace

std::optional<Layering> assign_layers(const SwitchGraph& graph, std::size_t lids, std::uint32_t lanes, const Plan& plan) {
  return Layers(graph, lids, plan).assign(lanes);
}

std::vector<std::uint32_t> switches_of_lids(const SwitchGraph& graph, std::size_t lids, const Plan& plan) {
  std::vector<std::uint32_t> switches(lids, kUnreachable);
  for (std::size_t number = 0; number < graph.size(); ++number) {
    for (const SwitchGraph::Adapter& adapter : graph.adapters(number)) switches[adapter.lid] = static_cast<std::uint32_t>(number);
    if (const std::uint16_t own = plan.nodes[graph.node(number)].ports[0].lid.value; own != 0)
      switches[own] = static_cast<std::uint32_t>(number);
  }
  return switches;
}

}  // namespace verbatim::subnet
