// Terminals: opening, reading in the foreground, ioctls, and controlling terminals of sessions.
#include <asm/ioctls.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/kernel/terminals.h"
#include "sim/supervisor/tasks/signals.h"

namespace verbatim::supervisor {

namespace {

constexpr std::string_view kFolder = "/dev/pts/";
constexpr const char* kControlling = "/dev/tty";

// struct termios2 of <asm/termbits.h>, which conflicts with <termios.h>.
struct SettingsWithSpeeds {
  TerminalSettings settings;
  std::uint32_t input_speed = 38400, output_speed = 38400;
};
constexpr unsigned long kGetWithSpeeds = _IOC(_IOC_READ, 'T', 0x2A, sizeof(SettingsWithSpeeds));
constexpr unsigned long kSetWithSpeeds = _IOC(_IOC_WRITE, 'T', 0x2B, sizeof(SettingsWithSpeeds));

bool is_set(unsigned long request) {
  return request == TCSETS || request == TCSETSW || request == TCSETSF ||
         (request >= kSetWithSpeeds && request <= kSetWithSpeeds + 2);
}

}  // namespace

std::shared_ptr<Terminal> make_terminal(ProcessTable& table, HostKernel& own, std::size_t host) {
  forget_terminals(own);
  unsigned number = 0;
  while (own.terminals.contains(number)) ++number;
  const auto signal = [&table, host](Terminal&, std::uint32_t group, int which) {
    for (const auto& process : table.processes()) {
      if (process->alive && process->host_index() == host && process->family().group == group)
        table.signal_process(*process, which, {});
    }
  };
  auto terminal = std::make_shared<Terminal>(number, signal);
  own.terminals[number] = terminal;
  if (own.tree != nullptr) own.tree->add_device(terminal->path(), Terminal::kMajor, number);
  return terminal;
}

void forget_terminals(HostKernel& own) {
  std::erase_if(own.terminals, [&](const auto& entry) {
    const auto& [number, terminal] = entry;
    if (!terminal.expired()) return false;
    if (own.tree != nullptr) own.tree->remove(std::string(kFolder) + std::to_string(number));
    return true;
  });
}

std::shared_ptr<Terminal> controlling_terminal(HostKernel& host, Process& process) {
  for (const auto& [number, weak] : host.terminals) {
    const auto terminal = weak.lock();
    if (terminal == nullptr) continue;
    if (terminal->session == process.family().session) return terminal;
  }
  return nullptr;
}

std::pair<std::uint32_t, std::int32_t> terminal_in_proc(HostKernel& host, Process& process) {
  const auto terminal = controlling_terminal(host, process);
  if (terminal == nullptr) return {0, -1};
  return {Terminal::kMajor << 8 | (terminal->number() & 0xff) | (terminal->number() & ~0xffu) << 12,
          static_cast<std::int32_t>(terminal->foreground)};
}

void control_session(Process& process, Terminal& terminal) {
  terminal.session = process.family().session;
  terminal.foreground = process.family().group;
}

void end_session(HostKernel& host, Process& process) {
  if (process.family().session != process.pid()) return;
  if (const auto terminal = controlling_terminal(host, process)) terminal->hang_up(true);
}

namespace {

bool is_orphaned(const ProcessTable& table, Process& member) {
  const auto is_outside = [&](const Family& of_parent) {
    return of_parent.session == member.family().session && of_parent.group != member.family().group;
  };
  return std::ranges::none_of(table.processes(), [&](const auto& process) {
    if (!process->alive || process->host_index() != member.host_index()) return false;
    if (process->family().group != member.family().group) return false;
    Process* const parent = find_process(table, member, process->family().parent);
    return parent != nullptr && is_outside(parent->family());
  });
}

}  // namespace

bool may_be_stopped(const ProcessTable& table, HostKernel& host, Process& process, int signal) {
  return signal == SIGSTOP || controlling_terminal(host, process) == nullptr || !is_orphaned(table, process);
}

namespace {

CallOutcome open_end(CallContext& call, Terminal& terminal, const std::string& path, int flags) {
  Process& process = call.process;
  const auto file = terminal.open();
  file->set_access_mode(flags & O_ACCMODE);
  file->set_number(number_of_path(path));
  if (path == kControlling) file->set_device(makedev(5, 0));
  const bool leads = process.family().session == process.pid();
  if ((flags & O_NOCTTY) == 0 && leads && terminal.session == 0 &&
      controlling_terminal(call.host, process) == nullptr)
    control_session(process, terminal);
  return call.install(file, (flags & O_NONBLOCK) != 0);
}

CallOutcome open_terminal_master(CallContext& call, int flags) {
  const auto terminal = make_terminal(call.table, call.host, call.process.host_index());
  terminal->is_locked = true;
  const auto file = terminal->make_master();
  file->set_number(number_of_path("/dev/ptmx"));
  return call.install(file, (flags & O_NONBLOCK) != 0);
}

}  // namespace

std::optional<CallOutcome> open_terminal(CallContext& call, const std::string& path, int flags) {
  Process& process = call.process;
  if (path == "/dev/ptmx") return open_terminal_master(call, flags);
  std::shared_ptr<Terminal> terminal;
  if (path == kControlling) {
    terminal = controlling_terminal(call.host, process);
    if (terminal == nullptr) return CallOutcome(Answer{-ENXIO});
  } else if (path.starts_with(kFolder)) {
    for (const auto& [number, weak] : call.host.terminals) {
      const auto candidate = weak.lock();
      if (candidate != nullptr && candidate->path() == path) terminal = candidate;
    }
    if (terminal == nullptr) return CallOutcome(Answer{-ENOENT});
    if (terminal->is_locked || terminal->is_hung_up()) return CallOutcome(Answer{-EIO});
  } else {
    return std::nullopt;
  }
  return open_end(call, *terminal, path, flags);
}

std::optional<CallOutcome> keep_in_background(CallContext& call, Terminal& terminal, int signal) {
  Process& process = call.process;
  const Family& family = process.family();
  if (terminal.session == 0 || terminal.session != family.session || terminal.foreground == family.group) return std::nullopt;
  const bool ignores =
      process.disposition(signal) == protocol::kSignalIgnored || is_masked(call.thread, signal);
  if (ignores && signal == SIGTTOU) return std::nullopt;
  if (ignores || is_orphaned(call.table, process)) return CallOutcome(Answer{-EIO});
  const std::uint32_t group = family.group;
  for (const auto& other : call.table.processes()) {
    if (other->alive && other->host_index() == process.host_index() && other->family().group == group)
      call.table.signal_process(*other, signal, {});
  }
  // The group stops; the call is tried again after it is continued.
  constexpr Duration kSoon(1'000'000);
  return call.wait_for({}, call.now() + kSoon, "the terminal's foreground");
}

CallOutcome read_terminal(CallContext& call, const std::shared_ptr<TerminalFile>& file, const Buffers& to) {
  Terminal& terminal = file->terminal();
  if (terminal.is_hung_up()) return Answer{0};
  if (auto refused = keep_in_background(call, terminal, SIGTTIN)) return *refused;
  LineDiscipline& discipline = terminal.discipline();
  const std::size_t limit = std::min<std::uint64_t>(to.length, 65536);
  const auto take = [&]() -> CallOutcome {
    const std::string text = discipline.read(limit).value_or("");
    if (!scatter(call.process, to, std::as_bytes(std::span(text)))) return Answer{-EFAULT};
    return Answer{static_cast<std::int64_t>(text.size())};
  };
  const auto wait = [&](Instant deadline) -> CallOutcome {
    if (file->nonblocking()) return Answer{-EAGAIN};
    return call.wait_for({file}, deadline, "read");
  };
  if (limit == 0) return Answer{0};
  if (discipline.settings().is_canonical()) return discipline.is_readable() ? take() : wait(kNever);
  const auto [minimum, time] = discipline.patience();
  const std::size_t there = discipline.readable_bytes();
  if (there >= std::min(limit, std::max<std::size_t>(minimum, 1))) return take();
  if (minimum == 0 && time == Duration::zero()) return Answer{0};
  if (there > 0 && file->nonblocking()) return take();
  if (time == Duration::zero() || (minimum > 0 && there == 0)) {
    file->bytes_seen = there;
    return wait(kNever);
  }
  const bool goes_on = call.is_retry() && file->bytes_seen == there && call.deadline() != kNever;
  file->bytes_seen = there;
  if (goes_on && call.now() >= call.deadline()) return take();
  return wait(goes_on ? call.deadline() : later(call.now(), time));
}

namespace {

CallOutcome control_master(CallContext& call, TerminalMaster& master, std::uint32_t request,
                           std::uint64_t address) {
  Process& process = call.process;
  Terminal& terminal = master.terminal();
  switch (request) {
    case TIOCGPTN:
      return Answer{process.memory().store(address, terminal.number()) ? 0 : -EFAULT};
    case TIOCSPTLCK: {
      const auto on = process.memory().load<int>(address);
      if (on) terminal.is_locked = *on != 0;
      return Answer{on ? 0 : -EFAULT};
    }
    case TIOCGPTLCK:
      return Answer{process.memory().store(address, static_cast<int>(terminal.is_locked)) ? 0 : -EFAULT};
    case TIOCGPTPEER:
      return open_end(call, terminal, terminal.path(), static_cast<int>(address));
    case TIOCPKT: {
      const auto on = process.memory().load<int>(address);
      if (!on) return Answer{-EFAULT};
      if (*on != 0) call.warn("packet mode of terminals (TIOCPKT) is not simulated; the program got EINVAL");
      return Answer{*on == 0 ? 0 : -EINVAL};
    }
    case TIOCGPGRP:
      return Answer{process.memory().store(address, terminal.foreground) ? 0 : -EFAULT};
    default:
      return Answer{-ENOTTY};
  }
}

// Requests that only processes of the terminal's session may make.
CallOutcome control_jobs(CallContext& call, Terminal& terminal, std::uint32_t request,
                         std::uint64_t address) {
  Process& process = call.process;
  Family& family = process.family();
  const bool leads = family.session == process.pid();
  if (request == TIOCSCTTY) {
    if (leads && terminal.session == family.session) return Answer{0};
    if (!leads || controlling_terminal(call.host, process) != nullptr) return Answer{-EPERM};
    if (terminal.session != 0) return Answer{-EPERM};
    control_session(process, terminal);
    return Answer{0};
  }
  if (terminal.session != family.session) return Answer{-ENOTTY};
  switch (request) {
    case TIOCGPGRP:
      return Answer{process.memory().store(address, terminal.foreground) ? 0 : -EFAULT};
    case TIOCGSID:
      return Answer{process.memory().store(address, terminal.session) ? 0 : -EFAULT};
    case TIOCSPGRP: {
      if (auto refused = keep_in_background(call, terminal, SIGTTOU)) return *refused;
      const auto group = process.memory().load<std::int32_t>(address);
      if (!group) return Answer{-EFAULT};
      if (*group <= 0) return Answer{-EINVAL};
      const auto wanted = static_cast<std::uint32_t>(*group);
      bool is_there = false, is_of_session = false;
      for (const auto& other : call.table.processes()) {
        if (other->host_index() != process.host_index() || other->family().group != wanted) continue;
        is_there = true;
        is_of_session = is_of_session || other->family().session == family.session;
      }
      // A zombie still belongs to its group.
      for (const EndedChild& child : family.ended) is_there = is_of_session = is_of_session || child.group == wanted;
      if (!is_of_session) return Answer{is_there ? -EPERM : -ESRCH};
      terminal.foreground = wanted;
      terminal.changed();
      return Answer{0};
    }
    case TIOCNOTTY:
      if (leads) {
        const std::uint32_t group = terminal.foreground;
        terminal.session = terminal.foreground = 0;
        terminal.signal(group, SIGHUP);
        terminal.signal(group, SIGCONT);
        return Answer{0};
      }
      call.warn(
          "to leave one's terminal without leading its session (TIOCNOTTY) is not simulated; the program got EPERM");
      return Answer{-EPERM};
    default:
      return Answer{-ENOTTY};
  }
}

}  // namespace

std::optional<CallOutcome> control_terminal(CallContext& call, VirtualFile& file) {
  auto* const master = file.as_terminal_master();
  auto* const end = file.as_terminal();
  if (master == nullptr && end == nullptr) return std::nullopt;
  Terminal& terminal = master != nullptr ? master->terminal() : end->terminal();
  const auto& a = call.arguments;
  const auto request = static_cast<unsigned long>(call.as_u32(1));
  const auto address = call.address(2);
  Process& process = call.process;
  if (request == FIOCLEX || request == FIONCLEX || request == FIONBIO || request == FIOASYNC)
    return std::nullopt;
  const auto store = [&](const auto& value) -> CallOutcome {
    return Answer{process.memory().store(address, value) ? 0 : -EFAULT};
  };
  const auto answer = [](std::int64_t result) -> CallOutcome { return Answer{result}; };
  if (terminal.is_hung_up() && end != nullptr) return answer(request == TIOCSPGRP ? -ENOTTY : -EIO);
  if (is_set(request)) {
    if (end != nullptr) {
      if (auto refused = keep_in_background(call, terminal, SIGTTOU)) return refused;
    }
    const auto settings = process.memory().load<TerminalSettings>(address);
    if (!settings) return answer(-EFAULT);
    if (request == TCSETSF || request == kSetWithSpeeds + 2) terminal.discipline().flush_input();
    terminal.set(*settings);
    return answer(0);
  }
  switch (request) {
    case TCGETS:
      return store(terminal.discipline().settings());
    case kGetWithSpeeds:
      return store(SettingsWithSpeeds{.settings = terminal.discipline().settings()});
    case TIOCGWINSZ:
      return store(terminal.size());
    case TIOCSWINSZ: {
      const auto size = process.memory().load<winsize>(address);
      if (size) terminal.resize(*size);
      return answer(size ? 0 : -EFAULT);
    }
    case FIONREAD:
      if (master != nullptr) return store(static_cast<int>(master->readable_bytes()));
      return store(static_cast<int>(terminal.discipline().readable_bytes()));
    case TIOCOUTQ:
      return store(0);
    case TCFLSH:
      if (a[2] < TCIFLUSH || a[2] > TCIOFLUSH) return answer(-EINVAL);
      if (a[2] != TCOFLUSH) terminal.discipline().flush_input();
      return answer(0);
    case TCXONC:
      if (a[2] < TCOOFF || a[2] > TCION) return answer(-EINVAL);
      if (a[2] == TCOOFF || a[2] == TCOON) terminal.stop_output(a[2] == TCOOFF);
      return answer(0);
    case TCSBRK:
    case TCSBRKP:
    case TIOCEXCL:
    case TIOCNXCL:
      return answer(0);
    case TIOCGETD:
      return store(0);
    case TIOCSTI:
      return answer(-EIO);  // as with dev.tty.legacy_tiocsti = 0
    default:
      break;
  }
  if (master != nullptr) return control_master(call, *master, static_cast<std::uint32_t>(request), address);
  return control_jobs(call, terminal, static_cast<std::uint32_t>(request), address);
}

}  // namespace verbatim::supervisor
