// Terminals of a run with a user outside it: assigns virtual times to input, and passes output on.
//
// A person's input takes effect later than everything done so far, including calls executed ahead of the
// engine's clock. A recorded session names these times, and its replay is identical. The time of keys from a
// file follows from the run: some time after a program has begun to wait for them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/run_context.h"
#include "sim/supervisor/spec/terminal_user.h"

namespace verbatim::supervisor {

class Kernel;
class Process;
class ProcessList;
class ProgramStarts;
class RunReport;
class TokenKeeper;

class Terminals {
 public:
  struct Parts {
    RunReport& report;
    const ProcessList& processes;
    Kernel& kernel;
    const TokenKeeper& token;
    ProgramStarts& starts;
  };
  Terminals(const RunContext& run, const Parts& parts, TerminalUser& user);

  // Adds the next terminal, on `host`.
  void add(std::size_t host, std::uint16_t rows, std::uint16_t columns);
  // The process leads the terminal's session and gets it as standard input, output and error.
  void seat(std::size_t terminal, Process& process);
  // Called between two events, when no thread has the token: waits for input or schedules it. True:
  // to be called again before the next event.
  bool attend();
  // A process has ended. True: it was the last session leader.
  bool note_end(const Process& process);

 private:
  struct Seat {
    std::shared_ptr<Terminal> terminal;
    std::size_t host = 0;
    std::uint32_t leader = 0;  // pid of the session leader; 0: not started yet
    bool has_ended = false;
  };

  bool attend_person();
  bool attend_file();
  // A thread waits for its input; `alone`: and for nothing else, as a shell does.
  bool is_read(const Seat& seat, bool alone = false) const;
  bool all_are_read_alone() const;
  std::uint64_t waits() const;  // number of waits for input that programs have begun, on all terminals
  void schedule(TerminalInput input, Instant when);
  void on_timer();
  void on_check();
  void deliver(const TerminalInput& input);
  void open_shell(const TerminalInput& input);
  bool hang_up_all();

  const RunContext& run_;
  const Parts parts_;
  TerminalUser& user_;
  std::vector<Seat> seats_;
  Timer timer_, check_;
  TerminalInput coming_;  // input of timer_, while scheduled
  Instant last_input_{};
  bool waits_for_reader_ = false;  // the next keys, of a file, wait for a reader
  std::uint64_t waits_seen_ = 0;   // waits() when waits_for_reader_ was set or last checked
  std::uint64_t steps_ = 0;        // engine steps: a person's input is looked for at every 64th only,
  std::chrono::steady_clock::time_point looked_{};  // and not within 5 ms of the last look
};

}  // namespace verbatim::supervisor
