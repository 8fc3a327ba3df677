#include "sim/subnet/torus.h"

#include <algorithm>
#include <array>
#include <memory>

#include "sim/core/check.h"
#include "sim/subnet/layers.h"

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using fabric::RouteTable;

constexpr std::size_t kMostDimensions = 3;
constexpr std::uint32_t kQualityBit = 3;    // of a service level: which of the two qualities of service
constexpr std::uint32_t kQualityLanes = 4;  // of each
enum Direction : std::size_t { kUp, kDown };

using Place = std::array<std::uint32_t, kMostDimensions>;

class Grid {
 public:
  Grid(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids, const Torus& torus, std::uint32_t lanes,
       Plan& plan)
      : graph_(graph), nodes_(nodes), lids_(lids), lanes_(lanes), plan_(plan), cables_(graph.size()), places_(graph.size()) {
    CHECK(torus.dimensions.size() <= kMostDimensions);
    std::ranges::copy(torus.dimensions, dimensions_.begin());
    // Two switches side by side are no ring, whatever the cables between them.
    for (Torus::Dimension& one : dimensions_) one.is_closed = one.is_closed && one.size > 2;
    for (std::size_t number = 0; number < graph.size(); ++number) table_of(number).assign(lids, RouteTable::kNoRoute);
  }

  std::string lay(const std::vector<std::size_t>& switches) {
    std::string problem = place(switches);
    if (problem.empty()) problem = join();
    if (!problem.empty()) return problem;
    const auto needs_dateline = [](const Torus::Dimension& one) { return one.is_closed && one.size > 3; };
    if (lanes_ < 2 && std::ranges::any_of(dimensions_, needs_dateline)) return "cables between switches have one data lane, and a torus needs two";
    auto levels = std::make_shared<ServiceLevels>(switches_of_lids(graph_, lids_, plan_), graph_.size());
    for (std::size_t to = 0; to < graph_.size(); ++to) {
      for (std::size_t from = 0; from < graph_.size(); ++from) {
        levels->set(from, to, level(places_[from], places_[to]));
        if (problem = lay_routes(from, to); !problem.empty()) return problem;
      }
    }
    plan_.levels = std::move(levels);
    plan_.layers = std::min(lanes_, 2u);
    for (std::size_t number = 0; number < graph_.size(); ++number) set_lanes(number);
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

  // Every cable joins two neighbours.
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

  // Twice the dimension and the direction.
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

  // The shorter way round; of two equal ones, the same for both directions of a pair, and in turn the one or the other.
  Direction direction(std::size_t d, std::uint32_t from, std::uint32_t to) const {
    const Torus::Dimension& dimension = dimensions_[d];
    if (!dimension.is_closed) return from < to ? kUp : kDown;
    const std::uint32_t up = (to + dimension.size - from) % dimension.size, down = dimension.size - up;
    if (up != down) return up < down ? kUp : kDown;
    const bool crosses = std::min(from, to) % 2 == 1;
    return (from < to) != crosses ? kUp : kDown;
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

  // At one switch, to another and its adapters, which are shared out among cables side by side.
  std::string lay_routes(std::size_t from, std::size_t to) {
    const std::size_t own = plan_.nodes[graph_.node(to)].ports[0].lid.value;
    ++plan_.steps;
    if (from == to) {
      for (const auto& [lid, port] : graph_.adapters(to)) table_of(to)[lid] = port;
      if (own != 0) table_of(to)[own] = PortNumber{0};
      return "";
    }
    std::size_t d = 0;
    while (places_[from][d] == places_[to][d]) ++d;
    const std::uint32_t goal = places_[to][d];
    Direction direction = this->direction(d, places_[from][d], goal);
    if (!is_whole(from, d, goal, direction)) direction = direction == kUp ? kDown : kUp;
    if (!is_whole(from, d, goal, direction))
      return std::string("no cables lead along ") + "xyz"[d] + " from switch " + name(from) + " in the direction of " + name(to);
    const std::vector<PortNumber>& cables = cables_[from][2 * d + direction];
    std::size_t turn = 0;
    for (const auto& [lid, port] : graph_.adapters(to)) table_of(from)[lid] = cables[turn++ % cables.size()];
    if (own != 0) table_of(from)[own] = cables[0];
    return "";
  }

  // By the output alone: what crosses the dateline of its dimension has the second lane.
  void set_lanes(std::size_t number) {
    NodePlan& node = plan_.nodes[graph_.node(number)];
    const bool has_quality = lanes_ > kQualityLanes + 1;
    for (std::uint32_t port = 1; port <= graph_.ports(number); ++port) {
      std::vector<fabric::LevelMapping>& lanes = node.lanes.emplace_back();
      const Attachment& end = graph_.neighbour(graph_.node(number), port);
      if (end.node == kNowhere) continue;
      const bool is_between_switches = graph_.number(end.node) != kNowhere;
      const std::size_t d = is_between_switches ? direction_to(number, graph_.number(end.node)) / 2 : 0;
      for (std::uint32_t level = 0; level < 16; ++level) {
        const std::uint32_t quality = has_quality ? level >> kQualityBit : 0;
        lanes.push_back(
            {level, is_between_switches ? (level >> d & 1) % std::max(lanes_, 1u) + quality * kQualityLanes : quality});
      }
    }
  }

  const SwitchGraph& graph_;
  const std::vector<Node>& nodes_;
  const std::size_t lids_;
  const std::uint32_t lanes_;
  Plan& plan_;
  std::array<Torus::Dimension, kMostDimensions> dimensions_;
  std::vector<std::size_t> at_;  // numbers, the last dimension changing fastest
  // By number:
  std::vector<std::array<std::vector<PortNumber>, 2 * kMostDimensions>> cables_;  // by direction_to()
  std::vector<Place> places_;
};

}  // namespace

std::string lay_torus_routes(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids, const Torus& torus,
                             std::uint32_t lanes, Plan& plan) {
  return Grid(graph, nodes, lids, torus, lanes, plan).lay(torus.switches);
}

}  // namespace verbatim::subnet
