// The last row of a real terminal, with information about the session. Programs see one row less, and a
// scroll region keeps their output above it.
//
// It is written between writes of programs, never within an escape sequence or a character, and is not part
// of their output: a session's record and replay do not contain it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim::cli {

class StatusLine {
 public:
  // Whether a terminal of that kind ($TERM) and size gets one.
  static bool fits(const char* kind, std::uint16_t rows);

  // `rows`, `columns`: size of the whole terminal.
  StatusLine(std::uint16_t rows, std::uint16_t columns) : rows_(rows), columns_(columns) {}

  // Sequence that starts it: sets the region, with the cursor inside.
  std::string begin() const;
  // The terminal's size has changed.
  void resize(std::uint16_t rows, std::uint16_t columns);
  // Processes output of programs.
  void follow(std::string_view text);
  // Sequence that shows `words`; empty if they are shown already, or if output is incomplete.
  std::string draw(std::string_view words);
  // Sequence that ends it: removes region and line, and keeps the cursor.
  std::string end() const { return end(rows_); }
  static std::string end(std::uint16_t rows);

 private:
  enum class State : std::uint8_t { kText, kEscape, kSequence, kString, kStringEscape };

  std::uint16_t rows_, columns_;
  State state_ = State::kText;
  unsigned missing_ = 0;      // bytes missing of an incomplete character
  std::string sequence_;      // bytes after ESC [ so far
  bool must_set_region_ = false, is_stale_ = true;
  std::string shown_;
};

}  // namespace verbatim::cli
