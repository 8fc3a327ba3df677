#include "sim/explore/signature.h"

namespace verbatim::explore {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
}  // namespace

std::string without_numbers(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      out += text[i++];
      continue;
    }
    const bool is_address = text[i] == '0' && i + 2 < text.size() && text[i + 1] == 'x' && is_hex(text[i + 2]);
    if (is_address) {
      i += 2;
      while (i < text.size() && is_hex(text[i])) ++i;
    } else {
      while (i < text.size() && (is_digit(text[i]) || (text[i] == '.' && i + 1 < text.size() && is_digit(text[i + 1])))) ++i;
    }
    out += '#';
  }
  return out;
}

}  // namespace verbatim::explore
