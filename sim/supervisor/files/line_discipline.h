// What a terminal makes of keys and of what programs write (termios(3), Linux' N_TTY): lines that can be edited until they are
// complete, echo, keys that are signals, and the translations of line ends. Pure: who is signalled and where the screen is,
// others know.
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

// As ioctl(TCGETS) stores them; flags and indices as in <termios.h>.
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
  // What keys bring about, beside what can be read: what appears on the screen, as it goes there, and signals to the
  // foreground, in order.
  struct Effects {
    std::string echo;
    std::vector<int> signals;
  };
  Effects type(std::string_view keys);

  // What a program writes, as it goes to the screen.
  std::string to_screen(std::string_view text);

  // At most `limit` bytes as read(2) has them: a line or a part of one, in raw mode all that there is; empty is the end of the
  // file. std::nullopt: nothing yet.
  std::optional<std::string> read(std::size_t limit);
  // Whether poll(2) says so: a whole line, in raw mode as many bytes as VMIN says where VTIME is 0.
  bool is_readable() const;
  // What FIONREAD tells.
  std::size_t readable_bytes() const;
  // In raw mode, how long a read waits: for so many bytes; where `time` is not 0, no longer than that after the last of them, and
  // where `minimum` is 0, no longer than that at all.
  struct Patience {
    std::size_t minimum = 1;
    Duration time{};
  };
  Patience patience() const;

  const TerminalSettings& settings() const { return settings_; }
  // What has come and was not read stays: as one line where lines are edited from now on.
  void set(const TerminalSettings& settings);
  // TCIFLUSH.
  void flush_input();
  // CTRL-S has been typed, or TCOOFF asked for: programs that write wait.
  bool is_stopped() const { return is_stopped_; }
  void stop(bool on) { is_stopped_ = on; }

 private:
  struct Cell {
    std::uint8_t byte = 0;
    bool ends_line = false;  // a read goes no further
    bool is_end = false;     // end of file: nobody reads the byte itself
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
  std::size_t complete_ = 0;   // so many cells are of complete lines
  std::size_t column_ = 0;     // of the screen
  std::size_t line_column_ = 0;  // where the line that is edited begins on it
  bool next_is_literal_ = false;
  bool is_stopped_ = false;
};

}  // namespace verbatim::supervisor
