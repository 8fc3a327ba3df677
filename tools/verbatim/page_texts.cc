#include "tools/verbatim/page_texts.h"

#include <utility>

namespace verbatim::cli {

namespace {

// Numbers with this many digits are exact in the page.
constexpr std::size_t kMostDigits = 15;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::uint32_t PageTexts::number_of(std::string_view words, std::vector<std::uint64_t>* numbers) {
  std::string key;  // a zero byte replaces each number
  std::size_t at = 0;
  while (at < words.size()) {
    // Leading zeros belong to the text.
    const bool is_leading_zero = words[at] == '0' && at + 1 < words.size() && is_digit(words[at + 1]);
    if (!is_digit(words[at]) || is_leading_zero) {
      key.push_back(words[at] == '\0' ? ' ' : words[at]);
      ++at;
      continue;
    }
    std::uint64_t number = 0;
    for (std::size_t digits = 0; digits < kMostDigits && at < words.size() && is_digit(words[at]); ++digits, ++at)
      number = number * 10 + static_cast<std::uint64_t>(words[at] - '0');
    key.push_back('\0');
    numbers->push_back(number);
  }
  const auto [known, is_new] = known_.try_emplace(std::move(key), static_cast<std::uint32_t>(pieces_.size()));
  if (is_new) {
    std::vector<std::string>& pieces = pieces_.emplace_back(1);
    for (const char c : known->first) {
      if (c == '\0') {
        pieces.emplace_back();
      } else {
        pieces.back().push_back(c);
      }
    }
  }
  return known->second;
}

}  // namespace verbatim::cli
