// Keys of "generate": one table for all shapes. generate/shapes.cc lists the keys of each shape.
#include "sim/config/cable_rows.h"
#include "sim/config/generate/shapes.h"
#include "sim/config/tables.h"

namespace verbatim::config {

namespace {

constexpr std::int64_t kMostCableMm = 100'000'000, kMostDelayFsPerMm = 100'000;
constexpr std::int64_t kMostPorts = 253;  // of a switch; one more port leads to another switch

const Object& tier_table() {
  using T = TierSpec;
  static const Object table = make_object<T>(
      "a tier", "switches of one tier of a shape, and the cables that lead from there upwards or to others of the tier",
      {for_people("description", "for people"),
       without_default(
           bind<&T::switch_profile>({.key = "switch", .kind = Kind::kReference, .doc = "profile of the tier's switches"})),
       without_default(bind<&T::rate>({.key = "rate", .kind = Kind::kLinkRate, .doc = "rate of the tier's cables"})),
       without_default(bind<&T::length_mm>(
           {.key = "length", .kind = Kind::kLength, .doc = "length of the tier's cables", .max = kMostCableMm})),
       without_default(bind<&T::delay_fs_per_mm>({.key = "delay_per_length",
                                                  .kind = Kind::kDelayPerLength,
                                                  .doc = "delay of the tier's cables per metre",
                                                  .max = kMostDelayFsPerMm})),
       without_default(bind<&T::cables>({.key = "cables",
                                         .kind = Kind::kInteger,
                                         .doc = "side by side between two switches that the tier's cables join",
                                         .min = 1,
                                         .max = kMostPorts})),
       without_default(
           bind<&T::oversubscription>({.key = "oversubscription",
                                       .kind = Kind::kText,
                                       .doc = "ports down to ports up of the tier's switches, such as \"3:1\""}))});
  return table;
}

// Each key is a tier of at least one shape.
const Object& tiers_table() {
  using T = TiersSpec;
  const auto row = [](std::string_view key, std::string_view doc) {
    return Field{.key = key, .kind = Kind::kObject, .doc = doc};
  };
  static const Object table = make_object<T>(
      "the tiers", "differences of one tier of a shape",
      {for_people("description", "for people"),
       bind_object<&T::host>(row("host", "cables between hosts and switches"), tier_table()),
       bind_object<&T::leaf>(row("leaf", "leaves, and their cables upwards"), tier_table()),
       bind_object<&T::agg>(row("agg", "fat_tree with 3 tiers: aggregation switches, and their cables to cores"),
                            tier_table()),
       bind_object<&T::core>(row("core", "fat_tree with 3 tiers: cores"), tier_table()),
       bind_object<&T::spine>(row("spine", "spines, and of dragonfly_plus their cables to other groups"), tier_table()),
       bind_object<&T::router>(row("router", "dragonfly: routers, and cables within a group"), tier_table()),
       bind_object<&T::global>(row("global", "dragonfly: cables between groups"), tier_table()),
       bind_object<&T::switches>(row("switch", "torus and hyperx: switches, and the cables between them"),
                                 tier_table())});
  return table;
}

// A count; the shape's default applies if it is left out.
template <auto Member>
Field number_row(std::string_view key, std::string_view doc, std::int64_t min = 1, std::int64_t max = kMostPorts) {
  return without_default(bind<Member>({.key = key, .kind = Kind::kInteger, .doc = doc, .min = min, .max = max}));
}

}  // namespace

const Object& generator_table() {
  using G = GeneratorSpec;
  static const Object table = make_object<G>(
      "a generator", "hosts, switches and links of a regular shape",
      {for_people("description", "for people"),
       bind<&G::shape>({.key = "shape",
                        .kind = Kind::kText,
                        .required = true,
                        .doc =
                            "star: one switch; leaf_spine: leaves, each with cables to every spine; fat_tree: two or three "
                            "tiers of switches with k "
                            "ports each; rail: groups with a leaf for each adapter of their hosts, and spines above; "
                            "dragonfly: groups of routers, "
                            "all joined; dragonfly_plus: groups of leaves and spines; torus: a grid whose rows are closed; "
                            "hyperx: a grid whose rows "
                            "are joined in full",
                        .choices = shape_names()}),
       bind<&G::hosts>(
           {.key = "hosts", .kind = Kind::kInteger, .required = true, .doc = "number of hosts", .min = 1, .max = 43'904}),
       number_row<&G::hosts_per_leaf>(
           "hosts_per_leaf",
           "leaf_spine: hosts at each leaf, left out: 4; rail: hosts of a group, left out: 32 at most"),
       number_row<&G::spines>(
           "spines", "leaf_spine: number of spines, left out: 2; rail: left out: as many as oversubscription says"),
       bind<&G::rails>({.key = "rails",
                        .kind = Kind::kInteger,
                        .doc = "adapters of each host: mlx5_0, mlx5_1, …; of leaf_spine and rail each rail has leaves of "
                               "its own, of a star ports of its own; of other shapes 1",
                        .min = 1,
                        .max = 8}),
       number_row<&G::cables_per_spine>("cables_per_spine",
                                        "leaf_spine and rail: cables from each leaf to each spine, left out: 1"),
       number_row<&G::k>("k", "fat_tree: ports of each switch; left out: the least number with places for the hosts", 2,
                         254),
       without_default(bind<&G::tiers>({.key = "tiers",
                                        .kind = Kind::kInteger,
                                        .doc = "fat_tree: tiers of switches, 2 or 3; left out: 3",
                                        .numbers = {2, 3}})),
       without_default(bind<&G::oversubscription>(
           {.key = "oversubscription",
            .kind = Kind::kText,
            .doc =
                "fat_tree and rail: ports down to ports up of a switch below the top, such as \"2:1\"; left out: 1:1"})),
       number_row<&G::cables>(
           "cables",
           "fat_tree, dragonfly (within groups), dragonfly_plus (within groups), torus and hyperx: cables side by side "
           "between two switches that are joined; left out: 1"),
       number_row<&G::a>("a", "dragonfly: routers of a group"),
       number_row<&G::p>("p", "dragonfly: hosts of a router; dragonfly_plus: hosts of a leaf"),
       number_row<&G::h>("h", "dragonfly: cables from a router to other groups; dragonfly_plus: cables from a spine"),
       number_row<&G::groups>(
           "groups", "dragonfly and dragonfly_plus: number of groups; left out: as many as the hosts need", 1, 40'000),
       number_row<&G::leaves_per_group>("leaves_per_group", "dragonfly_plus: leaves of a group"),
       number_row<&G::spines_per_group>("spines_per_group", "dragonfly_plus: spines of a group"),
       without_default(bind<&G::dimensions>(
           {.key = "dimensions",
            .kind = Kind::kText,
            .doc = "torus and hyperx: switches in each dimension, such as \"4x4x2\"; for torus an m behind a size "
                   "leaves this dimension's rows open, as of a mesh"})),
       number_row<&G::hosts_per_switch>("hosts_per_switch",
                                        "torus and hyperx: hosts at each switch; left out: the least number for the hosts"),
       bind_object<&G::per_tier>({.key = "per_tier", .kind = Kind::kObject, .doc = "differences of one tier"},
                                 tiers_table()),
       without_default(bind<&G::names>(
           {.key = "names",
            .kind = Kind::kText,
            .doc =
                "names of switches: number: leaf0, leaf1, …; place: pod3-leaf2 and the like; left out: number for star, leaf_spine "
                "and fat_tree, place for other shapes",
            .choices = {"number", "place"}})),
       bind<&G::host_names>(
           {.key = "host_names",
            .kind = Kind::kText,
            .doc =
                "number: host_prefix and a number from 0; place: the name of the host's switch (of rail: group) ahead of it, and "
                "numbers from 0 at each",
            .choices = {"number", "place"}}),
       bind<&G::host_prefix>(
           {.key = "host_prefix", .kind = Kind::kName, .doc = "first part of the hosts' names; numbers from 0 follow"}),
       bind<&G::hca>({.key = "hca", .kind = Kind::kReference, .doc = "adapter profile of every host"}),
       bind<&G::cpu>({.key = "cpu", .kind = Kind::kReference, .doc = "processor profile of every host"}),
       bind<&G::switch_profile>({.key = "switch", .kind = Kind::kReference, .doc = "profile of every switch"}),
       bind<&G::rate>({.key = "rate",
                       .kind = Kind::kLinkRate,
                       .required = true,
                       .doc = "rate of every cable: speed and width, such as \"EDR 4x\", or a data rate, such as \"100 Gbps\""}),
       bind<&G::length_mm>({.key = "length", .kind = Kind::kLength, .doc = "length of every cable", .max = kMostCableMm}),
       bind<&G::delay_fs_per_mm>({.key = "delay_per_length",
                                  .kind = Kind::kDelayPerLength,
                                  .doc = "delay of every cable per metre; copper 4.6 ns/m, fibre 4.96 ns/m",
                                  .max = kMostDelayFsPerMm}),
       flow_control_row<&G::flow_control>(),
       pfc_row<&G::pfc>()});
  return table;
}

}  // namespace verbatim::config
