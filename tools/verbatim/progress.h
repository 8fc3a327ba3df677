// One line about work that takes long, for a person at a terminal: rewritten in place on standard error, gone before anything
// else is written. It reads what the work tells of itself and changes nothing of it; without a terminal there is no line.
#pragma once

#include <chrono>
#include <string>

namespace verbatim::cli {

class Progress {
 public:
  // Not wanted: as if there were no terminal.
  explicit Progress(bool is_wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool is_shown() const { return is_shown_; }
  // How long who waits for work may wait before the line is to be written again; negative: for ever.
  int wait_ms() const { return is_shown_ ? kPeriodMs : -1; }
  // Whether the line is older than that.
  bool is_due() const { return is_shown_ && Clock::now() - written_ >= std::chrono::milliseconds(kPeriodMs); }
  // `text` has ASCII characters only; what the terminal has no room for is cut off.
  void show(const std::string& text);

  double seconds() const;  // since it was made
  // ", 2 min 5 s left" when this part of the work, 0 to 1, is done; empty while nothing can be said.
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

// Takes the line away, if there is one: whoever writes to the terminal does so first. It comes again by itself.
void clear_progress();
// In a process that was forked: the line is the other one's.
void forget_progress();

}  // namespace verbatim::cli
