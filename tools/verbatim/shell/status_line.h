// The last line of a real terminal, which says what the lines above show. Programs see one row less, and a scroll region
// keeps what they write above it.
//
// It is written between what programs write, never within an escape sequence or a character of theirs, and is no part of what
// they wrote: a session's record and replay do not have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim::cli {

class StatusLine {
 public:
  // A terminal of that kind ($TERM) and size gets one.
  static bool fits(const char* kind, std::uint16_t rows);

  // `rows`, `columns`: of the whole terminal.
  StatusLine(std::uint16_t rows, std::uint16_t columns) : rows_(rows), columns_(columns) {}

  // What begins it: the region, and the cursor within it.
  std::string begin() const;
  // The terminal has another size now.
  void resize(std::uint16_t rows, std::uint16_t columns);
  // Programs wrote this.
  void follow(std::string_view text);
  // What shows `words`. Empty: they are shown already, or it is not the moment.
  std::string draw(std::string_view words);
  // What ends it: no region, no line, the cursor where it was.
  std::string end() const { return end(rows_); }
  static std::string end(std::uint16_t rows);

 private:
  enum class State : std::uint8_t { kText, kEscape, kSequence, kString, kStringEscape };

  std::uint16_t rows_, columns_;
  State state_ = State::kText;
  unsigned missing_ = 0;      // bytes of the character that is being written
  std::string sequence_;      // behind ESC [, as far as it has come
  bool must_set_region_ = false, is_stale_ = true;
  std::string shown_;
};

}  // namespace verbatim::cli
