// Clocks never go backwards, agree with each other, and advance by at least the time slept; rdtsc runs at the
// frequency that /proc/cpuinfo states.
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>
#include <x86intrin.h>

#include "expect.h"

static void monotonic(clockid_t clock) {
  int64_t last = clock_ns(clock);
  for (int i = 0; i < 2000; ++i) {
    const int64_t now = clock_ns(clock);
    EXPECT(now >= last);
    last = now;
  }
}

static void sleeps(void) {
  static const long kMs[] = {1, 5, 20};
  for (int i = 0; i < 3; ++i) {
    const int64_t before = now_ns(), real_before = clock_ns(CLOCK_REALTIME);
    sleep_ms(kMs[i]);
    const int64_t monotonic_passed = now_ns() - before, real_passed = clock_ns(CLOCK_REALTIME) - real_before;
    EXPECT(monotonic_passed >= kMs[i] * 1000000);
    EXPECT(monotonic_passed - real_passed < 5000000 && real_passed - monotonic_passed < 5000000);
  }
  const struct timespec then = in_ms(CLOCK_MONOTONIC, 10);
  EXPECT(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == 0);
  EXPECT(now_ns() >= then.tv_sec * 1000000000ll + then.tv_nsec);
  const struct timespec past = {1, 0};
  EXPECT(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL) == 0);
  const struct timespec wrong = {0, 1000000000};
  EXPECT(nanosleep(&wrong, NULL) == -1 && errno == EINVAL);
}

static void wall_clocks(void) {
  struct timeval micro;
  const int64_t before = clock_ns(CLOCK_REALTIME);
  EXPECT(gettimeofday(&micro, NULL) == 0);
  const int64_t after = clock_ns(CLOCK_REALTIME);
  const int64_t ns = micro.tv_sec * 1000000000ll + micro.tv_usec * 1000ll;
  EXPECT(ns >= before - 1000 && ns <= after);
  EXPECT(time(NULL) - before / 1000000000 <= 1);
  struct timespec resolution;
  EXPECT(clock_getres(CLOCK_MONOTONIC, &resolution) == 0 && resolution.tv_sec == 0 &&
         resolution.tv_nsec == 1);
  struct timespec none;
  EXPECT(clock_gettime(99, &none) == -1 && errno == EINVAL);
  struct tms used;
  EXPECT(times(&used) != (clock_t)-1);
}

static double stated_megahertz(void) {
  FILE* file = fopen("/proc/cpuinfo", "r");
  EXPECT(file != NULL);
  char line[4096];
  double megahertz = 0;
  while (megahertz == 0 && fgets(line, sizeof line, file) != NULL) sscanf(line, "cpu MHz : %lf", &megahertz);
  fclose(file);
  EXPECT(megahertz > 0);
  return megahertz;
}

// perftest takes cycles per microsecond from /proc/cpuinfo and divides rdtsc differences by it.
static void counter(void) {
  const double stated = stated_megahertz();
  const int64_t before = now_ns();
  const uint64_t cycles_before = __rdtsc();
  sleep_ms(50);
  unsigned processor;
  const uint64_t cycles = __rdtscp(&processor) - cycles_before;
  const double measured = (double)cycles * 1000 / (double)(now_ns() - before);
  // Natively the stated figure is a core's momentary frequency; in the simulator both are exact.
  const double tolerance = getenv("EXACT_COUNTER") != NULL ? 0.001 : 2.0;
  EXPECT(measured > stated / (1 + tolerance) && measured < stated * (1 + tolerance));
  uint64_t last = __rdtsc();
  for (int i = 0; i < 1000; ++i) {
    const uint64_t now = __rdtsc();
    EXPECT(now >= last);
    last = now;
  }
}

int main(void) {
  monotonic(CLOCK_MONOTONIC);
  monotonic(CLOCK_REALTIME);
  monotonic(CLOCK_MONOTONIC_RAW);
  monotonic(CLOCK_BOOTTIME);
  monotonic(CLOCK_PROCESS_CPUTIME_ID);
  monotonic(CLOCK_MONOTONIC_COARSE);
  printf("monotonic: done\n");
  sleeps();
  printf("sleeps: done\n");
  wall_clocks();
  printf("wall clocks: done\n");
  counter();
  printf("counter: done\n");
  return 0;
}
