#include "sim/supervisor/terminals.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/program_starts.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/token_keeper.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

namespace {

// An event sooner than this is not worth a wait for a person's input.
constexpr Duration kSoon(1'000'000'000);
// Virtual time from the begin of a program's wait to the next line of a file, and from one input to a
// key that interrupts.
constexpr Duration kTypingTime(100'000'000'000);
constexpr std::int64_t kPsPerMs = 1'000'000'000;

bool may_be_reading(const PendingCall& call) { return protocol::system_call(call.number).has(protocol::CallTraits::kTakesInput); }

}  // namespace

Terminals::Terminals(const RunContext& run, const Parts& parts, TerminalUser& user)
    : run_(run),
      parts_(parts),
      user_(user),
      // kSupervisor: this class ends every slice before its time, on every host.
      timer_(Timer::of<&Terminals::on_timer>(run.engine, run.hosts.front().component, EventClass::kSupervisor,
                                             this)),
      check_(Timer::of<&Terminals::on_check>(run.engine, run.hosts.front().component, EventClass::kSupervisor,
                                             this)) {}

void Terminals::add(std::size_t host, std::uint16_t rows, std::uint16_t columns) {
  const std::size_t index = seats_.size();
  seats_.push_back({parts_.kernel.make_terminal(host), host});
  Terminal& terminal = *seats_.back().terminal;
  terminal.resize({rows, columns, 0, 0});
  terminal.set_screen([this, index, host](std::string_view text) {
    const Seat& seat = seats_[index];
    run_.tracer.record(run_.hosts[host].component, TraceEvent::kProgramOutput, seat.leader, 1, text.size(), 0,
                       std::as_bytes(std::span(text)));
    user_.on_screen(run_.engine.now(), index, text);
  });
}

void Terminals::seat(std::size_t terminal, Process& process) {
  Seat& seat = seats_.at(terminal);
  seat.leader = process.pid();
  Kernel::control_session(process, *seat.terminal);
  const auto file = seat.terminal->open();
  file->set_number(number_of_path(seat.terminal->path()));
  for (const int fd : {0, 1, 2}) process.files().install_at(fd, file);
}

bool Terminals::note_end(const Process& process) {
  bool is_last = true, is_leader = false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.leader == process.pid() && seat.host == process.host_index() && !seat.has_ended) {
      is_leader = seat.has_ended = true;
      user_.on_end(run_.engine.now(), i);
    }
    is_last = is_last && seat.has_ended;
  }
  return is_leader && is_last;
}

bool Terminals::is_read(const Seat& seat, bool alone) const {
  for (const Process* process : parts_.processes.on_host(seat.host)) {
    if (!process->alive || process->stopped_by != 0) continue;
    for (const auto& thread : const_cast<Process*>(process)->threads()) {
      if (thread->state() != Thread::State::kBlocked || !may_be_reading(thread->call())) continue;
      const auto is_terminal = [&](const VirtualFilePtr& file) {
        TerminalFile* const end = file->as_terminal();
        return end != nullptr && &end->terminal() == seat.terminal.get();
      };
      const std::vector<VirtualFilePtr>& files = thread->wait.files();
      if (std::ranges::any_of(files, is_terminal) && (!alone || std::ranges::all_of(files, is_terminal)))
        return true;
    }
  }
  return false;
}

bool Terminals::all_are_read_alone() const {
  return std::ranges::all_of(seats_,
                             [this](const Seat& seat) { return seat.has_ended || is_read(seat, true); });
}

std::uint64_t Terminals::waits() const {
  std::uint64_t all = 0;
  for (const Seat& seat : seats_) all += seat.terminal->waits;
  return all;
}

void Terminals::schedule(TerminalInput input, Instant when) {
  coming_ = std::move(input);
  timer_.schedule_at(std::max(when, run_.engine.now()));
}

bool Terminals::attend() {
  if (timer_.scheduled() || check_.scheduled()) return false;
  return user_.is_person() ? attend_person() : attend_file();
}

