// One line of progress for a person at a terminal, rewritten in place on standard error and erased before
// other output. It only reads the state of the work; without a terminal there is no line.
#pragma once

#include <chrono>
#include <string>

namespace verbatim::cli {

class Progress {
 public:
  // If not wanted, as without a terminal.
  explicit Progress(bool is_wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool is_shown() const { return is_shown_; }
  // How long a caller may wait before the line must be rewritten; negative: unlimited.
  int wait_ms() const { return is_shown_ ? kPeriodMs : -1; }
  // Whether the line must be rewritten.
  bool is_due() const { return is_shown_ && Clock::now() - written_ >= std::chrono::milliseconds(kPeriodMs); }
  // `text` must be ASCII; it is truncated to the terminal's width.
  void show(const std::string& text);

  double seconds() const;  // since construction
  // ", 2 min 5 s left" if this part of the work, 0 to 1, is done; empty if unknown.
  std::string left(double part) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kPeriodMs = 200;

  const bool is_shown_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point written_ = begin_;
};

// ", 2 min 5 s left".
std::string time_left(double seconds);

// Erases the line, if shown; call before writing to the terminal. The line reappears later.
void clear_progress();
// Call in a forked process: the line belongs to its parent.
void forget_progress();

}  // namespace verbatim::cli
