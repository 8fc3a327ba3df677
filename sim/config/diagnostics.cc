#include "sim/config/diagnostics.h"

#include <algorithm>
#include <cctype>

namespace verbatim::config {

namespace {

// Edit distance with adjacent transpositions; words here are short.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::string to_string(const Finding& finding) {
  std::string line = finding.file + ": ";
  if (!finding.pointer.empty()) line += finding.pointer + ": ";
  line += finding.text;
  if (!finding.hint.empty()) line += "; " + finding.hint;
  return line;
}

std::string warning_text(const Finding& warning) {
  Finding marked = warning;
  marked.text.insert(0, "warning: ");
  return to_string(marked);
}

void Diagnostics::warn(Finding warning) {
  if (std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(std::move(warning));
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > 64) return "";
  std::string best;
  // A name of one letter is near only to itself, in the other case.
  std::size_t best_distance = word.size() == 1 ? 1 : std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(lower(word), lower(candidate));
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      result += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
    } else {
      result += c;
    }
  }
  return result + (text.size() > kShown ? "…\"" : "\"");
}

std::string join_pointer(std::string_view pointer, std::string_view token) {
  std::string result(pointer);
  result += '/';
  for (const char c : token) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += '?';
    } else {
      result += c;
    }
  }
  return result;
}

std::string join_pointer(std::string_view pointer, std::size_t index) {
  return std::string(pointer) + "/" + std::to_string(index);
}

}  // namespace verbatim::config
