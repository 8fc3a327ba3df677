#include "sim/config/generate/generate.h"

#include <algorithm>

#include "sim/config/generate/builder.h"
#include "sim/config/generate/overrides.h"
#include "sim/config/generate/shapes.h"

namespace verbatim::config {

namespace {

// A key that only some shapes have.
struct ShapeKey {
  std::string_view key;
  bool (*is_given)(const GeneratorSpec& spec);
};
constexpr ShapeKey kShapeKeys[] = {
    {"hosts_per_leaf", [](const GeneratorSpec& spec) { return spec.hosts_per_leaf != 0; }},
    {"spines", [](const GeneratorSpec& spec) { return spec.spines != 0; }},
    {"cables_per_spine", [](const GeneratorSpec& spec) { return spec.cables_per_spine != 0; }},
    {"k", [](const GeneratorSpec& spec) { return spec.k != 0; }},
    {"tiers", [](const GeneratorSpec& spec) { return spec.tiers != 0; }},
    {"oversubscription", [](const GeneratorSpec& spec) { return !spec.oversubscription.empty(); }},
    {"cables", [](const GeneratorSpec& spec) { return spec.cables != 0; }},
    {"a", [](const GeneratorSpec& spec) { return spec.a != 0; }},
    {"p", [](const GeneratorSpec& spec) { return spec.p != 0; }},
    {"h", [](const GeneratorSpec& spec) { return spec.h != 0; }},
    {"groups", [](const GeneratorSpec& spec) { return spec.groups != 0; }},
    {"leaves_per_group", [](const GeneratorSpec& spec) { return spec.leaves_per_group != 0; }},
    {"spines_per_group", [](const GeneratorSpec& spec) { return spec.spines_per_group != 0; }},
    {"dimensions", [](const GeneratorSpec& spec) { return !spec.dimensions.empty(); }},
    {"hosts_per_switch", [](const GeneratorSpec& spec) { return spec.hosts_per_switch != 0; }}};

constexpr Tier kAllTiers[] = {Tier::kHost,  Tier::kLeaf,   Tier::kAgg,    Tier::kCore,
                              Tier::kSpine, Tier::kRouter, Tier::kGlobal, Tier::kSwitch};

template <class Range, class Text>
std::string listed(const Range& range, Text text) {
  std::string list;
  for (const auto& one : range) list += (list.empty() ? "" : ", ") + std::string(text(one));
  return list;
}

// Checks that the keys of a generator go together.
class KeyChecks {
 public:
  KeyChecks(const TopologySpec& topology, const Shape& shape, Diagnostics& diagnostics)
      : topology_(topology), spec_(topology.generate), shape_(shape), diagnostics_(diagnostics) {}

  bool run() {
    if (!shape_.has_rails && spec_.rails > 1) {
      refuse("", "hosts of a " + in_quotes(shape_.name) + " have one adapter each",
             "leave \"rails\" out, or choose the shape \"leaf_spine\"");
    }
    for (const ShapeKey& one : kShapeKeys) {
      if (!one.is_given(spec_) || std::ranges::find(shape_.keys, one.key) != shape_.keys.end()) continue;
      const std::string own = listed(shape_.keys, [](std::string_view key) { return key; });
      refuse("/" + std::string(one.key), "the shape " + in_quotes(shape_.name) + " has no such key",
             own.empty() ? "leave it out" : "leave it out; its own keys are " + own);
    }
    ratio("/oversubscription", spec_.oversubscription);
    for (const Tier tier : kAllTiers) {
      if (!tier_of(spec_.per_tier, tier).pointer.empty()) this->tier(tier);
    }
    return is_good_;
  }

 private:
  // `key` begins with a slash, or is empty.
  void refuse(const std::string& key, std::string text, std::string hint) {
    is_good_ = false;
    diagnostics_.add(topology_.file, "/generate" + key, std::move(text), std::move(hint));
  }

  void ratio(const std::string& key, const std::string& text) {
    if (text.empty() || parse_port_ratio(text)) return;
    refuse(key, in_quotes(text) + " is no ratio of ports", "write ports down and ports up, such as \"2:1\"");
  }

  void tier(Tier tier) {
    const std::string key = "/per_tier/" + std::string(name_of(tier));
    const auto tiers = tiers_of(shape_, spec_);
    const auto own = std::ranges::find(tiers, tier, &ShapeTier::tier);
    if (own == tiers.end()) {
      return refuse(key, "the shape " + in_quotes(shape_.name) + " has no such tier",
                    "its tiers are " + listed(tiers, [](const ShapeTier& one) { return name_of(one.tier); }));
    }
    const TierSpec& spec = tier_of(spec_.per_tier, tier);
    const bool has_cable_key =
        spec.rate.width != 0 || spec.length_mm != TierSpec::kOfGenerator || spec.delay_fs_per_mm != TierSpec::kOfGenerator;
    if (has_cable_key && !own->has_cables)
      refuse(key, "no cables lead upwards from this tier", "give their rate and length to the tier below");
    if (!spec.switch_profile.empty() && !own->has_switches)
      refuse(key + "/switch", "there are cables in this tier, and no switches", "leave it out");
    if (spec.cables != 0 && !own->counts_cables)
      refuse(key + "/cables", "the number of this tier's cables follows from other keys", "leave it out");
    if (!spec.oversubscription.empty() && !own->divides_ports)
      refuse(key + "/oversubscription", "ports of this tier are not divided by a ratio", "leave it out");
    ratio(key + "/oversubscription", spec.oversubscription);
  }

  const TopologySpec& topology_;
  const GeneratorSpec& spec_;
  const Shape& shape_;
  Diagnostics& diagnostics_;
  bool is_good_ = true;
};

}  // namespace

void generate(TopologySpec& topology, const Json& json, Diagnostics& diagnostics) {
  const Shape* const shape = shape_named(topology.generate.shape);
  const auto is_of_generator = [&](const Finding& finding) {
    return finding.file == topology.file && finding.pointer.starts_with("/generate");
  };
  if (shape == nullptr || std::ranges::any_of(diagnostics.findings(), is_of_generator)) return;
  if (!KeyChecks(topology, *shape, diagnostics).run()) return;
  const WrittenParts written{topology.hosts.size(), topology.switches.size(), topology.links.size()};
  Builder builder(topology, *shape, diagnostics);
  shape->build(builder);
  if (topology.links.size() > written.links) apply_overrides(topology, written, json, diagnostics);
}

}  // namespace verbatim::config
