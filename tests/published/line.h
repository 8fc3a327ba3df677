// One line of the table of a tool that compares the model with published values.
#pragma once

#include <optional>
#include <string>

#include "tests/published/published.h"

namespace verbatim::published {

// Whether a simulated value is within its bound. Nothing simulated is never within one.
bool is_within(const Published& published, std::optional<double> simulated);

// Words of the heading, and what follows the verdict.
struct Columns {
  std::string published, simulated;
  bool with_source = false;  // certainty and source
};

// target, published, simulated, error %, bound %, "ok" or "off", with two spaces between them at least; behind "ok"
// or "off" a mark when the value is no bar, or is one and quoted from memory. A bound of 0 demands the published digits, "-"
// demands nothing. With a published 0 there is no error in percent: "-".
std::string line_of(const Published& published, std::optional<double> simulated, const Columns& columns);
std::string heading(const Columns& columns);

}  // namespace verbatim::published
