// One line of the fidelity table.
#pragma once

#include <optional>
#include <string>

#include "tests/fidelity/published.h"

namespace verbatim::fidelity {

// Whether a simulated value is within its bound. Nothing simulated is never within one.
bool is_within(const Published& published, std::optional<double> simulated);

// target, published, simulated, error %, bound %, "ok" or "off", with two spaces between them at least; behind "ok"
// or "off" a mark when the published value is quoted from memory. A bound of 0 demands the published digits, "-" demands nothing.
std::string line_of(const Published& published, std::optional<double> simulated);
std::string heading();

}  // namespace verbatim::fidelity
