// Loops that give up at a time, or measure how long they wait.
#include <sys/time.h>
#include <time.h>
#include <x86intrin.h>

#include "tests/waits/waits.h"

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static int deadline_ns(void) {
  const int64_t end = now_ns() + 100 * w.wait_ns;
  while (POLL(w.cq) == 0) {
    if (now_ns() > end) return -1;
  }
  return 0;
}

static int elapsed_ns(void) {
  const int64_t start = now_ns();
  while (POLL(w.cq) == 0 && now_ns() - start < 100 * w.wait_ns) continue;
  return 0;
}

// The time-out expires first, repeatedly.
static int short_time_outs(void) {
  int times = 0;
  for (;;) {
    ++times;
    const int64_t end = now_ns() + w.wait_ns / 7;
    while (now_ns() < end) {
      if (POLL(w.cq) != 0) return times;
    }
  }
}

static int deadline_timespec(void) {
  struct timespec end, now;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 100;
  do {
    if (POLL(w.cq) != 0) return 0;
    clock_gettime(CLOCK_REALTIME, &now);
  } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
  return -1;
}

static int deadline_timeval(void) {
  struct timeval start, now, passed;
  gettimeofday(&start, NULL);
  for (;;) {
    if (POLL(w.cq) != 0) return 0;
    gettimeofday(&now, NULL);
    timersub(&now, &start, &passed);
    if (passed.tv_sec >= 100) return -1;
  }
}

static int milliseconds(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  const long start = now.tv_sec * 1000 + now.tv_usec / 1000;
  for (;;) {
    if (POLL(w.cq) != 0) return 0;
    gettimeofday(&now, NULL);
    if (now.tv_sec * 1000 + now.tv_usec / 1000 - start > 100000) return -1;
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int floating_seconds(void) {
  const double end = seconds() + 100;
  while (POLL(w.cq) == 0) {
    if (seconds() > end) return -1;
  }
  return 0;
}

static int floating_distance(void) {
  const double start = seconds();
  while (POLL(w.cq) == 0) {
    if (__builtin_fabs(start - seconds()) > 100) return -1;
  }
  return 0;
}

// As an interpreter has it: thousands of instructions from one poll to the next.
static int long_turn(void) {
  static volatile unsigned words[1024];
  unsigned sum = 0;
  const double end = seconds() + 100;
  while (POLL(w.cq) == 0) {
    for (unsigned i = 0; i < 1024; ++i) sum ^= words[i];
    if (seconds() > end) return -1;
  }
  return (int)sum;
}

// As GPI-2 has it: milliseconds as float.
static int floating_milliseconds(void) {
  struct timeval start, now;
  gettimeofday(&start, NULL);
  for (;;) {
    if (POLL(w.cq) != 0) return 0;
    gettimeofday(&now, NULL);
    const float passed = (float)(now.tv_sec - start.tv_sec) * 1000.0f + (float)(now.tv_usec - start.tv_usec) * 0.001f;
    if (passed > 100000.0f) return -1;
  }
}

static int whole_seconds(void) {
  const time_t end = time(NULL) + 100;
  while (POLL(w.cq) == 0) {
    if (time(NULL) >= end) return -1;
  }
  return 0;
}

static int cycles(void) {
  const uint64_t end = __rdtsc() + 1000000000000ull;
  while (POLL(w.cq) == 0) {
    if (__rdtsc() > end) return -1;
  }
  return 0;
}

static int cycles_serialized(void) {
  unsigned processor;
  const uint64_t start = __rdtscp(&processor);
  while (POLL(w.cq) == 0 && __rdtscp(&processor) - start < 1000000000000ull) continue;
  return (int)processor;
}

static volatile uint64_t cycles_per_us = 2000;
static int cycles_in_us(void) {
  const uint64_t start = __rdtsc();
  while (POLL(w.cq) == 0) {
    if ((__rdtsc() - start) / cycles_per_us > 100000000) return -1;
  }
  return 0;
}

// Waits a few cycles between polls.
static int cycles_between(void) {
  while (POLL(w.cq) == 0) {
    const uint64_t until = __rdtsc() + 2000;
    while (__rdtsc() < until) __builtin_ia32_pause();
  }
  return 0;
}

static int every_thousandth(void) {
  const int64_t end = now_ns() + 100 * w.wait_ns;
  unsigned i = 0;
  while (POLL(w.cq) == 0) {
    if (++i % 1000 == 0 && now_ns() > end) return -1;
  }
  return (int)i;
}

static int every_1024th(void) {
  const int64_t end = now_ns() + 100 * w.wait_ns;
  unsigned i = 0;
  while (POLL(w.cq) == 0) {
    if ((++i & 1023) == 0 && now_ns() > end) return -1;
  }
  return (int)i;
}

static int idle_time(void) {
  int64_t idle = 0, last = now_ns();
  while (POLL(w.cq) == 0) {
    const int64_t now = now_ns();
    idle += now - last;
    last = now;
  }
  return (int)idle;
}

static int longest_gap(void) {
  int64_t longest = 0, last = now_ns();
  while (POLL(w.cq) == 0) {
    const int64_t now = now_ns();
    if (now - last > longest) longest = now - last;
    last = now;
  }
  return (int)longest;
}

static int counted_and_timed(void) {
  uint64_t polls = 0;
  const int64_t end = now_ns() + 100 * w.wait_ns;
  do {
    ++polls;
    if (POLL(w.cq) != 0) return (int)polls;
  } while (now_ns() < end);
  return -1;
}

// No poll, no counter: only the clock and the flag.
static int clock_and_flag(void) {
  const int64_t end = now_ns() + 100 * w.wait_ns;
  while (*w.flag == 0) {
    if (now_ns() > end) return -1;
  }
  return 0;
}

const struct wait_case kClockCases[] = {{"deadline_ns", deadline_ns},
                                        {"elapsed_ns", elapsed_ns},
                                        {"short_time_outs", short_time_outs},
                                        {"deadline_timespec", deadline_timespec},
                                        {"deadline_timeval", deadline_timeval},
                                        {"milliseconds", milliseconds},
                                        {"floating_seconds", floating_seconds},
                                        {"floating_milliseconds", floating_milliseconds},
                                        {"floating_distance", floating_distance},
                                        {"long_turn", long_turn},
                                        {"whole_seconds", whole_seconds},
                                        {"cycles", cycles},
                                        {"cycles_serialized", cycles_serialized},
                                        {"cycles_in_us", cycles_in_us},
                                        {"cycles_between", cycles_between},
                                        {"every_thousandth", every_thousandth},
                                        {"every_1024th", every_1024th},
                                        {"idle_time", idle_time},
                                        {"longest_gap", longest_gap},
                                        {"counted_and_timed", counted_and_timed},
                                        {"clock_and_flag", clock_and_flag},
                                        {NULL, NULL}};
