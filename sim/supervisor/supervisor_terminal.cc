#include "sim/supervisor/supervisor_terminal.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

namespace verbatim::supervisor {

namespace {

// An event sooner than this is not worth a wait for a person's input.
constexpr Duration kSoon(1'000'000'000);
// Virtual time from the begin of a program's wait to the next line of a file, and from one input to a
// key that interrupts.
constexpr Duration kTypingTime(100'000'000'000);
constexpr std::int64_t kPsPerMs = 1'000'000'000;

bool may_be_reading(std::uint32_t number) {
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return true;
    default:
      return false;
  }
}

}  // namespace

Supervisor::Impl::Terminals::Terminals(Impl& impl, TerminalUser& user)
    : impl_(impl),
      user_(user),
      // kSupervisor: this class ends every slice before its time, on every host.
      timer_(Timer::of<&Terminals::on_timer>(impl.engine_, impl.hosts_.front().component, EventClass::kSupervisor, this)),
      check_(Timer::of<&Terminals::on_check>(impl.engine_, impl.hosts_.front().component, EventClass::kSupervisor, this)) {}

void Supervisor::Impl::Terminals::add(std::size_t host, std::uint16_t rows, std::uint16_t columns) {
  const std::size_t index = seats_.size();
  seats_.push_back({impl_.kernel_.make_terminal(host), host});
  Terminal& terminal = *seats_.back().terminal;
  terminal.resize({rows, columns, 0, 0});
  terminal.set_screen([this, index, host](std::string_view text) {
    const Seat& seat = seats_[index];
    impl_.tracer_.record(impl_.hosts_[host].component, TraceEvent::kProgramOutput, seat.leader, 1, text.size(), 0,
                         std::as_bytes(std::span(text)));
    user_.on_screen(impl_.engine_.now(), index, text);
  });
}

void Supervisor::Impl::Terminals::seat(std::size_t terminal, Process& process) {
  Seat& seat = seats_.at(terminal);
  seat.leader = process.pid();
  Kernel::control_session(process, *seat.terminal);
  const auto file = seat.terminal->open();
  file->set_number(number_of_path(seat.terminal->path()));
  for (const int fd : {0, 1, 2}) process.install_at(fd, file);
}

bool Supervisor::Impl::Terminals::note_end(const Process& process) {
  bool is_last = true, is_leader = false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.leader == process.pid() && seat.host == process.host_index() && !seat.has_ended) {
      is_leader = seat.has_ended = true;
      user_.on_end(impl_.engine_.now(), i);
    }
    is_last = is_last && seat.has_ended;
  }
  return is_leader && is_last;
}

bool Supervisor::Impl::Terminals::is_read(const Seat& seat, bool alone) const {
  for (const Process* process : impl_.on_host_[seat.host]) {
    if (!process->alive || process->stopped_by != 0) continue;
    for (const auto& thread : const_cast<Process*>(process)->threads()) {
      if (thread->state() != Thread::State::kBlocked || !may_be_reading(thread->call().number)) continue;
      const auto is_terminal = [&](const VirtualFilePtr& file) {
        const auto* end = dynamic_cast<const TerminalFile*>(file.get());
        return end != nullptr && &end->terminal() == seat.terminal.get();
      };
      const std::vector<VirtualFilePtr>& files = thread->waiting_on();
      if (std::ranges::any_of(files, is_terminal) && (!alone || std::ranges::all_of(files, is_terminal))) return true;
    }
  }
  return false;
}

bool Supervisor::Impl::Terminals::all_are_read_alone() const {
  return std::ranges::all_of(seats_, [this](const Seat& seat) { return seat.has_ended || is_read(seat, true); });
}

std::uint64_t Supervisor::Impl::Terminals::waits() const {
  std::uint64_t all = 0;
  for (const Seat& seat : seats_) all += seat.terminal->waits;
  return all;
}

void Supervisor::Impl::Terminals::schedule(TerminalInput input, Instant when) {
  coming_ = std::move(input);
  timer_.schedule_at(std::max(when, impl_.engine_.now()));
}

