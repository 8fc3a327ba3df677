#include "tools/verbatim/wall_limit.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "sim/core/interruption.h"

namespace verbatim::cli {

namespace {

volatile sig_atomic_t limit_reached = 0;

void on_limit(int) {
  limit_reached = 1;
  ::kill(::getpid(), SIGINT);
}

}  // namespace

WallLimit::WallLimit(Duration limit) : is_set_(limit.count() > 0) {
  limit_reached = 0;
  if (!is_set_) return;
  struct sigaction action {};
  action.sa_handler = on_limit;
  ::sigaction(SIGALRM, &action, nullptr);
  const auto us = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::microseconds>(limit).count(), 1);
  const itimerval once{{}, {us / 1'000'000, us % 1'000'000}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
}

void WallLimit::stop() {
  if (!is_set_ || (Interruption::came() && !is_reached())) return;
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::signal(SIGALRM, SIG_DFL);
}

WallLimit::~WallLimit() {
  stop();
  limit_reached = 0;
}

bool WallLimit::is_reached() { return limit_reached != 0; }

}  // namespace verbatim::cli
