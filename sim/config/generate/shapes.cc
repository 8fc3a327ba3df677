#include "sim/config/generate/shapes.h"

#include <algorithm>
#include <array>

namespace verbatim::config {

namespace {

struct TierRow {
  Tier tier;
  std::string_view name;
  TierSpec TiersSpec::*spec;
};
constexpr TierRow kTiers[] = {
    {Tier::kHost, "host", &TiersSpec::host},       {Tier::kLeaf, "leaf", &TiersSpec::leaf},
    {Tier::kAgg, "agg", &TiersSpec::agg},          {Tier::kCore, "core", &TiersSpec::core},
    {Tier::kSpine, "spine", &TiersSpec::spine},    {Tier::kRouter, "router", &TiersSpec::router},
    {Tier::kGlobal, "global", &TiersSpec::global}, {Tier::kSwitch, "switch", &TiersSpec::switches}};

constexpr ShapeTier kHostCables{
    .tier = Tier::kHost, .has_switches = false, .has_cables = true, .counts_cables = false, .divides_ports = false};
constexpr ShapeTier top(Tier tier) { return {tier, true, false, false, false}; }
constexpr ShapeTier joined(Tier tier) { return {tier, true, true, true, false}; }  // switches that cables join

constexpr ShapeTier kStar[] = {kHostCables, top(Tier::kLeaf)};
constexpr ShapeTier kLeafSpine[] = {kHostCables, {Tier::kLeaf, true, true, false, false}, top(Tier::kSpine)};
constexpr ShapeTier kRail[] = {kHostCables, {Tier::kLeaf, true, true, false, true}, top(Tier::kSpine)};
constexpr ShapeTier kTwoTiers[] = {kHostCables, {Tier::kLeaf, true, true, true, true}, top(Tier::kSpine)};
constexpr ShapeTier kThreeTiers[] = {
    kHostCables, {Tier::kLeaf, true, true, true, true}, {Tier::kAgg, true, true, true, true}, top(Tier::kCore)};
constexpr ShapeTier kDragonfly[] = {kHostCables, joined(Tier::kRouter), {Tier::kGlobal, false, true, false, false}};
constexpr ShapeTier kDragonflyPlus[] = {kHostCables, joined(Tier::kLeaf), {Tier::kSpine, true, true, false, false}};
constexpr ShapeTier kGrid[] = {kHostCables, joined(Tier::kSwitch)};

const auto& shapes() {
  static const std::array kShapes{
      Shape{"star", false, true, kStar, {}, build_star},
      Shape{"leaf_spine", false, true, kLeafSpine, {"hosts_per_leaf", "spines", "cables_per_spine"}, build_leaf_spine},
      Shape{"fat_tree", false, false, kThreeTiers, {"k", "tiers", "oversubscription", "cables"}, build_fat_tree},
      Shape{"rail", true, true, kRail, {"hosts_per_leaf", "spines", "cables_per_spine", "oversubscription"}, build_rail},
      Shape{"dragonfly", true, false, kDragonfly, {"a", "p", "h", "groups", "cables"}, build_dragonfly},
      Shape{"dragonfly_plus",
            true,
            false,
            kDragonflyPlus,
            {"leaves_per_group", "spines_per_group", "p", "h", "groups", "cables"},
            build_dragonfly_plus},
      Shape{"torus", true, false, kGrid, {"dimensions", "hosts_per_switch", "cables"}, build_torus},
      Shape{"hyperx", true, false, kGrid, {"dimensions", "hosts_per_switch", "cables"}, build_hyperx}};
  return kShapes;
}

const TierRow& row_of(Tier tier) { return *std::ranges::find(kTiers, tier, &TierRow::tier); }

}  // namespace

std::string_view name_of(Tier tier) { return row_of(tier).name; }

const TierSpec& tier_of(const TiersSpec& tiers, Tier tier) { return tiers.*row_of(tier).spec; }

std::vector<std::string_view> shape_names() {
  std::vector<std::string_view> names;
  for (const Shape& shape : shapes()) names.push_back(shape.name);
  return names;
}

const Shape* shape_named(std::string_view name) {
  const auto shape = std::ranges::find(shapes(), name, &Shape::name);
  return shape == shapes().end() ? nullptr : &*shape;
}

std::span<const ShapeTier> tiers_of(const Shape& shape, const GeneratorSpec& spec) {
  if (shape.build == build_fat_tree && spec.tiers == 2) return kTwoTiers;
  return shape.tiers;
}

}  // namespace verbatim::config
