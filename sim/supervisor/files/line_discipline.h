// Terminal line discipline (termios(3), Linux' N_TTY): line editing, echo, signal characters, and translation
// of line ends. Pure: the caller sends the signals and writes to the screen.
#pragma once

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// Layout of ioctl(TCGETS); flags and indices as in <termios.h>.
struct TerminalSettings {
  std::uint32_t input = ICRNL | IXON | IUTF8;
  std::uint32_t output = OPOST | ONLCR;
  std::uint32_t control = B38400 | CS8 | CREAD | HUPCL;
  std::uint32_t local = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
  std::uint8_t line = 0;
  std::uint8_t characters[19] = {3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0, 0, 0};

  bool is_canonical() const { return (local & ICANON) != 0; }
  friend bool operator==(const TerminalSettings&, const TerminalSettings&) = default;
};
static_assert(sizeof(TerminalSettings) == 36);

class LineDiscipline {
 public:
  // Effects of typed characters, except input: text to echo, already translated for the screen, and signals
  // for the foreground group, in order.
  struct Effects {
    std::string echo;
    std::vector<int> signals;
  };
  Effects type(std::string_view keys);

  // Program output, translated for the screen.
  std::string to_screen(std::string_view text);

  // At most `limit` bytes for read(2): a line or a part of one; in noncanonical mode, all input. Empty: end
  // of file. nullopt: no input yet.
  std::optional<std::string> read(std::size_t limit);
  // POLLIN: a whole line; in noncanonical mode VMIN bytes if VTIME is 0, else one byte.
  bool is_readable() const;
  // FIONREAD.
  std::size_t readable_bytes() const;
  // Waiting time of a read in noncanonical mode: until `minimum` bytes have arrived. If `time` is not 0, at
  // most `time` after the last byte; if `minimum` is 0, at most `time` in all.
  struct Patience {
    std::size_t minimum = 1;
    Duration time{};
  };
  Patience patience() const;

  const TerminalSettings& settings() const { return settings_; }
  // Unread input is kept; on a change of canonical mode it becomes one complete line.
  void set(const TerminalSettings& settings);
  // TCIFLUSH.
  void flush_input();
  // VSTOP was typed, or TCOOFF requested: writes wait.
  bool is_stopped() const { return is_stopped_; }
  void stop(bool on) { is_stopped_ = on; }

 private:
  struct Cell {
    std::uint8_t byte = 0;
    bool ends_line = false;  // a read ends here
    bool is_end = false;     // end of file: the byte itself is not read
  };
  static constexpr std::size_t kMostBytes = 4095;

  bool is(std::uint8_t byte, int character) const;
  bool extended(std::uint8_t byte, int character) const { return (settings_.local & IEXTEN) != 0 && is(byte, character); }
  void take(std::uint8_t byte, Effects& effects);
  bool take_flow(std::uint8_t byte);
  bool take_signal(std::uint8_t byte, Effects& effects);
  bool take_editing(std::uint8_t byte, Effects& effects);
  void add(std::uint8_t byte, Effects& effects);
  void erase(Effects& effects, int by);
  void erase_one(Effects& effects);
  void echo(std::uint8_t byte, Effects& effects);
  void show(std::string_view text, Effects& effects) { effects.echo += to_screen(text); }
  std::size_t column_behind_line() const;
  void end_line(bool is_end, std::uint8_t byte);
  bool echoes() const { return (settings_.local & ECHO) != 0; }

  TerminalSettings settings_;
  std::deque<Cell> cells_;     // complete lines first
  std::size_t complete_ = 0;   // number of cells in complete lines
  std::size_t column_ = 0;     // of the cursor
  std::size_t line_column_ = 0;  // column at which the line being edited begins
  bool next_is_literal_ = false;
  bool is_stopped_ = false;
};

}  // namespace verbatim::supervisor