bool Supervisor::Impl::Terminals::attend() {
  if (timer_.scheduled() || check_.scheduled()) return false;
  return user_.is_person() ? attend_person() : attend_file();
}

bool Supervisor::Impl::Terminals::attend_person() {
  const Engine& engine = impl_.engine_;
  const auto is_gone = [](const Seat& seat) { return seat.has_ended || seat.terminal->is_hung_up(); };
  if (std::ranges::all_of(seats_, is_gone)) return false;  // no input can arrive
  constexpr std::uint64_t kStepsBetween = 64;
  constexpr auto kBetween = std::chrono::milliseconds(5);
  const auto began = std::chrono::steady_clock::now();
  std::int64_t wait_ms = 0;
  Duration pace{};
  if (engine.empty() || (engine.next_event_time() - engine.now() > kSoon && all_are_read_alone())) {
    wait_ms = -1;
  } else if (const Duration gap = engine.next_event_time() - engine.now(); gap > kSoon && user_.keeps_pace()) {
    wait_ms = std::min<std::int64_t>(gap.count() / kPsPerMs, 3'600'000);
    pace = gap;
  } else if (++steps_ % kStepsBetween != 0 || began - looked_ < kBetween) {
    return false;
  }
  looked_ = began;
  user_.on_wait(engine.now());
  auto typed = user_.typed(wait_ms);
  if (impl_.token_.interrupted()) {
    impl_.interrupt();
    return true;
  }
  const auto passed = std::chrono::steady_clock::now() - began;
  // A signal to the simulator may have ended the wait early.
  if (!typed) return wait_ms < 0 || passed < std::chrono::milliseconds(wait_ms);
  const Instant done = std::max(engine.now(), impl_.ran_ahead_);
  constexpr Duration kLater(1000);
  schedule(std::move(*typed), later(done, kLater + std::min(std::chrono::duration_cast<Duration>(passed), pace)));
  return true;
}

bool Supervisor::Impl::Terminals::attend_file() {
  const TerminalUser::Next* const next = user_.next();
  const bool is_idle = impl_.engine_.empty();
  if (const auto end = user_.interrupted_at(); end && next == nullptr && (is_idle || impl_.engine_.next_event_time() > *end)) {
    impl_.finish(Outcome::kInterrupted, "the record of the session ends here");
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
    check_.schedule_at(std::max(later(last_input_, kTypingTime), impl_.engine_.now()));
    return true;
  }
  if (std::exchange(waits_seen_, waits()) == waits() || !is_read(seats_.at(next->input.terminal))) return false;
  waits_for_reader_ = false;
  schedule(next->input, later(impl_.engine_.now(), kTypingTime));
  user_.take_next();
  return true;
}

// The typing time after the last keys has passed: the next keys are delivered at once if a program
// already waits for them.
void Supervisor::Impl::Terminals::on_check() {
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

void Supervisor::Impl::Terminals::on_timer() { deliver(coming_); }

void Supervisor::Impl::Terminals::deliver(const TerminalInput& input) {
  last_input_ = impl_.engine_.now();
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

void Supervisor::Impl::Terminals::open_shell(const TerminalInput& input) {
  if (input.host >= impl_.hosts_.size()) return;
  ProgramSpec spec = impl_.programs_->front();
  spec.host = input.host;
  spec.start = later(impl_.engine_.now(), Duration(impl_.hosts_[input.host].costs.wake_up_ps));
  spec.on_terminal = ProgramSpec::OnTerminal{seats_.size(), input.rows, input.columns};
  spec.files.clear();
  add(input.host, input.rows, input.columns);
  impl_.start_later(std::move(spec), 0);
}

// False: no terminal is left to hang up.
bool Supervisor::Impl::Terminals::hang_up_all() {
  bool told = false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].has_ended || seats_[i].terminal->is_hung_up()) continue;
    TerminalInput input;
    input.kind = TerminalInput::Kind::kHangUp;
    input.terminal = i;
    deliver(input);
    told = true;
  }
  return told;
}

}  // namespace verbatim::supervisor
