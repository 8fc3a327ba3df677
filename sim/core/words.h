// Builds messages from strings and numbers. Not for hot paths.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim {

// Printed as 0x…
struct Hex {
  std::uint64_t value;
};

namespace words {

inline void append(std::string& text, std::string_view part) { text += part; }
template <std::integral T>
void append(std::string& text, T part) {
  text += std::to_string(part);
}
inline void append(std::string& text, Hex part) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[part.value & 15]);
    part.value >>= 4;
  } while (part.value != 0);
  text += "0x" + digits;
}

}  // namespace words

template <class... Parts>
std::string join(const Parts&... parts) {
  std::string text;
  (words::append(text, parts), ...);
  return text;
}

}  // namespace verbatim
