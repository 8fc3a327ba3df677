// The regular expression of --fail-on and of replay files.
#pragma once

#include <algorithm>
#include <regex>
#include <string>

namespace verbatim::cli {

// Throws std::regex_error. Numbers of repetitions and groups have at most five digits, because the C++
// library does not check longer ones for overflow.
inline std::regex fail_pattern(const std::string& text) {
  constexpr std::size_t kMostDigits = 5;
  const auto digits_from = [&text](std::size_t at) {
    const std::size_t end = text.find_first_not_of("0123456789", at);
    return (end == text.npos ? text.size() : end) - at;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' && text[i] != '{') continue;
    std::size_t digits = digits_from(i + 1);
    const std::size_t behind = i + 1 + digits;
    if (text[i] == '{' && behind < text.size() && text[behind] == ',') digits = std::max(digits, digits_from(behind + 1));
    if (digits > kMostDigits) {
      throw std::regex_error(text[i] == '{' ? std::regex_constants::error_badbrace : std::regex_constants::error_backref);
    }
    if (text[i] == '\\' && digits == 0) ++i;  // an escaped character
  }
  return std::regex(text);
}

}  // namespace verbatim::cli
