// The terminals of a run that somebody outside sits at: what comes from there gets a virtual time, and what appears goes there.
//
// Of a person's keys the time is later than all that has been done so far, also ahead of the engine's clock; with that time
// known, as it is when a session is shown again, everything goes the same way. Of keys from a file it follows from the run
// itself: some time after a program has begun to wait for them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/spec/terminal_user.h"
#include "sim/supervisor/supervisor_impl.h"

namespace verbatim::supervisor {

class Supervisor::Impl::Terminals {
 public:
  Terminals(Impl& impl, TerminalUser& user);

  // The next one, on `host`.
  void add(std::size_t host, std::uint16_t rows, std::uint16_t columns);
  // The process leads the terminal's session, and has it as its standard input, output and error.
  void seat(std::size_t terminal, Process& process);
  // Between two events, when nobody has the token: input is waited for, or scheduled. True: something has changed.
  bool attend();
  // A process has ended. True: it was the last of those that lead the terminals' sessions.
  bool note_end(const Process& process);

 private:
  struct Seat {
    std::shared_ptr<Terminal> terminal;
    std::size_t host = 0;
    std::uint32_t leader = 0;  // its process id, 0: it has not started yet
    bool has_ended = false;
  };

  bool attend_person();
  bool attend_file();
  // Somebody waits for its keys; `alone`: and for nothing else, as a shell does.
  bool is_read(const Seat& seat, bool alone = false) const;
  bool all_are_read_alone() const;
  std::uint64_t waits() const;
  void schedule(TerminalInput input, Instant when);
  void on_timer();
  void on_check();
  void deliver(const TerminalInput& input);
  void open_shell(const TerminalInput& input);
  bool hang_up_all();

  Impl& impl_;
  TerminalUser& user_;
  std::vector<Seat> seats_;
  Timer timer_, check_;
  TerminalInput coming_;       // while timer_ is scheduled
  Instant last_input_{};
  bool waits_for_reader_ = false;  // keys from a file
  std::uint64_t waits_seen_ = 0;
  std::uint64_t steps_ = 0;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace verbatim::supervisor
