// The program's clock, and waits that use it.
#pragma once

#include <time.h>

static inline long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static inline void nap(long ns) {
  const struct timespec time = {0, ns};
  nanosleep(&time, NULL);
}
