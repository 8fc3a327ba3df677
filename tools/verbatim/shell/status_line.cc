#include "tools/verbatim/shell/status_line.h"

#include <utility>

#include "sim/core/words.h"

namespace verbatim::cli {

namespace {

constexpr std::uint16_t kFewestRows = 5;
constexpr std::size_t kLongestSequence = 64;
constexpr std::string_view kSaveCursor = "\0337", kRestoreCursor = "\0338", kNoRegion = "\033[r", kEraseLine = "\033[2K", kReverse = "\033[7m",
                           kNormal = "\033[0m";

std::string region_above(std::uint16_t rows) { return join("\033[1;", rows - 1, "r"); }
std::string to_line(std::uint16_t row) { return join("\033[", row, ";1H"); }

}  // namespace

bool StatusLine::fits(const char* kind, std::uint16_t rows) {
  const std::string_view name(kind == nullptr ? "" : kind);
  return !name.empty() && name != "dumb" && name != "unknown" && rows >= kFewestRows;
}

// If the cursor is in the last row, scrolls up by one row.
std::string StatusLine::begin() const { return "\n\033[A" + std::string(kSaveCursor) + region_above(rows_) + std::string(kRestoreCursor); }

void StatusLine::resize(std::uint16_t rows, std::uint16_t columns) {
  rows_ = rows;
  columns_ = columns;
  must_set_region_ = is_stale_ = true;
}

// Detects sequences that destroy the region or the line: a new region over all rows, clearing the screen, a
// reset, the alternate screen.
void StatusLine::follow(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (state_) {
      case State::kText:
        if (byte == '\033') state_ = State::kEscape;
        else if (byte >= 0xc0) missing_ = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
        else if (byte < 0x80) missing_ = 0;
        else if (missing_ > 0) --missing_;
        break;
      case State::kEscape:
        state_ = byte == '[' ? State::kSequence : std::string_view("]P_^").find(c) != std::string_view::npos ? State::kString : State::kText;
        // ESC ( and similar sequences have one more byte, without effect here.
        if (byte >= 0x20 && byte < 0x30) state_ = State::kEscape;
        if (byte == 'c') must_set_region_ = is_stale_ = true;
        sequence_.clear();
        break;
      case State::kSequence:
        sequence_ += c;
        if (byte >= 0x40 || sequence_.size() > kLongestSequence) {
          state_ = State::kText;
          if (sequence_ == "r" || sequence_ == "!p" || sequence_.starts_with("?1049") || sequence_.starts_with("?47")) must_set_region_ = is_stale_ = true;
          if (byte == 'J') is_stale_ = true;
        }
        break;
      case State::kString:
        if (byte == '\a') state_ = State::kText;
        if (byte == '\033') state_ = State::kStringEscape;
        break;
      case State::kStringEscape: state_ = State::kText; break;
    }
  }
}

std::string StatusLine::draw(std::string_view words) {
  if (state_ != State::kText || missing_ != 0 || (!is_stale_ && words == shown_)) return "";
  shown_ = words;
  is_stale_ = false;
  std::string text(kSaveCursor);
  if (std::exchange(must_set_region_, false)) text += region_above(rows_);
  text += to_line(rows_);
  text += kReverse;
  text += kEraseLine;
  text += words.substr(0, columns_ - 1u);
  text += kNormal;
  text += kRestoreCursor;
  return text;
}

std::string StatusLine::end(std::uint16_t rows) {
  return join(kSaveCursor, kNoRegion, to_line(rows), kEraseLine, kRestoreCursor);
}

}  // namespace verbatim::cli
