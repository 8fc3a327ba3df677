#include "tests/fidelity/profiles.h"

#include <cstdio>
#include <cstdlib>

#include "sim/config/load.h"

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

}  // namespace verbatim::fidelity
