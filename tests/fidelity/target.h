// A target is a set of published values and a function that has the model, or a real program in it, give the
// same ones. A new target is a file published/NAME.json, a function, and a row in targets().
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace verbatim::fidelity {

// Values by key (Published::key), in the unit of the file. What could not be measured is left out, which
// makes its line an "off".
using Simulated = std::map<std::string, double>;
// Keys that are asked for. A function may give more.
using Wanted = std::set<std::string>;

struct Target {
  std::string_view name;
  std::string_view about;
  Simulated (*measure)(const Wanted& wanted);
};

std::span<const Target> targets();
const Target* find_target(std::string_view name);

// Each in a file of its own.
Simulated measure_kalia_pcie(const Wanted& wanted);
Simulated measure_pcie_model(const Wanted& wanted);
Simulated measure_breaking_band(const Wanted& wanted);
Simulated measure_timeouts(const Wanted& wanted);
Simulated measure_kalia_rates(const Wanted& wanted);
Simulated measure_qp_cache(const Wanted& wanted);
Simulated measure_lumina(const Wanted& wanted);
Simulated measure_qdr(const Wanted& wanted);
Simulated measure_hdr(const Wanted& wanted);

}  // namespace verbatim::fidelity
