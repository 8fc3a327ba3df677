#include "sim/supervisor/warning_log.h"

#include <fmt/format.h>

namespace verbatim::supervisor {

std::string warning_kind(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  std::string kind;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '/' && (i == 0 || text[i - 1] == ' ')) {
      while (i < text.size() && text[i] != ' ') ++i;
      kind += '/';
    } else if (is_digit(text[i])) {
      if (text.substr(i).starts_with("0x")) {
        for (i += 2; i < text.size() && is_hex(text[i]);) ++i;
      }
      while (i < text.size() && is_digit(text[i])) ++i;
      kind += '#';
    } else {
      kind += text[i++];
    }
  }
  return kind;
}

bool WarningLog::has_room(const std::string& text, bool weakens) {
  const auto kind = kinds_.find(warning_kind(text));
  const bool is_full = shown_ >= (weakens ? kMost : kMost - kReservedForWeak);
  if (!is_full && (kind == kinds_.end() || kind->second.shown < kMostOfKind)) return true;
  ++(kind == kinds_.end() ? other_kinds_ : kind->second.more);
  return false;
}

void WarningLog::add(const std::string& text) {
  Kind& kind = kinds_[warning_kind(text)];
  if (kind.shown++ == 0) kind.example = text;
  ++shown_;
}

std::vector<std::string> WarningLog::rest() const {
  const auto counted = [](std::uint64_t n) { return fmt::format("{} more warning{}", n, n == 1 ? "" : "s"); };
  std::vector<std::string> sentences;
  for (const auto& [text, kind] : kinds_) {
    if (kind.more != 0) sentences.push_back(counted(kind.more) + " of this kind: " + kind.example);
  }
  if (other_kinds_ != 0) sentences.push_back(counted(other_kinds_) + " of other kinds");
  return sentences;
}

}  // namespace verbatim::supervisor
