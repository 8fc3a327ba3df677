// Whoever sits at the terminals of a run: a person, a file with keys, or the record of a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// What comes from outside into a run, at a virtual time.
struct TerminalInput {
  enum class Kind : std::uint8_t {
    kKeys,
    kResize,   // rows and columns
    kHangUp,   // nobody is there any more
    kOpen,     // one more terminal, the next number, with a shell on `host`
  };
  Kind kind = Kind::kKeys;
  std::size_t terminal = 0;  // in the order in which they were opened
  std::string keys;
  std::uint16_t rows = 24, columns = 80;
  std::size_t host = 0;
};

class TerminalUser {
 public:
  virtual ~TerminalUser() = default;

  // When the next input comes, of whoever knows that ahead.
  struct Next {
    TerminalInput input;
    std::optional<Instant> at;      // nullopt: when it is asked for
    bool ends_session = false;      // no more keys but these, which end what reads
    bool waits_for_reader = true;   // false: it comes by itself some time after the one before, as a key that interrupts does
  };
  // A person: it is not known, but asked for with typed().
  virtual bool is_person() const = 0;
  // The next, which take_next() takes away; nullptr: there is no more.
  virtual const Next* next() = 0;
  virtual void take_next() = 0;
  // Whether shells that wait for more than there is are told that nobody is there any more.
  virtual bool hangs_up_at_end() const = 0;
  // When the run is interrupted once there is no more, or before, when nothing can happen any more; nullopt: it is not.
  virtual std::optional<Instant> interrupted_at() const { return std::nullopt; }
  // What a person has done since. Waits `wait_ms` of wall time at most, -1: as long as it takes; nullopt: nothing, or the wait
  // was interrupted.
  virtual std::optional<TerminalInput> typed(std::int64_t wait_ms) = 0;
  // While nobody reads a terminal, does virtual time go no faster than wall time?
  virtual bool keeps_pace() const = 0;

  // An input takes effect.
  virtual void on_input(Instant when, const TerminalInput& input) = 0;
  // What a terminal's screen shows.
  virtual void on_screen(Instant when, std::size_t terminal, std::string_view text) = 0;
  // The shell of a terminal has ended.
  virtual void on_end(Instant when, std::size_t terminal) = 0;
  // Nothing more appears.
  virtual void on_run_end() {}
  // A person is asked next, at this time.
  virtual void on_wait(Instant) {}
};

}  // namespace verbatim::supervisor
