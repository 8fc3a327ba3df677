// The regular shapes: their names, tiers and keys, and the function that builds each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/config/spec.h"

namespace verbatim::config {

class Builder;

enum class Tier { kHost, kLeaf, kAgg, kCore, kSpine, kRouter, kGlobal, kSwitch };
std::string_view name_of(Tier tier);  // its key under "per_tier"
const TierSpec& tier_of(const TiersSpec& tiers, Tier tier);

// A tier of a shape, and which keys apply to it.
struct ShapeTier {
  Tier tier;
  bool has_switches;
  bool has_cables;     // to the tier above, or within the tier
  bool counts_cables;  // key cables
  bool divides_ports;  // key oversubscription
};

struct Shape {
  std::string_view name;
  bool has_place_names;  // switches are named by place, unless "names" says otherwise
  bool has_rails;
  std::span<const ShapeTier> tiers;    // lowest first
  std::vector<std::string_view> keys;  // in addition to the keys of every shape
  void (*build)(Builder& builder);     // adds the whole shape, or a finding and nothing
};

std::vector<std::string_view> shape_names();
// nullptr if there is no such shape.
const Shape* shape_named(std::string_view name);
// Tiers of a shape; those of a fat_tree depend on its number of tiers.
std::span<const ShapeTier> tiers_of(const Shape& shape, const GeneratorSpec& spec);

// trees.cc
void build_star(Builder& builder);
void build_leaf_spine(Builder& builder);
void build_fat_tree(Builder& builder);
void build_rail(Builder& builder);
// groups.cc
void build_dragonfly(Builder& builder);
void build_dragonfly_plus(Builder& builder);
// grids.cc
void build_torus(Builder& builder);
void build_hyperx(Builder& builder);

}  // namespace verbatim::config
