// A thread that waits by spinning shares its core with the supervisor. The supervisor runs, and can poke the
// thread, only when Linux preempts the thread, often a whole tick later. Therefore a thread that is known to
// spin pokes itself, by a timer interrupt on its own core.
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

constexpr int kNoTimer = -1;
constexpr std::uint32_t kLongestUs = 500'000;

void start_timer() {
  ThreadState& state = thread_state();
  const itimerspec once{{0, 0}, {0, static_cast<long>(state.armed_us) * 1000}};
  native(SYS_timer_settime, state.timer, 0, &once, 0);
}

}  // namespace

// On a loaded machine a period may pass before the thread has run at all: each further one is twice as long.
void rearm_poke_timer() {
  ThreadState& state = thread_state();
  if (state.armed_us == 0) return;
  if (state.armed_us < kLongestUs / 2) state.armed_us *= 2;
  start_timer();
}

void arm_poke_timer(std::uint32_t period_us) {
  ThreadState& state = thread_state();
  if (state.timer == kNoTimer) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = protocol::kPokeSignal;
    event._sigev_un._tid = static_cast<int>(native(SYS_gettid));
    // Without a timer the supervisor's own poke arrives later.
    if (native(SYS_timer_create, CLOCK_MONOTONIC, &event, &state.timer) != 0) {
      state.timer = kNoTimer;
      return;
    }
  }
  state.armed_us = period_us < kLongestUs ? period_us : kLongestUs;
  start_timer();
}

void disarm_poke_timer() { thread_state().armed_us = 0; }

void forget_poke_timer() {
  ThreadState& state = thread_state();
  state.timer = kNoTimer;
  state.armed_us = 0;
}

}  // namespace verbatim::shim
