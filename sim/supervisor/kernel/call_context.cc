#include "sim/supervisor/kernel/call_context.h"

#include <fmt/format.h>

#include <cerrno>

#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/spec/kernel_time.h"

namespace verbatim::supervisor {

std::optional<Instant> CallContext::load_deadline(std::uint64_t address, int* error) const {
  *error = 0;
  if (is_retry()) return deadline();
  if (address == 0) return kNever;
  const auto timeout = process.memory().load<timespec>(address);
  if (!timeout) *error = -EFAULT;
  if (timeout && !valid(*timeout)) *error = -EINVAL;
  if (*error != 0) return std::nullopt;
  return add_ns(now(), to_ns(*timeout));
}

CallOutcome CallContext::wait_for(std::vector<VirtualFilePtr> files, Instant deadline,
                                  const std::string& call) const {
  std::string what = call;
  if (files.size() == 1) what += " on " + files.front()->describe();
  if (files.size() > 1) {
    what += " on " + files.front()->describe() + fmt::format(" and {} more", files.size() - 1);
  }
  services.checks.before_sleep(thread, files, deadline, now());
  if (!host.terminals.empty()) {
    for (const VirtualFilePtr& file : files) {
      if (const TerminalFile* const end = file->as_terminal()) ++end->terminal().waits;
    }
  }
  thread.block(std::move(files), deadline, std::move(what));
  return std::nullopt;
}

CallOutcome CallContext::wait_or_give_up(std::vector<VirtualFilePtr> files, bool dont_wait, Duration timeout,
                                         const std::string& call) const {
  const auto done = static_cast<std::int64_t>(transferred);
  Instant deadline = timeout > Duration::zero() ? later(now(), timeout) : kNever;
  if (is_retry()) deadline = this->deadline();
  if (dont_wait || now() >= deadline) return Answer{done > 0 ? done : -EAGAIN};
  return wait_for(std::move(files), deadline, call);
}

CallOutcome CallContext::install(VirtualFilePtr file, bool nonblocking) const {
  file->set_nonblocking(nonblocking);
  const int fd = process.files().install(std::move(file));
  if (fd < 0) return Answer{fd};
  return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
}

CallOutcome CallContext::install_pair(const VirtualFilePtr& first, const VirtualFilePtr& second,
                                      bool nonblocking, std::uint64_t address) const {
  first->set_nonblocking(nonblocking);
  second->set_nonblocking(nonblocking);
  const int fds[2] = {process.files().install(first), process.files().install(second)};
  const bool stored = fds[1] >= 0 && process.memory().store(address, fds);
  if (stored) return Answer{0, protocol::Action::kReserveTwoFds, {fds[0], fds[1]}};
  for (const int fd : fds) process.files().close(fd);
  return Answer{fds[1] >= 0 ? -EFAULT : -EMFILE};
}

Process* find_process(const ProcessTable& table, const Process& seen_from, std::uint32_t pid) {
  for (const auto& process : table.processes()) {
    if (process->alive && process->host_index() == seen_from.host_index() && process->pid() == pid)
      return process.get();
  }
  return nullptr;
}

Process* CallContext::find_process(std::uint32_t pid) const {
  return supervisor::find_process(table, process, pid);
}

Thread* CallContext::find_thread(std::int64_t tid) const {
  if (tid == 0) return &thread;
  for (const auto& other : table.processes()) {
    if (!other->alive || other->host_index() != process.host_index()) continue;
    for (const auto& one : other->threads()) {
      if (one->state() != Thread::State::kDead && one->tid() == tid) return one.get();
    }
  }
  return nullptr;
}

}  // namespace verbatim::supervisor
