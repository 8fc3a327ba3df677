// For the small programs: a false statement is printed with its line number, and the program exits with
// 1.
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPECT(condition)                                                                           \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      printf("%s:%d: does not hold: %s (errno %d: %s)\n", strrchr("/" __FILE__, '/') + 1, __LINE__, \
             #condition, errno, strerror(errno));                                                   \
      exit(1);                                                                                      \
    }                                                                                               \
  } while (0)

static inline int64_t clock_ns(clockid_t clock) {
  struct timespec time;
  EXPECT(clock_gettime(clock, &time) == 0);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}
static inline int64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

static inline void sleep_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&time, &time) != 0) EXPECT(errno == EINTR);
}

static inline struct timespec in_ms(clockid_t clock, long ms) {
  const int64_t then = clock_ns(clock) + ms * 1000000ll;
  const struct timespec time = {then / 1000000000, then % 1000000000};
  return time;
}
