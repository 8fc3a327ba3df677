// The checks for mistakes in programs: the level of each (--check NAME=off|warn|error), and its text in
// manual pages and guides, which are generated from this table.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbs_shim/protocol/checks.h"

namespace verbatim::cli {

enum class CheckLevel : std::uint8_t { kOff, kWarn, kError };

struct CheckText {
  protocol::Check check;
  CheckLevel level;          // by default
  std::string_view details;  // what is checked and what is not, in whole sentences; may be empty
  const char* name() const { return protocol::kChecks[static_cast<std::size_t>(check)].name; }
  const char* mistake() const { return protocol::kChecks[static_cast<std::size_t>(check)].what; }
};

// One row for each check, in the order of protocol::Check.
std::span<const CheckText> check_texts();
// "off", "warn" or "error".
std::string_view name_of(CheckLevel level);
// Advice for a finding of this check; a sentence without a full stop.
std::string check_remedy(const CheckText& check);

class CheckLevels {
 public:
  // The default of each check.
  CheckLevels();
  // Applies the given options in order; later ones win.
  explicit CheckLevels(const std::vector<std::string>& options);

  CheckLevel of(std::string_view check) const;
  // protocol::check_bit() of each check that is not off.
  std::uint32_t bits() const;
  // Applies "NAME=LEVEL". Returns what is wrong with it, or an empty string.
  std::string set(std::string_view option);

 private:
  std::array<CheckLevel, protocol::kCheckCount> levels_;
};

// The error in "NAME=LEVEL" of the command line; an empty string if there is none.
std::string reject_check(const std::string& option);

}  // namespace verbatim::cli
