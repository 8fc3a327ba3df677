// Shapes of groups of switches, each joined to each other group: dragonfly (Kim et al., ISCA 2008) and
// Dragonfly+ (Shpiner et al., HiPINEB 2017).
#include <algorithm>

#include "sim/config/generate/builder.h"

namespace verbatim::config {

namespace {

std::string place_of(std::uint32_t group, const char* what, std::uint32_t number) {
  return "group" + std::to_string(group) + "-" + what + std::to_string(number);
}

// Cables between groups. In each group, `switches` switches have `per_switch` of them, at their ports from
// `first_port` on.
struct GlobalCables {
  std::uint32_t groups, switches, per_switch, first_port;
  std::uint64_t of_group() const { return std::uint64_t{switches} * per_switch; }
  std::uint32_t most_groups() const { return static_cast<std::uint32_t>(of_group()) + 1; }
  // Cables between two groups.
  std::uint32_t of_pair() const { return groups < 2 ? 0 : static_cast<std::uint32_t>(of_group() / (groups - 1)); }
};

// Cable c·(groups - 1) + o of a group leads to the group o + 1 after it (cyclically), where it is cable
// c·(groups - 1) + (groups - 2 - o). Cables are numbered across the switches of a group, one switch after the
// other. `switch_of` lists the switches by group, then by number in the group.
void join_groups(Builder& builder, Tier tier, const GlobalCables& of, const std::vector<std::size_t>& switch_of) {
  const auto end = [&](std::uint32_t group, std::uint32_t cable) -> Builder::End {
    return {switch_of[group * of.switches + cable / of.per_switch], of.first_port + cable % of.per_switch};
  };
  for (std::uint32_t group = 0; group < of.groups; ++group) {
    for (std::uint32_t c = 0; c < of.of_pair(); ++c) {
      for (std::uint32_t o = 0; group + o + 1 < of.groups; ++o) {
        const std::uint32_t first = c * (of.groups - 1);
        builder.join(tier, end(group, first + o), end(group + o + 1, first + of.groups - 2 - o));
      }
    }
  }
}

// The given number of groups, else as many as the hosts need. nullopt, with a finding, on failure.
std::optional<std::uint32_t> groups_of(Builder& builder, std::uint64_t places_of_group, std::uint64_t global_cables) {
  const GeneratorSpec& spec = builder.spec();
  const std::uint64_t most = global_cables + 1;
  if (spec.groups > most) {
    builder.refuse("groups",
                   std::to_string(spec.groups) + " groups cannot be joined: a group has " + std::to_string(global_cables) +
                       " cables to others",
                   "ask for at most " + std::to_string(most) + " groups, or raise \"h\"");
    return std::nullopt;
  }
  if (spec.groups != 0) return spec.groups;
  return static_cast<std::uint32_t>(std::min(most, (spec.hosts + places_of_group - 1) / places_of_group));
}

// Whether all of these keys are given or none; anything else is a finding.
struct GivenKey {
  const char* key;
  std::uint32_t value;
};
bool are_whole(Builder& builder, std::initializer_list<GivenKey> keys) {
  const auto is_given = [](const GivenKey& one) { return one.value != 0; };
  if (std::ranges::none_of(keys, is_given)) return true;
  const auto missing = std::ranges::find_if_not(keys, is_given);
  if (missing == keys.end()) return true;
  std::string all;
  for (const GivenKey& one : keys) all += (all.empty() ? "" : ", ") + std::string(one.key);
  builder.refuse_without(missing->key, "give all of " + all + ", or none of them to have them follow from \"hosts\"");
  return false;
}

constexpr const char* kGrowDragonfly = "raise \"p\", \"a\", \"h\" or \"groups\"";
constexpr const char* kGrowDragonflyPlus = "raise \"p\", \"leaves_per_group\", \"h\" or \"groups\"";

}  // namespace

// Groups of `a` fully connected routers, each with p hosts and h cables to other groups. Default: the
// smallest balanced shape (a = 2p = 2h) with places for the hosts. Ports: hosts, then the group's other
// routers in order, then other groups.
void build_dragonfly(Builder& builder) {
  const GeneratorSpec& spec = builder.spec();
  std::uint64_t a = spec.a, p = spec.p, h = spec.h;
  if (!are_whole(builder, {{"a", spec.a}, {"p", spec.p}, {"h", spec.h}})) return;
  for (std::uint64_t half = 1; p == 0 || (spec.p == 0 && a * p * (a * h + 1) < spec.hosts); ++half)
    a = 2 * half, p = half, h = half;
  const std::uint32_t cables = builder.cables(Tier::kRouter);
  const auto groups = groups_of(builder, a * p, a * h);
  if (!groups) return;
  const std::uint64_t ports = p + (a - 1) * cables + h;
  if (!builder.fits({a * p * *groups, a * *groups, ports, kGrowDragonfly})) return;
  const auto routers = static_cast<std::uint32_t>(a), hosts = static_cast<std::uint32_t>(p);
  std::vector<std::size_t> all;
  for (std::uint32_t g = 0; g < *groups; ++g) {
    for (std::uint32_t r = 0; r < routers; ++r) {
      all.push_back(builder.add_switch(Tier::kRouter, place_of(g, "router", r), static_cast<std::uint32_t>(ports)));
      builder.add_hosts(all.back(), hosts);
    }
    const std::size_t first = all.size() - routers;
    for (std::uint32_t r = 0; r < routers; ++r) {
      for (std::uint32_t to = r + 1; to < routers; ++to)
        builder.join(Tier::kRouter, {all[first + r], hosts + (to - 1) * cables + 1},
                     {all[first + to], hosts + r * cables + 1}, cables);
    }
  }
  join_groups(builder, Tier::kGlobal, {*groups, routers, static_cast<std::uint32_t>(h), hosts + (routers - 1) * cables + 1},
              all);
}

// Groups of leaves and spines, each leaf joined to each spine of its group, with p hosts at each leaf and h
// cables to other groups at each spine. Default: all four numbers equal, the smallest with places for the
// hosts. Ports: those to the tier below, then those upwards.
void build_dragonfly_plus(Builder& builder) {
  const GeneratorSpec& spec = builder.spec();
  std::uint64_t leaves = spec.leaves_per_group, spines = spec.spines_per_group, p = spec.p, h = spec.h;
  if (!are_whole(builder, {{"leaves_per_group", spec.leaves_per_group},
                           {"spines_per_group", spec.spines_per_group},
                           {"p", spec.p},
                           {"h", spec.h}}))
    return;
  for (std::uint64_t half = 1; p == 0 || (spec.p == 0 && leaves * p * (spines * h + 1) < spec.hosts); ++half)
    leaves = spines = p = h = half;
  const std::uint32_t cables = builder.cables(Tier::kLeaf);
  const auto groups = groups_of(builder, leaves * p, spines * h);
  if (!groups) return;
  const std::uint64_t leaf_ports = p + spines * cables, spine_ports = leaves * cables + h;
  if (!builder.fits(
          {leaves * p * *groups, (leaves + spines) * *groups, std::max(leaf_ports, spine_ports), kGrowDragonflyPlus}))
    return;
  const auto leaf_count = static_cast<std::uint32_t>(leaves), spine_count = static_cast<std::uint32_t>(spines),
             hosts = static_cast<std::uint32_t>(p);
  std::vector<std::size_t> all_spines;
  for (std::uint32_t g = 0; g < *groups; ++g) {
    const std::size_t first = all_spines.size();
    for (std::uint32_t s = 0; s < spine_count; ++s)
      all_spines.push_back(
          builder.add_switch(Tier::kSpine, place_of(g, "spine", s), static_cast<std::uint32_t>(spine_ports)));
    for (std::uint32_t l = 0; l < leaf_count; ++l) {
      const std::size_t leaf =
          builder.add_switch(Tier::kLeaf, place_of(g, "leaf", l), static_cast<std::uint32_t>(leaf_ports));
      builder.add_hosts(leaf, hosts);
      for (std::uint32_t s = 0; s < spine_count; ++s)
        builder.join(Tier::kLeaf, {leaf, hosts + s * cables + 1}, {all_spines[first + s], l * cables + 1}, cables);
    }
  }
  join_groups(builder, Tier::kSpine, {*groups, spine_count, static_cast<std::uint32_t>(h), leaf_count * cables + 1},
              all_spines);
}

}  // namespace verbatim::config
