// Reads whole numbers of JSON documents that may have been changed: nlohmann::json converts fractions and
// numbers out of range silently.
#pragma once

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace verbatim::cli {

// The value as a T from `least` to `most`. Throws std::out_of_range, with a sentence, for anything else.
template <std::integral T, class Json>
T whole_number(const Json& value, T least = std::numeric_limits<T>::min(), T most = std::numeric_limits<T>::max()) {
  const auto is_within = [&](auto number) { return std::cmp_greater_equal(number, least) && std::cmp_less_equal(number, most); };
  if (value.is_number_unsigned()) {
    const auto number = value.template get<typename Json::number_unsigned_t>();
    if (is_within(number)) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.template get<typename Json::number_integer_t>();
    if (is_within(number)) return static_cast<T>(number);
  }
  const std::string text = value.is_number() ? value.dump() : std::string("a value of type ") + value.type_name();
  throw std::out_of_range(text + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace verbatim::cli
