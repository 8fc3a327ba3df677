#include "sim/supervisor/signals.h"

#include <fmt/format.h>

#include <csignal>
#include <fstream>

#include "sim/supervisor/process.h"

namespace verbatim::supervisor {

namespace {

// What the program has masked. A thread that is parked sleeps in the handler of a poke; its own mask is taken
// to be empty.
std::uint64_t mask_of(Thread& thread) {
  if (thread.parked() != nullptr) return 0;
  Process& process = thread.process();
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  if (slot.context_address != 0) return slot.signal_mask;
  std::ifstream status(fmt::format("/proc/{}/task/{}/status", process.native_pid(), slot.native_tid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  return 0;
}

bool is_masked(Thread& thread, int signal) { return (mask_of(thread) >> (signal - 1) & 1) != 0; }

}  // namespace

bool is_without_effect(Process& process, int signal) {
  const auto disposition = process.disposition(signal);
  if (disposition == protocol::kSignalIgnored) return true;
  return disposition == protocol::kSignalDefault &&
         (signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT);
}

void signal_thread(Thread& thread, int signal, const SignalOrigin& origin) {
  thread.set_origin(origin);
  if (is_masked(thread, signal)) return thread.add_masked(signal);
  if (!is_without_effect(thread.process(), signal)) thread.interrupt(signal);
}

void send_signal(Process& process, int signal, const SignalOrigin& origin) {
  Thread* first = nullptr;
  for (auto& thread : process.threads()) {
    if (thread->state() == Thread::State::kDead) continue;
    if (first == nullptr) first = thread.get();
    if (!is_masked(*thread, signal)) return signal_thread(*thread, signal, origin);
  }
  if (first != nullptr) signal_thread(*first, signal, origin);
}

}  // namespace verbatim::supervisor
