// Splits text into numbered lines and words, and adds findings with the line. Used by the readers of
// line-oriented formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"

namespace verbatim::config::imports {

// The lines of a text, without their ends (LF or CR LF).
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // Moves to the next line; returns false at the end.
  bool next();
  std::string_view text() const { return line_; }
  std::size_t number() const { return number_; }  // from 1

 private:
  std::string_view rest_, line_;
  std::size_t number_ = 0;
};

std::string_view trimmed(std::string_view text);
// Words separated by blanks.
std::vector<std::string_view> words_of(std::string_view text);
// The number, if all characters are digits and it is at most `most`.
std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t most);
// The number, if `text` is 1 to 16 hexadecimal digits, with or without 0x.
std::optional<std::uint64_t> hex_number(std::string_view text);

// Findings in one file. A reader stops when is_full(), because nearly every line of a file of another format
// is wrong.
class LineFindings {
 public:
  static constexpr std::size_t kMost = 20;

  LineFindings(std::string_view file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  // `line` 0 means the whole file.
  void add(std::size_t line, std::string text, std::string hint);
  std::size_t count() const { return count_; }
  bool is_full() const { return count_ >= kMost; }

 private:
  const std::string file_;
  Diagnostics& diagnostics_;
  std::size_t count_ = 0;
};

}  // namespace verbatim::config::imports