bool Terminals::attend_person() {
  const Engine& engine = run_.engine;
  const auto is_gone = [](const Seat& seat) { return seat.has_ended || seat.terminal->is_hung_up(); };
  if (std::ranges::all_of(seats_, is_gone)) return false;  // no input can arrive
  constexpr std::uint64_t kStepsBetween = 64;
  constexpr auto kBetween = std::chrono::milliseconds(5);
  const auto began = std::chrono::steady_clock::now();
  std::int64_t wait_ms = 0;
  Duration pace{};
  if (engine.empty() || (engine.next_event_time() - engine.now() > kSoon && all_are_read_alone())) {
    wait_ms = -1;
  } else if (const Duration gap = engine.next_event_time() - engine.now();
             gap > kSoon && user_.keeps_pace()) {
    wait_ms = std::min<std::int64_t>(gap.count() / kPsPerMs, 3'600'000);
    pace = gap;
  } else if (++steps_ % kStepsBetween != 0 || began - looked_ < kBetween) {
    return false;
  }
  looked_ = began;
  user_.on_wait(engine.now());
  auto typed = user_.typed(wait_ms);
  if (parts_.token.interrupted()) {
    parts_.report.finish(Outcome::kInterrupted);
    return true;
  }
  const auto passed = std::chrono::steady_clock::now() - began;
  // A signal to the simulator may have ended the wait early.
  if (!typed) return wait_ms < 0 || passed < std::chrono::milliseconds(wait_ms);
  const Instant done = std::max(engine.now(), parts_.token.ran_ahead());
  constexpr Duration kLater(1000);
  schedule(std::move(*typed),
           later(done, kLater + std::min(std::chrono::duration_cast<Duration>(passed), pace)));
  return true;
}

bool Terminals::attend_file() {
  const TerminalUser::Next* const next = user_.next();
  const bool is_idle = run_.engine.empty();
  if (const auto end = user_.interrupted_at();
      end && next == nullptr && (is_idle || run_.engine.next_event_time() > *end)) {
    parts_.report.finish(Outcome::kInterrupted, "the record of the session ends here");
    return true;
  }
  if (next == nullptr || (next->ends_session && is_idle && waits_for_reader_)) {
    return is_idle && user_.hangs_up_at_end() && hang_up_all();
  }
  if (next->at || !next->waits_for_reader) {
    schedule(next->input, next->at.value_or(later(last_input_, kTypingTime)));
    user_.take_next();
    return true;
  }
  if (!waits_for_reader_) {
    check_.schedule_at(std::max(later(last_input_, kTypingTime), run_.engine.now()));
    return true;
  }
  if (std::exchange(waits_seen_, waits()) == waits() || !is_read(seats_.at(next->input.terminal)))
    return false;
  waits_for_reader_ = false;
  schedule(next->input, later(run_.engine.now(), kTypingTime));
  user_.take_next();
  return true;
}

// The typing time after the last keys has passed: the next keys are delivered at once if a program
// already waits for them.
void Terminals::on_check() {
  const TerminalUser::Next* const next = user_.next();
  if (!is_read(seats_.at(next->input.terminal))) {
    waits_for_reader_ = true;
    waits_seen_ = waits();
    return;
  }
  const TerminalInput input = next->input;
  user_.take_next();
  deliver(input);
}

void Terminals::on_timer() { deliver(coming_); }

void Terminals::deliver(const TerminalInput& input) {
  last_input_ = run_.engine.now();
  user_.on_input(last_input_, input);
  if (input.kind == TerminalInput::Kind::kOpen) return open_shell(input);
  if (input.terminal >= seats_.size()) return;
  Terminal& terminal = *seats_[input.terminal].terminal;
  switch (input.kind) {
    case TerminalInput::Kind::kKeys:
      return terminal.type(input.keys);
    case TerminalInput::Kind::kResize:
      return terminal.resize({input.rows, input.columns, 0, 0});
    case TerminalInput::Kind::kHangUp:
      return terminal.hang_up();
    case TerminalInput::Kind::kOpen:
      return;
  }
}

void Terminals::open_shell(const TerminalInput& input) {
  if (input.host >= run_.hosts.size()) return;
  ProgramSpec spec = parts_.report.programs().front();
  spec.host = input.host;
  spec.start = later(run_.engine.now(), Duration(run_.hosts[input.host].costs.wake_up_ps));
  spec.on_terminal = ProgramSpec::OnTerminal{seats_.size(), input.rows, input.columns};
  spec.files.clear();
  add(input.host, input.rows, input.columns);
  parts_.starts.add_later(std::move(spec), 0);
}

// False: no terminal is left to hang up.
bool Terminals::hang_up_all() {
  bool has_hung_up = false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].has_ended || seats_[i].terminal->is_hung_up()) continue;
    TerminalInput input;
    input.kind = TerminalInput::Kind::kHangUp;
    input.terminal = i;
    deliver(input);
    has_hung_up = true;
  }
  return has_hung_up;
}

}  // namespace verbatim::supervisor
