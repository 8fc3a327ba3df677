// Shapes of tiers with cables between neighbouring tiers: star, leaf_spine, rail, fat_tree.
#include <algorithm>

#include "sim/config/generate/builder.h"

namespace verbatim::config {

namespace {

std::string numbered(const char* what, std::uint32_t number) { return what + std::to_string(number); }

// Number of parts of size `size` that hold `whole`.
std::uint32_t parts(std::uint64_t whole, std::uint64_t size) {
  return static_cast<std::uint32_t>((whole + size - 1) / size);
}

// A fat tree of switches with k ports each. With three tiers it has pods; with two tiers each leaf counts as
// a pod.
struct FatTree {
  std::uint32_t k = 0;
  bool has_pods = true;
  std::uint32_t leaf_down = 0, leaf_up = 0, leaf_cables = 1;  // ports, and parallel cables to each switch above
  std::uint32_t agg_down = 0, agg_up = 0, agg_cables = 1;

  std::uint32_t leaves_of_pod() const { return has_pods ? agg_down / leaf_cables : 1; }
  std::uint32_t aggs_of_pod() const { return leaf_up / leaf_cables; }  // with two tiers: spines
  std::uint32_t cores_of_agg() const { return agg_up / agg_cables; }
  std::uint32_t pods_max() const { return k / (has_pods ? agg_cables : leaf_cables); }
  std::uint64_t places_of_pod() const { return std::uint64_t{leaf_down} * leaves_of_pod(); }
  std::uint64_t places() const { return places_of_pod() * pods_max(); }
};

// Why k does not work, with a hint; an empty text means that it does.
struct Doubt {
  std::string text, hint;
};

Doubt divide(FatTree& tree, const Builder& builder, std::uint32_t k) {
  const auto ports_of = [&](Tier tier, std::uint32_t& down, std::uint32_t& up) -> Doubt {
    const PortRatio ratio = builder.oversubscription(tier);
    if (k % ratio.sum() != 0) {
      return {std::to_string(k) + " ports of a switch cannot be divided " + ratio.text() + " between down and up",
              "choose a multiple of " + std::to_string(ratio.sum())};
    }
    down = k / ratio.sum() * ratio.down;
    up = k / ratio.sum() * ratio.up;
    return {};
  };
  const auto bundles = [&](std::uint32_t ports, std::uint32_t cables, const char* what) -> Doubt {
    if (ports % cables == 0) return {};
    return {std::to_string(ports) + " ports " + what + " cannot be divided into bundles of " + std::to_string(cables) +
                " cables",
            "choose another \"k\", or \"cables\" that divide them"};
  };
  tree = {.k = k, .has_pods = builder.spec().tiers != 2};
  tree.leaf_cables = builder.cables(Tier::kLeaf);
  if (Doubt doubt = ports_of(Tier::kLeaf, tree.leaf_down, tree.leaf_up); !doubt.text.empty()) return doubt;
  if (Doubt doubt = bundles(tree.leaf_up, tree.leaf_cables, "of a leaf upwards"); !doubt.text.empty()) return doubt;
  if (!tree.has_pods) return bundles(k, tree.leaf_cables, "of a spine");
  tree.agg_cables = builder.cables(Tier::kAgg);
  if (Doubt doubt = ports_of(Tier::kAgg, tree.agg_down, tree.agg_up); !doubt.text.empty()) return doubt;
  if (Doubt doubt = bundles(tree.agg_down, tree.leaf_cables, "of an aggregation switch downwards"); !doubt.text.empty())
    return doubt;
  if (Doubt doubt = bundles(tree.agg_up, tree.agg_cables, "of an aggregation switch upwards"); !doubt.text.empty())
    return doubt;
  return bundles(k, tree.agg_cables, "of a core");
}

// The plan for the given k, or for the smallest k with places for the hosts. nullopt, with a finding, on
// failure.
std::optional<FatTree> plan_fat_tree(Builder& builder) {
  const GeneratorSpec& spec = builder.spec();
  FatTree tree;
  if (spec.k != 0) {
    if (Doubt doubt = divide(tree, builder, spec.k); !doubt.text.empty()) {
      builder.refuse("k", doubt.text, doubt.hint);
      return std::nullopt;
    }
    return tree;
  }
  std::uint64_t most = 0;
  for (std::uint32_t k = 2; k <= Builder::kMostPorts; ++k) {
    if (!divide(tree, builder, k).text.empty()) continue;
    if (tree.places() >= spec.hosts) return tree;
    most = std::max(most, tree.places());
  }
  if (most == 0)
    builder.refuse("", "no number of ports fits these \"oversubscription\" and \"cables\"", "choose smaller numbers");
  else
    builder.refuse(
        "hosts",
        std::to_string(spec.hosts) + " hosts are too many: this \"fat_tree\" has places for at most " + std::to_string(most),
        "ask for fewer hosts, or for 3 \"tiers\"");
  return std::nullopt;
}

// Each leaf has cables to each spine.
void build_two_tiers(Builder& builder, const FatTree& tree, std::uint32_t leaves) {
  const std::uint32_t cables = tree.leaf_cables;
  std::vector<std::size_t> spines;
  for (std::uint32_t s = 0; s < tree.aggs_of_pod(); ++s)
    spines.push_back(builder.add_switch(Tier::kSpine, numbered("spine", s), tree.k));
  for (std::uint32_t l = 0; l < leaves; ++l) {
    const std::size_t leaf = builder.add_switch(Tier::kLeaf, numbered("leaf", l), tree.k);
    builder.add_hosts(leaf, tree.leaf_down);
    for (std::uint32_t s = 0; s < spines.size(); ++s)
      builder.join(Tier::kLeaf, {leaf, tree.leaf_down + s * cables + 1}, {spines[s], l * cables + 1}, cables);
  }
}

// Three tiers (Al-Fares et al., SIGCOMM 2008). Within each pod, each leaf is joined to each aggregation
// switch. Aggregation switch a of every pod is joined to the cores of plane a, whose ports lead to the pods
// in order. The lower ports of a switch lead down, the others up.
void build_three_tiers(Builder& builder, const FatTree& tree, std::uint32_t pods) {
  const std::uint32_t aggs = tree.aggs_of_pod(), cores_of_agg = tree.cores_of_agg();
  std::vector<std::size_t> cores;
  for (std::uint32_t a = 0; a < aggs; ++a) {
    for (std::uint32_t c = 0; c < cores_of_agg; ++c)
      cores.push_back(builder.add_switch(Tier::kCore, numbered("plane", a) + numbered("-core", c), tree.k));
  }
  for (std::uint32_t p = 0; p < pods; ++p) {
    const std::string pod = numbered("pod", p);
    std::vector<std::size_t> pod_aggs;
    for (std::uint32_t a = 0; a < aggs; ++a)
      pod_aggs.push_back(builder.add_switch(Tier::kAgg, pod + numbered("-agg", a), tree.k));
    for (std::uint32_t l = 0; l < tree.leaves_of_pod(); ++l) {
      const std::size_t leaf = builder.add_switch(Tier::kLeaf, pod + numbered("-leaf", l), tree.k);
      builder.add_hosts(leaf, tree.leaf_down);
      for (std::uint32_t a = 0; a < aggs; ++a) {
        builder.join(Tier::kLeaf, {leaf, tree.leaf_down + a * tree.leaf_cables + 1}, {pod_aggs[a], l * tree.leaf_cables + 1},
                     tree.leaf_cables);
      }
    }
    for (std::uint32_t a = 0; a < aggs; ++a) {
      for (std::uint32_t c = 0; c < cores_of_agg; ++c) {
        builder.join(Tier::kAgg, {pod_aggs[a], tree.agg_down + c * tree.agg_cables + 1},
                     {cores[a * cores_of_agg + c], p * tree.agg_cables + 1}, tree.agg_cables);
      }
    }
  }
}

}  // namespace

// One switch with a port for each adapter, rail by rail.
void build_star(Builder& builder) {
  const std::uint32_t hosts = builder.spec().hosts, rails = builder.spec().rails;
  if (!builder.fits({hosts, 1, std::uint64_t{hosts} * rails, ""})) return;
  const std::size_t hub = builder.add_switch(Tier::kLeaf, "leaf0", hosts * rails);
  for (std::uint32_t i = 0; i < hosts; ++i) builder.add_host(builder.name(hub), i);
  for (std::uint32_t rail = 0; rail < rails; ++rail) {
    for (std::uint32_t i = 0; i < hosts; ++i) builder.attach(i, rail, hub, rail * hosts + i + 1);
  }
}

// Hosts fill leaves in order, and each rail has leaves of its own. Each leaf has cables to each spine. A
// leaf's ports are its hosts, then the spines; a spine's ports are the leaves.
void build_leaf_spine(Builder& builder) {
  const GeneratorSpec& spec = builder.spec();
  const std::uint32_t per_leaf = spec.hosts_per_leaf != 0 ? spec.hosts_per_leaf : 4,
                      spine_count = spec.spines != 0 ? spec.spines : 2;
  const std::uint32_t cables = std::max(spec.cables_per_spine, 1u);
  const std::uint32_t leaves_of_rail = parts(spec.hosts, per_leaf), leaves = leaves_of_rail * spec.rails;
  const std::uint64_t ports = std::max(per_leaf + std::uint64_t{spine_count} * cables, std::uint64_t{leaves} * cables);
  if (!builder.fits({spec.hosts, std::uint64_t{leaves} + spine_count, ports, ""})) return;
  std::vector<std::size_t> spines;
  for (std::uint32_t s = 0; s < spine_count; ++s)
    spines.push_back(builder.add_switch(Tier::kSpine, numbered("spine", s), leaves * cables));
  for (std::uint32_t l = 0; l < leaves; ++l) {
    const std::uint32_t rail = l / leaves_of_rail, first = l % leaves_of_rail * per_leaf;
    const std::string place = (spec.rails > 1 ? numbered("rail", rail) + "-" : "") + numbered("leaf", l % leaves_of_rail);
    const std::size_t leaf = builder.add_switch(Tier::kLeaf, place, per_leaf + spine_count * cables);
    for (std::uint32_t i = 0; i < per_leaf && first + i < spec.hosts; ++i) {
      if (rail == 0) builder.add_host(builder.name(leaf), i);
      builder.attach(first + i, rail, leaf, i + 1);
    }
    for (std::uint32_t s = 0; s < spine_count; ++s)
      builder.join(Tier::kLeaf, {leaf, per_leaf + s * cables + 1}, {spines[s], l * cables + 1}, cables);
  }
}

// Groups of hosts with one leaf for each adapter of a host: the n-th adapters of a group's hosts are at the
// group's n-th leaf. Each leaf has cables to each spine. Ports are numbered as in leaf_spine.
void build_rail(Builder& builder) {
  const GeneratorSpec& spec = builder.spec();
  if (spec.rails < 2) return builder.refuse_without("rails", "adapters of each host, 2 to 8");
  if (spec.spines != 0 && !(spec.oversubscription.empty() && spec.per_tier.leaf.oversubscription.empty()))
    return builder.refuse("spines", "the number of spines follows from \"oversubscription\"", "leave one of them out");
  constexpr std::uint32_t kUsualGroup = 32;
  const std::uint32_t per_leaf = spec.hosts_per_leaf != 0 ? spec.hosts_per_leaf : std::min(spec.hosts, kUsualGroup);
  const std::uint32_t cables = std::max(spec.cables_per_spine, 1u);
  const PortRatio ratio = builder.oversubscription(Tier::kLeaf);
  const std::uint32_t spine_count =
      spec.spines != 0 ? spec.spines : parts(parts(std::uint64_t{per_leaf} * ratio.up, ratio.down), cables);
  const std::uint32_t groups = parts(spec.hosts, per_leaf), leaves = groups * spec.rails;
  const std::uint64_t ports = std::max(per_leaf + std::uint64_t{spine_count} * cables, std::uint64_t{leaves} * cables);
  if (!builder.fits({spec.hosts, std::uint64_t{leaves} + spine_count, ports, ""})) return;
  std::vector<std::size_t> spines;
  for (std::uint32_t s = 0; s < spine_count; ++s)
    spines.push_back(builder.add_switch(Tier::kSpine, numbered("spine", s), leaves * cables));
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::string group = numbered("group", g);
    const std::uint32_t first = g * per_leaf, count = std::min(per_leaf, spec.hosts - first);
    for (std::uint32_t i = 0; i < count; ++i) builder.add_host(group, i);
    for (std::uint32_t rail = 0; rail < spec.rails; ++rail) {
      const std::size_t leaf =
          builder.add_switch(Tier::kLeaf, group + numbered("-rail", rail), per_leaf + spine_count * cables);
      for (std::uint32_t i = 0; i < count; ++i) builder.attach(first + i, rail, leaf, i + 1);
      for (std::uint32_t s = 0; s < spine_count; ++s)
        builder.join(Tier::kLeaf, {leaf, per_leaf + s * cables + 1}, {spines[s], (g * spec.rails + rail) * cables + 1},
                     cables);
    }
  }
}

// With a given k only pods (with two tiers: leaves) that have hosts are built; with a computed k all are.
void build_fat_tree(Builder& builder) {
  const auto tree = plan_fat_tree(builder);
  if (!tree) return;
  const GeneratorSpec& spec = builder.spec();
  const std::uint32_t pods =
      spec.k == 0 ? tree->pods_max() : std::min(tree->pods_max(), parts(spec.hosts, tree->places_of_pod()));
  const std::uint64_t of_pod = tree->has_pods ? std::uint64_t{tree->leaves_of_pod()} + tree->aggs_of_pod() : 1;
  const std::uint64_t at_top = std::uint64_t{tree->aggs_of_pod()} * (tree->has_pods ? tree->cores_of_agg() : 1);
  if (!builder.fits({tree->places(), of_pod * pods + at_top, tree->k, "raise \"k\""})) return;
  tree->has_pods ? build_three_tiers(builder, *tree, pods) : build_two_tiers(builder, *tree, pods);
}

}  // namespace verbatim::config
