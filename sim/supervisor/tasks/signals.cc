#include "sim/supervisor/tasks/signals.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>

#include "sim/supervisor/machine/input_stream.h"
#include "sim/supervisor/tasks/posix_timer.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/tasks/signal_file.h"

namespace verbatim::supervisor {

namespace {

// A signal set of one thread in /proc/PID/task/TID/status: SigBlk, SigPnd or ShdPnd.
std::uint64_t native_set(Thread& thread, std::string_view name) {
  Process& process = thread.process();
  const pid_t tid = thread.native.tid;
  InputStream status(fmt::format("/proc/{}/task/{}/status", process.native_pid(), tid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size() + 1), nullptr, 16);
  }
  return 0;
}

// The program's signal mask. In the handlers of a trapped call and of a poke all signals are masked, and the
// slot has the program's mask.
std::uint64_t mask_of(Thread& thread) {
  if (thread.signals.mask_of_call) return *thread.signals.mask_of_call;
  const protocol::ThreadSlot& slot = thread.process().region().slot(thread.slot());
  const bool poked = thread.requests<request::Poke>();
  return poked || slot.context_address != 0 ? slot.signal_mask : native_set(thread, "SigBlk");
}

bool is_watched(Process& process, int signal) { return (process.files().watched_signals() >> (signal - 1) & 1) != 0; }

// Keeps the signal until a thread waits for it or unmasks it.
void keep(Process& process, const QueuedSignal& signal) {
  process.pending.push(signal);
  process.publish_watched_signals();
  process.files().notify_signal_files();
}

}  // namespace

bool is_masked(Thread& thread, int signal) { return (mask_of(thread) >> (signal - 1) & 1) != 0; }

bool is_without_effect(Process& process, int signal) {
  const auto disposition = process.disposition(signal);
  if (disposition == protocol::kSignalIgnored) return true;
  return disposition == protocol::kSignalDefault &&
         (signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT);
}

bool stops(Process& process, int signal) {
  const bool may_handle = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  return signal == SIGSTOP || (may_handle && process.disposition(signal) == protocol::kSignalDefault);
}

bool is_deadly(Process& process, int signal) {
  return process.disposition(signal) == protocol::kSignalDefault && !stops(process, signal) &&
         !is_without_effect(process, signal);
}

SignalOrigin origin_of_child(std::uint32_t pid, int status, std::uint32_t user) {
  SignalOrigin origin{.code = CLD_KILLED, .sender = pid, .status = WTERMSIG(status), .user = user};
  if (WIFEXITED(status)) origin.code = CLD_EXITED, origin.status = WEXITSTATUS(status);
  if (WIFSTOPPED(status)) origin.code = CLD_STOPPED, origin.status = WSTOPSIG(status);
  if (WIFCONTINUED(status)) origin.code = CLD_CONTINUED, origin.status = SIGCONT;
  return origin;
}

bool is_pending(Process& process, int signal, int timer) {
  if (process.pending.contains_timer(timer)) return true;
  const std::uint64_t bit = 1ull << (signal - 1);
  for (const auto& thread : process.threads()) {
    if (thread->state() == Thread::State::kDead) continue;
    if (thread->signals.deliverable.contains_timer(timer) || thread->signals.masked.contains_timer(timer)) return true;
    if ((kept_natively(*thread) & bit) != 0) return true;
  }
  return false;
}

void signal_thread(Thread& thread, int signal, const SignalOrigin& origin) {
  const QueuedSignal queued{signal, origin, true};
  if (thread.signals.awaits(signal)) return thread.interrupt(queued);
  if (!is_masked(thread, signal)) {
    if (!is_without_effect(thread.process(), signal)) thread.interrupt(queued);
    return;
  }
  is_watched(thread.process(), signal) ? keep(thread.process(), queued) : thread.add_masked(queued);
}

void send_signal(Process& process, int signal, const SignalOrigin& origin) {
  const QueuedSignal queued{signal, origin, false};
  for (auto& thread : process.threads()) {
    if (thread->state() == Thread::State::kDead) continue;
    if (thread->signals.awaits(signal)) return thread->interrupt(queued);
    if (is_masked(*thread, signal)) continue;
    if (!is_without_effect(process, signal)) thread->interrupt(queued);
    return;
  }
  keep(process, queued);
}

std::vector<QueuedSignal> take_signals(Thread& thread) {
  std::vector<QueuedSignal> taken;
  const auto take_all = [&](SignalQueue& queue, std::uint64_t set) {
    while (taken.size() < protocol::kMaxRaisedSignals) {
      const auto signal = queue.take(set);
      if (!signal) return;
      taken.push_back(*signal);
      if (signal->origin.code != SI_TIMER) continue;
      const auto timer = thread.process().timers.find(signal->origin.timer);
      if (timer != thread.process().timers.end()) taken.back().origin.overrun = timer->second->overrun();
    }
  };
  Process& process = thread.process();
  take_all(thread.signals.deliverable, ~0ull);
  take_all(thread.signals.masked, ~0ull);
  if (process.pending.empty()) return taken;
  // Only the first thread can pass masked process-wide signals to the Linux kernel. Another thread takes
  // those that it does not mask; its shim reports when it unmasks one.
  const bool first = thread.tid() == process.pid();
  take_all(process.pending, ~mask_of(thread) | (first ? ~process.files().watched_signals() : 0));
  process.publish_watched_signals();
  return taken;
}

std::uint64_t kept_natively(Thread& thread) {
  // The poke signal is sent in real time and is not a signal of the program.
  constexpr std::uint64_t kPoke = 1ull << (protocol::kPokeSignal - 1);
  return (native_set(thread, "SigPnd") | native_set(thread, "ShdPnd")) & ~kPoke;
}

void take_awaited(Thread& thread, std::uint64_t set) {
  while (const auto signal = thread.process().pending.take(set)) thread.interrupt(*signal);
}

}  // namespace verbatim::supervisor
