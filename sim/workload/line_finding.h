// An error in a line of a text file.
#pragma once

#include <cstdint>
#include <string>

namespace verbatim::workload {

struct LineFinding {
  std::uint32_t line = 0;  // from 1
  std::string text, hint;
  friend bool operator==(const LineFinding&, const LineFinding&) = default;
};

}  // namespace verbatim::workload
