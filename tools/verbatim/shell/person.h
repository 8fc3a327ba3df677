// A person at the caller's own terminal, which is in raw mode as long as the run lasts, and at others that have been attached.
#pragma once

#include <termios.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "tools/verbatim/shell/session_users.h"

namespace verbatim::cli {

// The terminal behind descriptor 0 in raw mode; as it was when this goes, or the process ends by a signal that says so.
class RawTerminal {
 public:
  RawTerminal();
  ~RawTerminal() { restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  void restore();

  struct Size {
    std::uint16_t rows = 24, columns = 80;
  };
  static Size size();
};

class Person final : public SessionUser {
 public:
  // `keeps_pace`: see TerminalUser.
  Person(std::size_t terminals, bool keeps_pace, SessionWriter* writer);

  bool is_person() const override { return true; }
  bool keeps_pace() const override { return keeps_pace_; }
  std::optional<supervisor::TerminalInput> typed(std::int64_t wait_ms) override;

 protected:
  void on_last_end() override { raw_.restore(); }
  void on_run_end() override { raw_.restore(); }

 private:
  void take_keys();
  void take_size();
  void add(supervisor::TerminalInput::Kind kind, std::size_t terminal, std::string keys = "");

  RawTerminal raw_;
  const bool keeps_pace_;
  RawTerminal::Size size_ = RawTerminal::size();
  std::deque<supervisor::TerminalInput> typed_;
  bool is_gone_ = false;
};

}  // namespace verbatim::cli
