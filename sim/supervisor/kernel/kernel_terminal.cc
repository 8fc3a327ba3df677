// Terminals: opening them, reading with the rights of the foreground, their ioctls, and the sessions that they control.
#include <asm/ioctls.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/tasks/signals.h"

namespace verbatim::supervisor {

namespace {

constexpr std::string_view kFolder = "/dev/pts/";
constexpr const char* kControlling = "/dev/tty";

// struct termios2 of <asm/termbits.h>, which cannot be had together with <termios.h>.
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

std::shared_ptr<Terminal> Kernel::make_terminal(std::size_t host) {
  forget_terminals(host);
  unsigned number = 0;
  HostKernel& own = host_kernels_[host];
  while (own.terminals.contains(number)) ++number;
  const auto signal = [this, host](Terminal&, std::uint32_t group, int which) {
    for (const auto& process : table_.processes()) {
      if (process->alive && process->host_index() == host && process->family().group == group)
        table_.signal_process(*process, which, {});
    }
  };
  auto terminal = std::make_shared<Terminal>(number, signal);
  own.terminals[number] = terminal;
  if (own.tree != nullptr) own.tree->add_device(terminal->path(), Terminal::kMajor, number);
  return terminal;
}

// Those that nobody has open any more.
void Kernel::forget_terminals(std::size_t host) {
  HostKernel& own = host_kernels_[host];
  std::erase_if(own.terminals, [&](const auto& entry) {
    const auto& [number, terminal] = entry;
    if (!terminal.expired()) return false;
    if (own.tree != nullptr) own.tree->remove(std::string(kFolder) + std::to_string(number));
    return true;
  });
}

void Kernel::note_waits_for_terminals(const std::vector<VirtualFilePtr>& files) {
  for (const VirtualFilePtr& file : files) {
    if (const auto* end = dynamic_cast<const TerminalFile*>(file.get())) ++end->terminal().waits;
  }
}

std::shared_ptr<Terminal> Kernel::controlling_terminal(Process& process) {
  for (const auto& [number, weak] : host_of(process).terminals) {
    const auto terminal = weak.lock();
    if (terminal == nullptr) continue;
    if (terminal->session == process.family().session) return terminal;
  }
  return nullptr;
}

// Fields 7 and 8 of /proc/PID/stat (proc(5)).
std::pair<std::uint32_t, std::int32_t> Kernel::terminal_in_proc(Process& process) {
  const auto terminal = controlling_terminal(process);
  if (terminal == nullptr) return {0, -1};
  return {Terminal::kMajor << 8 | (terminal->number() & 0xff) | (terminal->number() & ~0xffu) << 12,
          static_cast<std::int32_t>(terminal->foreground)};
}

void Kernel::control_session(Process& process, Terminal& terminal) {
  terminal.session = process.family().session;
  terminal.foreground = process.family().group;
}

void Kernel::end_session(Process& process) {
  if (process.family().session != process.pid()) return;
  if (const auto terminal = controlling_terminal(process)) terminal->hang_up(true);
}

bool Kernel::is_orphaned(Process& member) {
  const auto is_outside = [&](const Family& of_parent) {
    return of_parent.session == member.family().session && of_parent.group != member.family().group;
  };
  return std::ranges::none_of(table_.processes(), [&](const auto& process) {
    if (!process->alive || process->host_index() != member.host_index()) return false;
    if (process->family().group != member.family().group) return false;
    Process* const parent = find_process(member, process->family().parent);
    return parent != nullptr && is_outside(parent->family());
  });
}

bool Kernel::may_be_stopped(Process& process, int signal) {
  return signal == SIGSTOP || controlling_terminal(process) == nullptr || !is_orphaned(process);
}

// /dev/tty, or one of /dev/pts; std::nullopt: the path is another one.
std::optional<Kernel::Outcome> Kernel::open_terminal(Thread& thread, const std::string& path, int flags) {
  Process& process = thread.process();
  if (path == "/dev/ptmx") return open_terminal_master(thread, flags);
  std::shared_ptr<Terminal> terminal;
  if (path == kControlling) {
    terminal = controlling_terminal(process);
    if (terminal == nullptr) return Outcome(Answer{-ENXIO});
  } else if (path.starts_with(kFolder)) {
    for (const auto& [number, weak] : host_of(process).terminals) {
      const auto candidate = weak.lock();
      if (candidate != nullptr && candidate->path() == path) terminal = candidate;
    }
    if (terminal == nullptr) return Outcome(Answer{-ENOENT});
    if (terminal->is_locked || terminal->is_hung_up()) return Outcome(Answer{-EIO});
  } else {
    return std::nullopt;
  }
  return open_end(thread, *terminal, path, flags);
}

Kernel::Outcome Kernel::open_end(Thread& thread, Terminal& terminal, const std::string& path, int flags) {
  Process& process = thread.process();
  const auto file = terminal.open();
  file->set_access_mode(flags & O_ACCMODE);
  file->set_number(number_of_path(path));
  if (path == kControlling) file->set_device(makedev(5, 0));
  const bool leads = process.family().session == process.pid();
  if ((flags & O_NOCTTY) == 0 && leads && terminal.session == 0 && controlling_terminal(process) == nullptr)
    control_session(process, terminal);
  return install(process, file, (flags & O_NONBLOCK) != 0);
}

Kernel::Outcome Kernel::open_terminal_master(Thread& thread, int flags) {
  const auto terminal = make_terminal(thread.process().host_index());
  terminal->is_locked = true;
  const auto file = terminal->make_master();
  file->set_number(number_of_path("/dev/ptmx"));
  return install(thread.process(), file, (flags & O_NONBLOCK) != 0);
}

// Who is in the background of the terminal is stopped, if it does not want otherwise. std::nullopt: go on.
std::optional<Kernel::Outcome> Kernel::keep_in_background(Thread& thread, Terminal& terminal, int signal) {
  Process& process = thread.process();
  const Family& family = process.family();
  if (terminal.session == 0 || terminal.session != family.session || terminal.foreground == family.group) return std::nullopt;
  const bool ignores = process.disposition(signal) == protocol::kSignalIgnored || is_masked(thread, signal);
  if (ignores && signal == SIGTTOU) return std::nullopt;
  if (ignores || is_orphaned(process)) return Outcome(Answer{-EIO});
  const std::uint32_t group = family.group;
  for (const auto& other : table_.processes()) {
    if (other->alive && other->host_index() == process.host_index() && other->family().group == group)
      table_.signal_process(*other, signal, {});
  }
  // Stopped: it tries again when it is continued.
  constexpr Duration kSoon(1'000'000);
  return wait_for(thread, {}, now() + kSoon, "the terminal's foreground");
}

Kernel::Outcome Kernel::read_terminal(Thread& thread, const std::shared_ptr<TerminalFile>& file, const Buffers& to) {
  Terminal& terminal = file->terminal();
  if (terminal.is_hung_up()) return Answer{0};
  if (auto refused = keep_in_background(thread, terminal, SIGTTIN)) return *refused;
  LineDiscipline& discipline = terminal.discipline();
  const std::size_t limit = std::min<std::uint64_t>(to.length, 65536);
  const auto take = [&]() -> Outcome {
    const std::string text = discipline.read(limit).value_or("");
    if (!scatter(thread.process(), to, std::as_bytes(std::span(text)))) return Answer{-EFAULT};
    return Answer{static_cast<std::int64_t>(text.size())};
  };
  const auto wait = [&](Instant deadline) -> Outcome {
    if (file->nonblocking()) return Answer{-EAGAIN};
    return wait_for(thread, {file}, deadline, "read");
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
  const bool goes_on = thread.retried() && file->bytes_seen == there && thread.deadline() != kNever;
  file->bytes_seen = there;
  if (goes_on && now() >= thread.deadline()) return take();
  return wait(goes_on ? thread.deadline() : later(now(), time));
}

// ioctl_tty(2). std::nullopt: no call of terminals.
std::optional<Kernel::Outcome> Kernel::control_terminal(Thread& thread, VirtualFile& file) {
  auto* const master = dynamic_cast<TerminalMaster*>(&file);
  auto* const end = dynamic_cast<TerminalFile*>(&file);
  if (master == nullptr && end == nullptr) return std::nullopt;
  Terminal& terminal = master != nullptr ? master->terminal() : end->terminal();
  const auto& a = thread.call().arguments;
  const auto request = static_cast<unsigned long>(static_cast<std::uint32_t>(a[1]));
  const auto address = static_cast<std::uint64_t>(a[2]);
  Process& process = thread.process();
  if (request == FIOCLEX || request == FIONCLEX || request == FIONBIO || request == FIOASYNC) return std::nullopt;
  const auto store = [&](const auto& value) -> Outcome { return Answer{process.memory().store(address, value) ? 0 : -EFAULT}; };
  const auto answer = [](std::int64_t result) -> Outcome { return Answer{result}; };
  if (terminal.is_hung_up() && end != nullptr) return answer(request == TIOCSPGRP ? -ENOTTY : -EIO);
  if (is_set(request)) {
    if (end != nullptr) {
      if (auto refused = keep_in_background(thread, terminal, SIGTTOU)) return refused;
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
      if (a[2] == TCOOFF || a[2] == TCOON) terminal.stop(a[2] == TCOOFF);
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
  if (master != nullptr) return control_master(thread, *master, static_cast<std::uint32_t>(request), address);
  return control_jobs(thread, terminal, static_cast<std::uint32_t>(request), address);
}

Kernel::Outcome Kernel::control_master(Thread& thread, TerminalMaster& master, std::uint32_t request, std::uint64_t address) {
  Process& process = thread.process();
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
      return open_end(thread, terminal, terminal.path(), static_cast<int>(address));
    case TIOCPKT: {
      const auto on = process.memory().load<int>(address);
      if (!on) return Answer{-EFAULT};
      if (*on != 0) warn(process, "packet mode of terminals (TIOCPKT) is not simulated; the program got EINVAL");
      return Answer{*on == 0 ? 0 : -EINVAL};
    }
    case TIOCGPGRP:
      return Answer{process.memory().store(address, terminal.foreground) ? 0 : -EFAULT};
    default:
      return Answer{-ENOTTY};
  }
}

// What concerns the terminal of the caller's session alone.
Kernel::Outcome Kernel::control_jobs(Thread& thread, Terminal& terminal, std::uint32_t request, std::uint64_t address) {
  Process& process = thread.process();
  Family& family = process.family();
  const bool leads = family.session == process.pid();
  if (request == TIOCSCTTY) {
    if (leads && terminal.session == family.session) return Answer{0};
    if (!leads || controlling_terminal(process) != nullptr) return Answer{-EPERM};
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
      if (auto refused = keep_in_background(thread, terminal, SIGTTOU)) return *refused;
      const auto group = process.memory().load<std::int32_t>(address);
      if (!group) return Answer{-EFAULT};
      if (*group <= 0) return Answer{-EINVAL};
      const auto wanted = static_cast<std::uint32_t>(*group);
      bool is_there = false, is_of_session = false;
      for (const auto& other : table_.processes()) {
        if (other->host_index() != process.host_index() || other->family().group != wanted) continue;
        is_there = true;
        is_of_session = is_of_session || other->family().session == family.session;
      }
      // One that has ended and was not waited for still has its group.
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
      warn(process, "to leave one's terminal without leading its session (TIOCNOTTY) is not simulated; the program got EPERM");
      return Answer{-EPERM};
    default:
      return Answer{-ENOTTY};
  }
}

}  // namespace verbatim::supervisor
