#include "tools/verbatim/check_levels.h"

namespace verbatim::cli {

CheckLevels::CheckLevels() {
  levels_.fill(CheckLevel::kWarn);
  for (const protocol::Check check : {protocol::Check::kLeak, protocol::Check::kWriteTarget})
    levels_[static_cast<std::size_t>(check)] = CheckLevel::kOff;
}

CheckLevels::CheckLevels(const std::vector<std::string>& options) : CheckLevels() {
  for (const std::string& option : options) set(option);
}

CheckLevel CheckLevels::of(std::string_view check) const {
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    if (check == protocol::kChecks[i].name) return levels_[i];
  }
  return CheckLevel::kOff;
}

std::uint32_t CheckLevels::bits() const {
  std::uint32_t bits = 0;
  for (std::uint32_t i = 1; i < levels_.size(); ++i) {
    if (levels_[i] != CheckLevel::kOff) bits |= 1u << i;
  }
  return bits;
}

std::string CheckLevels::set(std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const std::string_view text = equals == option.npos ? "" : option.substr(equals + 1);
  CheckLevel level;
  if (text == "off") {
    level = CheckLevel::kOff;
  } else if (text == "warn") {
    level = CheckLevel::kWarn;
  } else if (text == "error") {
    level = CheckLevel::kError;
  } else {
    return std::string(option) + ": a check is given as NAME=off, NAME=warn or NAME=error";
  }
  bool is_known = false;
  std::string names = "all";
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    names += std::string(", ") + protocol::kChecks[i].name;
    if (name != "all" && name != protocol::kChecks[i].name) continue;
    levels_[i] = level;
    is_known = true;
  }
  return is_known ? "" : "there is no check " + std::string(name) + "; names are " + names;
}

std::string reject_check(const std::string& option) { return CheckLevels().set(option); }

}  // namespace verbatim::cli
