#include "tests/fidelity/profiles.h"

#include <cstdio>
#include <cstdlib>

#include "sim/config/fields.h"
#include "sim/config/load.h"
#include "sim/config/tables.h"

namespace verbatim::fidelity {

hca::HcaProfile hca_profile_of(const std::string& topology) {
  config::Diagnostics diagnostics;
  const auto spec =
      config::load_topology(std::string(VERBATIM_SOURCE_DIR) + "/topologies/" + topology + ".json",
                            {{VERBATIM_SOURCE_DIR "/topologies/profiles"}}, diagnostics);
  if (!spec) {
    std::fprintf(stderr, "fidelity: topologies/%s.json cannot be loaded; see verbatim check\n",
                 topology.c_str());
    std::exit(2);
  }
  return spec->hosts.at(0).hca_profile;
}

hca::HcaProfile adapter_profile(const std::string& name) {
  config::Diagnostics diagnostics;
  const std::string path = std::string(VERBATIM_SOURCE_DIR "/topologies/profiles/") + name + ".json";
  hca::HcaProfile profile;
  const auto json = config::read_json(path, diagnostics);
  if (json) config::check_object(*json, config::hca_profile_table(), &profile, path, "", diagnostics);
  if (!diagnostics.empty()) {
    std::fprintf(stderr, "fidelity: %s cannot be loaded; see verbatim check\n", path.c_str());
    std::exit(2);
  }
  return profile;
}

}  // namespace verbatim::fidelity
