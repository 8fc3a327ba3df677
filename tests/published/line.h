// One line of the table of a tool that compares the model to published values.
#pragma once

#include <optional>
#include <string>

#include "tests/published/published.h"

namespace verbatim::published {

// Whether a simulated value is within its bound; false without a value.
bool is_within(const Published& published, std::optional<double> simulated);

// Titles of columns, and the columns after the verdict.
struct Columns {
  std::string published, simulated;
  bool with_source = false;  // also certainty and source
};

// target, published, simulated, error %, bound %, "ok" or "off", at least two spaces apart. A mark follows
// "ok" or "off" if the value does not decide on success, or if it does and is quoted from memory. A bound of
// 0 demands the published digits, "-" nothing. A published 0 has no error in percent: "-".
std::string line_of(const Published& published, std::optional<double> simulated, const Columns& columns);
std::string heading(const Columns& columns);

}  // namespace verbatim::published
