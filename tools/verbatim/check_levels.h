// What is said of each mistake that the checks find (--check NAME=off|warn|error).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verbs_shim/protocol/checks.h"

namespace verbatim::cli {

enum class CheckLevel : std::uint8_t { kOff, kWarn, kError };

class CheckLevels {
 public:
  // All warn, but for leaks, of which programs that exit have every right.
  CheckLevels();
  // As the options say, the later over the earlier.
  explicit CheckLevels(const std::vector<std::string>& options);

  CheckLevel of(std::string_view check) const;
  // protocol::check_bit() of those that are made.
  std::uint32_t bits() const;
  // Sets what "NAME=LEVEL" says; a sentence when it is none.
  std::string set(std::string_view option);

 private:
  std::array<CheckLevel, protocol::kCheckCount> levels_;
};

// For the command line: what is wrong with "NAME=LEVEL"; empty: nothing.
std::string reject_check(const std::string& option);

}  // namespace verbatim::cli
