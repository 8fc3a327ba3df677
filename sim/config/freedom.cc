#include "sim/config/freedom.h"

namespace verbatim::config {

namespace {
constexpr std::string_view kPrefix = "quirk:", kAll = "quirk:all";
}

const std::vector<std::string>& freedom_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"friendly", "spec"};
    for (const hca::QuirkText& quirk : hca::kQuirks) all.push_back(std::string(kPrefix) + std::string(quirk.name));
    all.emplace_back(kAll);
    return all;
  }();
  return names;
}

hca::Quirks quirks_of(std::string_view freedom) {
  if (!freedom.starts_with(kPrefix)) return 0;
  hca::Quirks quirks = 0;
  for (std::size_t i = 0; i < std::size(hca::kQuirks); ++i) {
    if (freedom == kAll || freedom.substr(kPrefix.size()) == hca::kQuirks[i].name)
      quirks |= hca::bit_of(static_cast<hca::Quirk>(i));
  }
  return quirks;
}

void set_quirks(ScenarioSpec& scenario) {
  const hca::Quirks quirks = quirks_of(scenario.freedom);
  for (HostSpec& host : scenario.topology.hosts) {
    host.hca_profile.quirks = quirks;
    for (auto& further : host.further_adapters) further.hca_profile.quirks = quirks;
  }
}

}  // namespace verbatim::config
