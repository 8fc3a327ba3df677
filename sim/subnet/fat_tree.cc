#include "sim/subnet/fat_tree.h"

#include <algorithm>
#include <map>
#include <optional>

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using fabric::RouteTable;

// Cables from a switch to another, and the paths laid over them: down by the other switch's ports, up by its
// own.
struct Group {
  std::uint32_t to = 0;  // number of the switch
  std::uint64_t downward = 0;
  struct Port {
    PortNumber here, there;
    std::uint64_t downward = 0, upward = 0;
  };
  std::vector<Port> ports;
};

struct Rung {
  std::uint32_t rank = 0;  // 0: roots
  std::vector<Group> up, down;
};

class FatTree {
 public:
  FatTree(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids, std::span<const std::size_t> roots,
          Plan& plan)
      : graph_(graph),
        nodes_(nodes),
        roots_(roots),
        plan_(plan),
        rungs_(graph.size()),
        routed_(graph.size(), 0),
        leaves_(leaves_of(graph)) {
    for (std::size_t number = 0; number < graph.size(); ++number) table_of(number).assign(lids, RouteTable::kNoRoute);
  }

  std::string compute() {
    if (graph_.size() == 0 || leaves_.empty()) return "there is no switch with adapters";
    std::string problem = rank();
    if (problem.empty()) problem = join();
    if (problem.empty() && roots_.empty()) problem = check_regularity();
    if (!problem.empty()) return problem;
    route_to_adapters();
    route_to_switches();
    return find_gap();
  }

 private:
  const std::string& name(std::size_t number) const { return nodes_[graph_.node(number)].name; }
  std::vector<PortNumber>& table_of(std::size_t number) { return plan_.nodes[graph_.node(number)].forwarding_table; }

  std::string rank() {
    const std::vector<std::uint32_t> ranks = ranks_from(graph_, roots_.empty() ? std::span<const std::size_t>(leaves_) : roots_);
    const std::uint32_t last = *std::ranges::max_element(ranks);
    for (std::size_t number = 0; number < ranks.size(); ++number) {
      if (ranks[number] == kUnreachable) return "switch " + name(number) + " cannot be reached from " + (roots_.empty() ? "adapters" : "the roots");
      rungs_[number].rank = roots_.empty() ? last - ranks[number] : ranks[number];
    }
    constexpr std::uint32_t kLeast = 2, kMost = 8;
    if (last + 1 < kLeast || last + 1 > kMost)
      return "a fat tree has two to eight ranks of switches, and this fabric has " + std::to_string(last + 1);
    for (const std::size_t leaf : leaves_) {
      if (rungs_[leaf].rank != rungs_[leaves_[0]].rank)
        return "the adapters at " + name(leaves_[0]) + " and at " + name(leaf) + " are not on one rank of the tree";
    }
    return "";
  }

  std::string join() {
    for (std::size_t number = 0; number < graph_.size(); ++number) {
      for (const SwitchGraph::Hop& hop : graph_.hops_of(number)) {
        const std::uint32_t here = rungs_[number].rank, there = rungs_[hop.to].rank;
        if (here != there + 1 && there != here + 1)
          return "a cable joins switches " + name(number) + " and " + name(hop.to) + " of ranks " + std::to_string(here) + " and " +
                 std::to_string(there) + ", which do not follow each other";
        std::vector<Group>& groups = here > there ? rungs_[number].up : rungs_[number].down;
        auto group = std::ranges::find(groups, hop.to, &Group::to);
        if (group == groups.end()) group = groups.insert(group, Group{hop.to, 0, {}});
        group->ports.push_back({hop.port, graph_.neighbour(graph_.node(number), hop.port.value).port});
      }
    }
    return "";
  }

  // Ranks are distances from adapters, in OpenSM too, so a leaf without adapters ranks above the switches that join it
  // to others. It has cables to the same switches as a leaf with adapters. "": there is none.
  std::string empty_leaf_note() const {
    const auto neighbours = [](const std::vector<Group>& groups) {
      std::vector<std::uint32_t> switches;
      for (const Group& group : groups) switches.push_back(group.to);
      std::ranges::sort(switches);
      return switches;
    };
    std::map<std::vector<std::uint32_t>, std::size_t> leaves;  // by the switches above them
    for (const std::size_t leaf : leaves_) leaves.emplace(neighbours(rungs_[leaf].up), leaf);
    for (std::size_t number = 0; number < graph_.size(); ++number) {
      if (!rungs_[number].up.empty() || graph_.is_leaf(number)) continue;
      if (const auto like = leaves.find(neighbours(rungs_[number].down)); like != leaves.end())
        return " (switch " + name(number) + " is joined as " + name(like->second) + " is, but has no adapters, and so counts as a root)";
    }
    return "";
  }

