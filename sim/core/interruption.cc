#include "sim/core/interruption.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace verbatim {

namespace {

static_assert(kInterruptingSignals[0] == SIGINT && kInterruptingSignals[1] == SIGTERM && kInterruptingSignals[2] == SIGHUP);

using Handler = void (*)(int);
constexpr int kSignals = 32;

volatile std::sig_atomic_t signals_came = 0;
volatile std::sig_atomic_t watches = 0;
volatile pid_t watching = 0;  // process id of the watcher: forked processes inherit the handlers
Interruption::End end_process = nullptr;
Handler called_also[kSignals] = {};
struct sigaction before[kSignals];  // saved handlers, restored while no `end` is set
bool is_handled[kSignals] = {};

void on_timer(int) { end_process(true); }

void set_timer() {
  struct sigaction action {};
  action.sa_handler = on_timer;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval once = {{0, 0}, {Interruption::kForcedEndMs / 1000, Interruption::kForcedEndMs % 1000 * 1000L}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
}

void on_signal(int signal) {
  if (::getpid() != watching) return;
  const int error = errno;
  signals_came = signals_came + 1;
  if (watches == 0 && end_process != nullptr) end_process(false);
  if (signals_came == 1 && end_process != nullptr) set_timer();
  if (const Handler also = called_also[signal]) also(signal);
  errno = error;
}

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// Without SA_RESTART, so that waiting system calls are interrupted.
void handle(int signal) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(signal, &action, is_handled[signal] ? nullptr : &before[signal]);
  is_handled[signal] = true;
}

void handle_all() {
  watching = ::getpid();
  for (const int signal : kInterruptingSignals) {
    if (!is_handled[signal] && Interruption::takes(signal)) handle(signal);
  }
}

}  // namespace

void Interruption::end_by(End end) {
  end_process = end;
  handle_all();
}

int Interruption::count() { return signals_came; }

bool Interruption::takes(int signal) {
  // nohup(1) and the like set SIGHUP to be ignored.
  return std::ranges::count(kInterruptingSignals, signal) != 0 && (signal != SIGHUP || !is_ignored(signal));
}

void Interruption::forget() {
  watching = ::getpid();
  signals_came = 0;
  watches = 0;
  std::ranges::fill(called_also, nullptr);
}

void Interruption::call_also(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  called_also[signal] = now.sa_handler;
  handle(signal);
}

void Interruption::stop_calling(int signal) {
  called_also[signal] = nullptr;
  handle(signal);
}

Interruption::Watch::Watch() {
  if (watches == 0) signals_came = 0;
  watches = watches + 1;
  handle_all();
}

Interruption::Watch::~Watch() {
  watches = watches - 1;
  if (watches != 0 || end_process != nullptr) return;
  for (const int signal : kInterruptingSignals) {
    if (is_handled[signal]) ::sigaction(signal, &before[signal], nullptr);
    is_handled[signal] = false;
  }
}

}  // namespace verbatim
