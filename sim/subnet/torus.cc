#include "sim/subnet/torus.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>

#include "sim/core/check.h"
#include "sim/subnet/layers.h"
#include "sim/subnet/multicast_trees.h"

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using fabric::RouteTable;

constexpr std::size_t kMostDimensions = 3;
constexpr std::uint32_t kQualityBit = 3;    // bit of a service level: quality of service, 0 or 1
constexpr std::uint32_t kQualityLanes = 4;  // lanes per quality
constexpr std::uint32_t kTurnLanes = 2;     // first lane after a turn against the order of dimensions
enum Direction : std::size_t { kUp, kDown };

using Place = std::array<std::uint32_t, kMostDimensions>;

class Grid {
 public:
  Grid(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids, const Torus& torus, std::uint32_t lanes,
       Plan& plan)
      : graph_(graph), nodes_(nodes), lids_(lids), lanes_(lanes), plan_(plan), cables_(graph.size()), places_(graph.size()) {
    CHECK(torus.dimensions.size() <= kMostDimensions);
    std::ranges::copy(torus.dimensions, dimensions_.begin());
    // Two adjacent switches are not a ring, whatever the cables between them.
    for (Torus::Dimension& one : dimensions_) one.is_closed = one.is_closed && one.size > 2;
    for (std::size_t number = 0; number < graph.size(); ++number) table_of(number).assign(lids, RouteTable::kNoRoute);
  }

  std::string compute(const std::vector<std::size_t>& switches) {
    std::string problem = place(switches);
    if (problem.empty()) problem = join();
    if (problem.empty()) problem = find_failed();
    if (!problem.empty()) return problem;
    const auto needs_dateline = [](const Torus::Dimension& one) { return one.is_closed && one.size > 3; };
    if (lanes_ < 2 && std::ranges::any_of(dimensions_, needs_dateline)) return "cables between switches have one data lane, and a torus needs two";
    auto levels = std::make_shared<ServiceLevels>(switches_of_lids(graph_, lids_, plan_), graph_.size());
    for (std::size_t to = 0; to < graph_.size(); ++to) {
      for (std::size_t from = 0; from < graph_.size(); ++from) {
        levels->set(from, to, level(places_[from], places_[to]));
        if (problem = set_routes(from, to); !problem.empty()) return problem;
      }
    }
    if (problem = find_gap(); !problem.empty()) return problem;
    plan_.levels = std::move(levels);
    plan_.layers = std::min(lanes_, failed_ == 0 ? 2u : kTurnLanes * 2);
    for (std::size_t number = 0; number < graph_.size(); ++number) set_lanes(number);
    set_multicast_ports(graph_, tree(), plan_);
    return "";
  }

 private:
  const std::string& name(std::size_t number) const { return nodes_[graph_.node(number)].name; }
  std::vector<PortNumber>& table_of(std::size_t number) { return plan_.nodes[graph_.node(number)].forwarding_table; }