  // OpenSM's requirements for a tree without given roots.
  std::string check_regularity() const {
    struct Shape {
      std::size_t up_groups, down_groups, up_ports, down_ports;
    };
    std::vector<std::optional<Shape>> shapes;
    for (std::size_t number = 0; number < graph_.size(); ++number) {
      const Rung& rung = rungs_[number];
      const auto ports = [](const std::vector<Group>& groups) { return groups.empty() ? 0 : groups[0].ports.size(); };
      const Shape own{rung.up.size(), rung.down.size(), ports(rung.up), ports(rung.down)};
      if (shapes.size() <= rung.rank) shapes.resize(rung.rank + 1);
      if (!shapes[rung.rank]) shapes[rung.rank] = own;
      const Shape& usual = *shapes[rung.rank];
      const auto differs = [&](const std::string& what) {
        return "switch " + name(number) + " has another number of " + what + " than others of rank " + std::to_string(rung.rank) +
               "; name the roots, and it need not be regular" + empty_leaf_note();
      };
      if (own.up_groups != usual.up_groups) return differs("switches above it");
      if (own.down_groups != usual.down_groups) return differs("switches below it");
      for (const Group& group : rung.up) {
        if (group.ports.size() != usual.up_ports) return differs("cables to a switch above it");
      }
      for (const Group& group : rung.down) {
        if (group.ports.size() != usual.down_ports) return differs("cables to a switch below it");
      }
    }
    return "";
  }

  // Leaves in an order in which near ones are adjacent.
  std::vector<std::size_t> ordered_leaves() {
    std::vector<std::size_t> order;
    std::vector<bool> seen(graph_.size(), false);
    std::vector<std::uint32_t> distances;
    for (const std::size_t first : leaves_) {
      if (seen[first]) continue;
      for (const std::size_t number : graph_.switches_by_distance(first, distances, plan_.steps)) {
        if (graph_.is_leaf(number) && !seen[number]) order.push_back(number);
        seen[number] = true;
      }
    }
    return order;
  }

  // A leaf with fewer adapters than others has counted but unused paths for the missing ones.
  void route_to_adapters() {
    std::size_t most = 0;
    for (const std::size_t leaf : leaves_) most = std::max(most, graph_.adapters(leaf).size());
    for (const std::size_t leaf : ordered_leaves()) {
      for (std::size_t i = 0; i < most; ++i) {
        const bool is_there = i < graph_.adapters(leaf).size();
        lid_ = is_there ? graph_.adapters(leaf)[i].lid : 0;
        if (is_there) table_of(leaf)[lid_] = graph_.adapters(leaf)[i].port;
        route_to(leaf, true);
      }
    }
  }

  void route_to_switches() {
    for (std::size_t number = 0; number < graph_.size(); ++number) {
      lid_ = plan_.nodes[graph_.node(number)].ports[0].lid.value;
      if (lid_ == 0) continue;
      table_of(number)[lid_] = PortNumber{0};
      route_to(number, false);
    }
  }

  void route_to(std::size_t number, bool counts) {
    ++round_;
    routed_[number] = round_;
    add_downward_routes(number, counts);
  }

  // False: the switch already had a route to this destination.
  bool set_route(std::size_t number, PortNumber port) {
    ++plan_.steps;
    if (routed_[number] == round_) return false;
    routed_[number] = round_;
    if (lid_ != 0) table_of(number)[lid_] = port;
    return true;
  }

  // Lays routes from the switches above `number`, which has its route. The main path is laid first, and only
  // it is counted.
  void add_downward_routes(std::size_t number, bool is_main) {
    std::vector<Group>& groups = rungs_[number].up;
    const std::size_t first =
        is_main && !groups.empty()
            ? static_cast<std::size_t>(std::ranges::min_element(groups, {}, &Group::downward) - groups.begin())
            : 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Group& group = groups[i == 0 ? first : i <= first ? i - 1 : i];
      Group::Port& port = *std::ranges::min_element(group.ports, {}, &Group::Port::downward);
      if (!set_route(group.to, port.there)) continue;
      const bool is_main_still = is_main && i == 0;
      if (is_main_still) ++group.downward, ++port.downward;
      add_downward_routes(group.to, is_main_still);
    }
    add_upward_routes(number, is_main);
  }

  // Lays routes from the switches below `number`, which has its route.
  void add_upward_routes(std::size_t number, bool is_main) {
    for (Group& group : rungs_[number].down) {
      if (routed_[group.to] == round_) continue;
      // The lower end counts upward paths.
      std::vector<Group>& above = rungs_[group.to].up;
      Group& same = *std::ranges::find(above, static_cast<std::uint32_t>(number), &Group::to);
      Group::Port& port = *std::ranges::min_element(same.ports, {}, &Group::Port::upward);
      if (is_main) ++port.upward;
      set_route(group.to, port.here);
      add_upward_routes(group.to, is_main);
    }
  }

  std::string find_gap() {
    for (const std::size_t to : leaves_) {
      for (const std::size_t from : leaves_) {
        if (table_of(from)[graph_.adapters(to)[0].lid] == RouteTable::kNoRoute)
          return "no path from switch " + name(from) + " to " + name(to) + " goes up first and then down";
      }
    }
    return "";
  }

  const SwitchGraph& graph_;
  const std::vector<Node>& nodes_;
  const std::span<const std::size_t> roots_;
  Plan& plan_;
  std::vector<Rung> rungs_;             // by number
  std::vector<std::uint64_t> routed_;  // by number: last round in which it got a route
  std::uint64_t round_ = 0;
  std::size_t lid_ = 0;  // of the round; 0: a missing adapter
  const std::vector<std::size_t> leaves_;
};

}  // namespace

std::string compute_fat_tree_routes(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids,
                                std::span<const std::size_t> roots, Plan& plan) {
  return FatTree(graph, nodes, lids, roots, plan).compute();
}

}  // namespace verbatim::subnet
