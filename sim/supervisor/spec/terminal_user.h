// User of the terminals of a run: a person, a file with keys, or a recorded session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// Input from outside the run, at a virtual time.
struct TerminalInput {
  enum class Kind : std::uint8_t {
    kKeys,
    kResize,   // rows and columns
    kHangUp,   // the user is gone
    kOpen,     // one more terminal, with the next number, and a shell on `host`
  };
  Kind kind = Kind::kKeys;
  std::size_t terminal = 0;  // in the order of opening
  std::string keys;
  std::uint16_t rows = 24, columns = 80;
  std::size_t host = 0;
};

class TerminalUser {
 public:
  virtual ~TerminalUser() = default;

  // Next input of a user that knows it in advance.
  struct Next {
    TerminalInput input;
    std::optional<Instant> at;      // nullopt: when a program asks for it
    bool ends_session = false;      // end of the keys, which ends programs that read
    // false: follows the previous input after some time, as a key that interrupts does
    bool waits_for_reader = true;
  };
  // True for a person, whose input is not known in advance: use typed().
  virtual bool is_person() const = 0;
  // Next input, which take_next() removes; nullptr: none is left.
  virtual const Next* next() = 0;
  virtual void take_next() = 0;
  // Whether shells that wait after the last input are hung up.
  virtual bool hangs_up_at_end() const = 0;
  // Time at which the run is interrupted after the last input, or earlier when nothing can happen any
  // more; nullopt: never.
  virtual std::optional<Instant> interrupted_at() const { return std::nullopt; }
  // Returns input of a person. Waits at most `wait_ms` of wall-clock time, -1: without limit; nullopt: none,
  // or the wait was interrupted.
  virtual std::optional<TerminalInput> typed(std::int64_t wait_ms) = 0;
  // Whether virtual time is no faster than wall-clock time while no program reads a terminal.
  virtual bool keeps_pace() const = 0;

  // An input takes effect.
  virtual void on_input(Instant when, const TerminalInput& input) = 0;
  // Output on a terminal's screen.
  virtual void on_screen(Instant when, std::size_t terminal, std::string_view text) = 0;
  // The shell of a terminal has ended.
  virtual void on_end(Instant when, std::size_t terminal) = 0;
  // No output follows.
  virtual void on_run_end() {}
  // A person is about to be asked, at this time.
  virtual void on_wait(Instant) {}
};

}  // namespace verbatim::supervisor