  std::string place(const std::vector<std::size_t>& switches) {
    std::size_t count = 1;
    for (const Torus::Dimension& one : dimensions_) count *= one.size;
    if (switches.size() != count || graph_.size() != count)
      return "the torus has " + std::to_string(count) + " places, " + std::to_string(switches.size()) + " switches are named for them, and the fabric has " +
             std::to_string(graph_.size());
    at_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Place place{};
      std::size_t rest = i;
      for (std::size_t d = kMostDimensions; d-- > 0;) {
        place[d] = static_cast<std::uint32_t>(rest % dimensions_[d].size);
        rest /= dimensions_[d].size;
      }
      at_[i] = graph_.number(switches[i]);
      places_[at_[i]] = place;
    }
    return "";
  }

  // Every cable must join two neighbours.
  std::string join() {
    for (std::size_t number = 0; number < graph_.size(); ++number) {
      for (const SwitchGraph::Hop& hop : graph_.hops_of(number)) {
        const std::size_t found = direction_to(number, hop.to);
        if (found == kNowhere) return "switches " + name(number) + " and " + name(hop.to) + " have a cable, and are no neighbours in the torus";
        cables_[number][found].push_back(hop.port);
      }
    }
    return "";
  }

  // Switches without a cable to another one. They may be neighbours along the last dimension: only hops after
  // a turn against the order of dimensions can close a cycle around them, and these hops are along the last
  // dimension (torus-2QoS(8)).
  std::string find_failed() {
    is_failed_.assign(graph_.size(), false);
    std::size_t last = 0, first = kNowhere;
    for (std::size_t d = 0; d < kMostDimensions; ++d) last = dimensions_[d].size > 1 ? d : last;
    for (const std::size_t number : at_) {
      if (!graph_.hops_of(number).empty() || graph_.size() == 1) continue;
      is_failed_[number] = true;
      ++failed_;
      if (first == kNowhere) first = number;
      if (std::ranges::equal(std::span(places_[first]).first(last), std::span(places_[number]).first(last))) continue;
      return "switches " + name(first) + " and " + name(number) + " have no cable to another one, and are not on one ring along " + "xyz"[last];
    }
    if (failed_ > 1 && !are_neighbours(first, last)) {
      return "the switches without a cable to another one on the ring along " + std::string(1, "xyz"[last]) + " of " + name(first) +
             " are not neighbours";
    }
    if (failed_ > 0 && lanes_ < 2 * kTurnLanes)
      return "routes around a switch without cables need four data lanes, and cables between switches have " + std::to_string(lanes_);
    return "";
  }

  // Whether the failed switches of a ring are adjacent.
  bool are_neighbours(std::size_t start, std::size_t d) const {
    std::size_t begins = 0, number = start;
    do {
      const std::size_t next = neighbour(number, d, kUp);
      if (!is_failed_[number] && is_failed_[next]) ++begins;
      number = next;
    } while (number != start);
    return begins <= 1;
  }

  // Twice the dimension plus the direction.
  std::size_t direction_to(std::size_t number, std::size_t neighbour) const {
    std::size_t found = kNowhere;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      const std::uint32_t here = places_[number][d], there = places_[neighbour][d], size = dimensions_[d].size;
      if (here == there) continue;
      if (found != kNowhere) return kNowhere;
      const bool wraps = dimensions_[d].is_closed;
      if (there == here + 1 || (wraps && here == size - 1 && there == 0)) found = 2 * d + kUp;
      else if (here == there + 1 || (wraps && there == size - 1 && here == 0)) found = 2 * d + kDown;
      else return kNowhere;
    }
    return found;
  }

  // The shorter direction; of two equal ones the one that does not cross the dateline, as in OpenSM.
  Direction direction(std::size_t d, std::uint32_t from, std::uint32_t to) const {
    const Torus::Dimension& dimension = dimensions_[d];
    if (!dimension.is_closed) return from < to ? kUp : kDown;
    const std::uint32_t up = (to + dimension.size - from) % dimension.size, down = dimension.size - up;
    if (up != down) return up < down ? kUp : kDown;
    return from < to ? kUp : kDown;
  }

  std::uint8_t level(const Place& from, const Place& to) const {
    std::uint32_t level = 0;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (from[d] == to[d] || !dimensions_[d].is_closed) continue;
      const bool crosses = direction(d, from[d], to[d]) == kUp ? to[d] < from[d] : to[d] > from[d];
      level |= static_cast<std::uint32_t>(crosses) << d;
    }
    return static_cast<std::uint8_t>(level);
  }

  std::size_t neighbour(std::size_t number, std::size_t d, Direction direction) const {
    Place place = places_[number];
    const std::uint32_t size = dimensions_[d].size;
    place[d] = (place[d] + (direction == kUp ? 1 : size - 1)) % size;
    return switch_at(place);
  }

  std::size_t switch_at(const Place& place) const {
    std::size_t index = 0;
    for (std::size_t i = 0; i < kMostDimensions; ++i) index = index * dimensions_[i].size + place[i];
    return at_[index];
  }

  bool is_whole(std::size_t from, std::size_t d, std::uint32_t to, Direction direction) const {
    for (std::size_t at = from; places_[at][d] != to; at = neighbour(at, d, direction)) {
      const bool leaves_mesh = !dimensions_[d].is_closed && places_[at][d] == (direction == kUp ? dimensions_[d].size - 1 : 0);
      if (leaves_mesh || cables_[at][2 * d + direction].empty()) return false;
    }
    return true;
  }

  // The usual direction if it leads to position `to` of a ring, otherwise the other one.
  std::optional<Direction> whole_direction(std::size_t from, std::size_t d, std::uint32_t to, Direction usual) const {
    for (const Direction one : {usual, usual == kUp ? kDown : kUp}) {
      if (is_whole(from, d, to, one)) return one;
    }
    return std::nullopt;
  }

  // The path turns at a failed switch: it turns at that switch's neighbour instead (torus-2QoS(8)). `d`
  // becomes the dimension to leave by. After that turn, the order of dimensions leads back along the first
  // dimension, past the failed switch.
  std::optional<Direction> early_turn(std::size_t from, std::size_t to, std::size_t& d, Direction usual) const {
    Place corner = places_[from];
    corner[d] = places_[to][d];
    if (!is_failed_[switch_at(corner)]) return std::nullopt;
    for (const Direction one : {usual, usual == kUp ? kDown : kUp}) {
      const std::size_t before_corner = neighbour(switch_at(corner), d, one == kUp ? kDown : kUp);
      if (before_corner != from) {
        if (is_whole(from, d, places_[before_corner][d], one)) return one;
        continue;
      }
      std::size_t next = d + 1;
      while (next < kMostDimensions && places_[from][next] == places_[to][next]) ++next;
      if (next == kMostDimensions) return std::nullopt;
      const Direction turn = this->direction(next, places_[from][next], places_[to][next]);
      for (const Direction other : {turn, turn == kUp ? kDown : kUp}) {
        if (!leads_past(from, to, d, one, next, other)) continue;
        d = next;
        return other;
      }
    }
    return std::nullopt;
  }

  // Whether the path that turns early from dimension `d` to `next` reaches the destination's position in
  // both.
  bool leads_past(std::size_t from, std::size_t to, std::size_t d, Direction along, std::size_t next, Direction turn) const {
    std::size_t at = from;
    do {
      if (at != from && places_[at][next] == places_[from][next]) return false;
      if (cables_[at][2 * next + turn].empty()) return false;
      at = neighbour(at, next, turn);
    } while (is_failed_[neighbour(at, d, along)]);
    if (cables_[at][2 * d + along].empty()) return false;
    const std::size_t past = neighbour(at, d, along);
    return places_[past][next] == places_[to][next] || is_whole(past, next, places_[to][next], turn);
  }

  // Routes at one switch to another switch and its adapters, which parallel cables share.
  std::string set_routes(std::size_t from, std::size_t to) {
    const std::size_t own = plan_.nodes[graph_.node(to)].ports[0].lid.value;
    ++plan_.steps;
    if (from == to) {
      for (const auto& [lid, port] : graph_.adapters(to)) table_of(to)[lid] = port;
      if (own != 0) table_of(to)[own] = PortNumber{0};
      return "";
    }
    if (is_failed_[from] || is_failed_[to]) return "";
    std::size_t d = 0;
    while (places_[from][d] == places_[to][d]) ++d;
    const Direction usual = this->direction(d, places_[from][d], places_[to][d]);
    std::optional<Direction> direction = whole_direction(from, d, places_[to][d], usual);
    if (!direction) direction = early_turn(from, to, d, usual);
    if (!direction)
      return std::string("no cables lead along ") + "xyz"[d] + " from switch " + name(from) + " in the direction of " + name(to);
    const std::vector<PortNumber>& cables = cables_[from][2 * d + *direction];
    std::size_t turn = 0;
    for (const auto& [lid, port] : graph_.adapters(to)) table_of(from)[lid] = cables[turn++ % cables.size()];
    if (own != 0) table_of(from)[own] = cables[0];
    return "";
  }

  // The master spanning tree of torus-2QoS(8): a line along the first dimension through a root, a line along
  // the second dimension from each of its switches, and so on. From the root to the leaves, turns are in
  // order of dimensions; the other turns are not, and together with them routes lack one of the four turns of
  // a cycle. A line leaves out the dateline, unless its ring is broken. The ring of a failed switch along the
  // last dimension is no line: its switches are attached to their neighbours along another dimension. As a
  // line, whose packets turn away from it, it would close cycles around the failed switch with the paths that
  // turn early.
  std::vector<TreeCable> tree() const {
    std::vector<TreeCable> tree;
    std::vector<std::size_t> reached{root()};
    if (is_failed_[reached[0]]) return tree;
    std::size_t last = 0, other = kMostDimensions;  // dimensions
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (dimensions_[d].size == 1) continue;
      if (dimensions_[last].size > 1) other = std::min(other, last);
      last = d;
    }
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      const std::vector<std::size_t> before = reached;
      for (const std::size_t number : before) {
        if (d == last && other < kMostDimensions && has_failed_along(number, d)) continue;
        for (const Direction direction : {kUp, kDown}) add_line(number, d, direction, tree, reached);
      }
    }
    for (std::size_t number = 0; failed_ > 0 && other < kMostDimensions && number < graph_.size(); ++number)
      hang(number, other, tree, reached);
    return tree;
  }

  bool has_failed_along(std::size_t number, std::size_t d) const {
    if (failed_ == 0) return false;
    for (std::size_t at = neighbour(number, d, kUp); at != number; at = neighbour(at, d, kUp)) {
      if (is_failed_[at]) return true;
    }
    return false;
  }

  void hang(std::size_t number, std::size_t d, std::vector<TreeCable>& tree, std::vector<std::size_t>& reached) const {
    const auto is_reached = [&](std::size_t one) { return std::ranges::find(reached, one) != reached.end(); };
    if (is_failed_[number] || is_reached(number)) return;
    for (const Direction direction : {kDown, kUp}) {
      if (cables_[number][2 * d + direction].empty() || !is_reached(neighbour(number, d, direction))) continue;
      tree.push_back({number, cables_[number][2 * d + direction][0]});
      reached.push_back(number);
      return;
    }
  }

  // In the middle of all dimensions; with a failed switch, beside it in the last one.
  std::size_t root() const {
    std::size_t last = 0;
    Place place{};
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      place[d] = dimensions_[d].size / 2;
      if (dimensions_[d].size > 1) last = d;
    }
    const auto has_failed = [&](std::uint32_t at) {
      return std::ranges::any_of(at_, [&](std::size_t number) { return is_failed_[number] && places_[number][last] == at; });
    };
    for (std::uint32_t i = 0; i < dimensions_[last].size && has_failed(place[last]); ++i)
      place[last] = (place[last] + 1) % dimensions_[last].size;
    return switch_at(place);
  }

  // From a switch in one direction, as far as cables lead to switches that have not been reached.
  void add_line(std::size_t number, std::size_t d, Direction direction, std::vector<TreeCable>& tree,
                std::vector<std::size_t>& reached) const {
    const std::uint32_t start = places_[number][d], size = dimensions_[d].size;
    const bool is_whole_ring = dimensions_[d].is_closed && is_whole(number, d, (start + size - 1) % size, kUp) &&
                               !cables_[neighbour(number, d, kDown)][2 * d + kUp].empty();
    for (std::size_t at = number; !cables_[at][2 * d + direction].empty(); at = reached.back()) {
      const bool crosses = places_[at][d] == (direction == kUp ? size - 1 : 0);
      const std::size_t next = neighbour(at, d, direction);
      if (next == number || (crosses && is_whole_ring)) return;
      if (std::ranges::find(reached, next) != reached.end()) return;
      tree.push_back({at, cables_[at][2 * d + direction][0]});
      reached.push_back(next);
    }
  }

  // Whether paths around failed switches arrive; they may also meet missing cables.
  std::string find_gap() {
    if (failed_ == 0) return "";
    for (std::size_t to = 0; to < graph_.size(); ++to) {
      if (is_failed_[to] || !graph_.is_leaf(to)) continue;
      const std::size_t lid = graph_.adapters(to)[0].lid;
      for (std::size_t from = 0; from < graph_.size(); ++from) {
        std::size_t at = from, hops = 0;
        while (!is_failed_[at] && at != to && hops++ <= graph_.size()) at = graph_.next_switch(at, table_of(at)[lid]);
        if (at != to && !is_failed_[from]) return "no path around the failed switches leads from switch " + name(from) + " to " + name(to);
      }
    }
    return "";
  }

  // Packets to another switch that cross the dateline of a dimension have the second lane. After a turn
  // against the order of dimensions, which only paths around a failed switch have, two other lanes are used.
  void set_lanes(std::size_t number) {
    NodePlan& node = plan_.nodes[graph_.node(number)];
    const auto dimension_of = [&](std::uint32_t port) {
      const Attachment& end = graph_.neighbour(graph_.node(number), port);
      const bool is_between_switches = end.node != kNowhere && graph_.number(end.node) != kNowhere;
      return is_between_switches ? direction_to(number, graph_.number(end.node)) / 2 : kNowhere;
    };
    for (std::uint32_t port = 1; port <= graph_.ports(number); ++port) {
      std::vector<fabric::LevelMapping>& lanes = node.lanes.emplace_back();
      if (graph_.neighbour(graph_.node(number), port).node != kNowhere) lanes = lanes_along(dimension_of(port), false);
    }
    for (std::uint32_t in = 1; in <= graph_.ports(number) && lanes_ >= 2 * kTurnLanes; ++in) {
      for (std::uint32_t out = 1; out <= graph_.ports(number); ++out) {
        const std::size_t from = dimension_of(in), to = dimension_of(out);
        if (from == kNowhere || to == kNowhere || from <= to) continue;
        node.turn_lanes.push_back({PortNumber{static_cast<std::uint8_t>(in)},
                                   PortNumber{static_cast<std::uint8_t>(out)}, lanes_along(to, true)});
      }
    }
  }

  // kNowhere: to an adapter.
  std::vector<fabric::LevelMapping> lanes_along(std::size_t d, bool is_behind_turn) const {
    const bool has_quality = failed_ == 0 ? lanes_ > kQualityLanes + 1 : lanes_ >= 2 * kQualityLanes;
    std::vector<fabric::LevelMapping> lanes;
    for (std::uint32_t level = 0; level < 16; ++level) {
      const std::uint32_t quality = has_quality ? level >> kQualityBit : 0;
      if (d == kNowhere) {
        lanes.push_back({level, quality});
        continue;
      }
      const std::uint32_t crosses = (level >> d & 1) % std::max(lanes_, 1u) + (is_behind_turn ? kTurnLanes : 0);
      lanes.push_back({level, crosses + quality * kQualityLanes});
    }
    return lanes;
  }

  const SwitchGraph& graph_;
  const std::vector<Node>& nodes_;
  const std::size_t lids_;
  const std::uint32_t lanes_;
  Plan& plan_;
  std::array<Torus::Dimension, kMostDimensions> dimensions_;
  std::vector<std::size_t> at_;  // numbers, the last dimension changing fastest
  // By switch number:
  std::vector<std::array<std::vector<PortNumber>, 2 * kMostDimensions>> cables_;  // by direction_to()
  std::vector<Place> places_;
  std::vector<bool> is_failed_;
  std::size_t failed_ = 0;  // number of failed switches
};

}  // namespace

std::string compute_torus_routes(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids, const Torus& torus,
                             std::uint32_t lanes, Plan& plan) {
  return Grid(graph, nodes, lids, torus, lanes, plan).compute(torus.switches);
}

}  // namespace verbatim::subnet
