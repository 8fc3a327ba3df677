#include "sim/config/import/lines.h"

#include <charconv>

namespace verbatim::config::imports {

namespace {
constexpr std::string_view kBlanks = " \t\r\v\f";
}

bool Lines::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_ = end == rest_.npos ? std::string_view() : rest_.substr(end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  ++number_;
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> hex_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void LineFindings::add(std::size_t line, std::string text, std::string hint) {
  if (is_full()) return;
  diagnostics_.add(file_, line == 0 ? "" : "line " + std::to_string(line), std::move(text), std::move(hint));
  if (++count_ == kMost) diagnostics_.add(file_, "", "there are more findings", "correct these first");
}

}  // namespace verbatim::config::imports
