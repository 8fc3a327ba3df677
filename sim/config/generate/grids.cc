// Shapes of switches in a grid: torus (rows are rings) and mesh (rows are lines), and HyperX (Ahn et al., SC
// 2009), whose rows are fully connected. Ports of one dimension and direction have the same numbers at every
// switch, as dimension order routing needs.
#include <algorithm>

#include "sim/config/generate/builder.h"

namespace verbatim::config {

namespace {

struct Side {
  std::uint32_t size;
  bool is_closed;  // rows of this dimension are rings
};

constexpr std::size_t kMostDimensions = 6;
constexpr std::uint32_t kMostSize = 254;

// "4x4x2m"; nullopt if the text is not of this form.
std::optional<std::vector<Side>> parse_dimensions(std::string_view text) {
  std::vector<Side> sides;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    const bool is_open = word.ends_with('m');
    if (is_open) word.remove_suffix(1);
    if (word.empty() || word.size() > 3 || word.front() == '0' || word.find_first_not_of("0123456789") != word.npos)
      return std::nullopt;
    const auto size = static_cast<std::uint32_t>(std::stoul(std::string(word)));
    if (size < 2 || size > kMostSize) return std::nullopt;
    sides.push_back({size, !is_open});
    begin = end + 1;
  }
  return sides.size() <= kMostDimensions ? std::optional(sides) : std::nullopt;
}

// Switches of a grid; the last dimension varies fastest.
struct Grid {
  std::vector<Side> sides;
  std::uint32_t hosts = 0;  // places at each switch
  std::uint32_t cables = 1;
  std::vector<std::uint32_t> ports_before;  // by dimension: number of ports with lower numbers
  std::uint64_t switches = 1;

  // Difference of the indices of neighbours in that dimension.
  std::size_t stride(std::size_t dimension) const {
    std::size_t stride = 1;
    for (std::size_t d = dimension + 1; d < sides.size(); ++d) stride *= sides[d].size;
    return stride;
  }
  std::uint32_t place(std::size_t number, std::size_t dimension) const {
    return static_cast<std::uint32_t>(number / stride(dimension) % sides[dimension].size);
  }
};

// Adds switches and hosts. `ports_of` returns the number of ports that a dimension needs at each switch.
// nullopt, with a finding, on failure.
template <class PortsOf>
std::optional<Grid> add_grid(Builder& builder, bool may_be_open, PortsOf ports_of) {
  const GeneratorSpec& spec = builder.spec();
  if (spec.dimensions.empty()) {
    builder.refuse_without("dimensions", "switches in each dimension, such as \"4x4x2\"");
    return std::nullopt;
  }
  const auto sides = parse_dimensions(spec.dimensions);
  if (!sides || (!may_be_open && !std::ranges::all_of(*sides, &Side::is_closed))) {
    builder.refuse("dimensions", in_quotes(spec.dimensions) + " is no size of a grid",
                   std::string("write up to ") + std::to_string(kMostDimensions) + " sizes from 2 to " +
                       std::to_string(kMostSize) + ", such as " + (may_be_open ? "\"4x4x2\" or \"4x4m\"" : "\"4x4x2\""));
    return std::nullopt;
  }
  Grid grid{.sides = *sides, .cables = builder.cables(Tier::kSwitch)};
  for (const Side& side : grid.sides) grid.switches *= side.size;
  grid.hosts = spec.hosts_per_switch != 0 ? spec.hosts_per_switch
                                          : static_cast<std::uint32_t>((spec.hosts + grid.switches - 1) / grid.switches);
  std::uint64_t ports = grid.hosts;
  for (const Side& side : grid.sides) {
    grid.ports_before.push_back(static_cast<std::uint32_t>(ports));
    ports += std::uint64_t{ports_of(side)} * grid.cables;
  }
  if (!builder.fits({grid.switches * grid.hosts, grid.switches, ports, "raise \"hosts_per_switch\" or \"dimensions\""}))
    return std::nullopt;
  for (std::size_t s = 0; s < grid.switches; ++s) {
    std::string place = "sw";
    for (std::size_t d = 0; d < grid.sides.size(); ++d) place += "-" + std::to_string(grid.place(s, d));
    builder.add_hosts(builder.add_switch(Tier::kSwitch, place, static_cast<std::uint32_t>(ports)), grid.hosts);
  }
  return grid;
}

// Describes the torus to the engine torus-2QoS, unless the file does.
void describe_for_torus_2qos(TopologySpec& topology, const Grid& grid, std::size_t first) {
  constexpr std::size_t kMostOfEngine = 3;
  const bool is_asked = topology.routing_engine.find("torus-2QoS") != std::string::npos;
  if (!is_asked || !topology.torus_2qos.shape.empty() || grid.sides.size() > kMostOfEngine) return;
  topology.torus_2qos.shape = "torus";
  for (const Side& side : grid.sides)
    topology.torus_2qos.shape += " " + std::to_string(side.size) + (side.is_closed ? "" : "m");
  for (std::size_t s = 0; s < grid.switches; ++s) topology.torus_2qos.switches.push_back(topology.switches[first + s].name);
}

}  // namespace

// Ports: hosts, then the previous and the next neighbour of each dimension. Rows of two switches have one
// neighbour.
void build_torus(Builder& builder) {
  const std::size_t first = builder.topology().switches.size();
  const auto grid = add_grid(builder, true, [](const Side&) { return 2u; });
  if (!grid) return;
  for (std::size_t s = 0; s < grid->switches; ++s) {
    for (std::size_t d = 0; d < grid->sides.size(); ++d) {
      const Side& side = grid->sides[d];
      const std::uint32_t at = grid->place(s, d), before = grid->ports_before[d];
      const bool is_last = at + 1 == side.size;
      if (is_last && !(side.is_closed && side.size > 2)) continue;
      const std::size_t next = is_last ? s - at * grid->stride(d) : s + grid->stride(d);
      builder.join(Tier::kSwitch, {first + s, before + grid->cables + 1}, {first + next, before + 1}, grid->cables);
    }
  }
  describe_for_torus_2qos(builder.topology(), *grid, first);
}

// Ports: hosts, then for each dimension the other switches of the row, in order.
void build_hyperx(Builder& builder) {
  const std::size_t first = builder.topology().switches.size();
  const auto grid = add_grid(builder, false, [](const Side& side) { return side.size - 1; });
  if (!grid) return;
  for (std::size_t s = 0; s < grid->switches; ++s) {
    for (std::size_t d = 0; d < grid->sides.size(); ++d) {
      const std::uint32_t at = grid->place(s, d), before = grid->ports_before[d];
      for (std::uint32_t to = at + 1; to < grid->sides[d].size; ++to) {
        builder.join(Tier::kSwitch, {first + s, before + (to - 1) * grid->cables + 1},
                     {first + s + (to - at) * grid->stride(d), before + at * grid->cables + 1}, grid->cables);
      }
    }
  }
}

}  // namespace verbatim::config
