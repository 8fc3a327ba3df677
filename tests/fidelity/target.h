// Targets of tools/fidelity (tests/published/target.h).
#pragma once

#include <span>

#include "tests/published/target.h"

namespace verbatim::fidelity {

using published::Simulated;
using published::Wanted;

std::span<const published::Target> targets();

// Each target has a file of its own.
Simulated measure_kalia_pcie(const Wanted& wanted);
Simulated measure_pcie_model(const Wanted& wanted);
Simulated measure_breaking_band(const Wanted& wanted);
Simulated measure_timeouts(const Wanted& wanted);
Simulated measure_kalia_rates(const Wanted& wanted);
Simulated measure_qp_cache(const Wanted& wanted);
Simulated measure_lumina(const Wanted& wanted);
Simulated measure_qdr(const Wanted& wanted);
Simulated measure_hdr(const Wanted& wanted);
Simulated measure_osu(const Wanted& wanted);

}  // namespace verbatim::fidelity
