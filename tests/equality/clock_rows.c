// Waits for times by reading clocks in sequence, as calibrations do, in several variants, and prints the
// number of reads and their values: events between two reads must be as if the program had executed each.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t alarms;
static volatile int stops;
static volatile unsigned shared;
static unsigned kept;
static sigjmp_buf way_out;

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void tell(const char* what, long a, long b) { printf("%s: %ld %ld, at %lld\n", what, a, b, (long long)now_ns()); }

static void day(void) {
  long reads = 0, sum = 0;
  for (int i = 0; i < 20; ++i) {
    struct timeval start, now;
    gettimeofday(&start, NULL);
    do {
      gettimeofday(&now, NULL);
      ++reads;
      sum = sum * 31 + now.tv_usec;
    } while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_usec - start.tv_usec) < 100 + i * 10);
  }
  tell("day", reads, sum);
}

// Writes to the stack, and calls a function between the reads.
static __attribute__((noinline)) unsigned mix(const unsigned* words, unsigned at) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 8; ++i) sum ^= words[(at + i) % 64] << (i & 3);
  return sum;
}

static void frames(void) {
  unsigned words[64] = {1, 2, 3};
  unsigned at = 0;
  struct timespec start, now;
  clock_gettime(CLOCK_REALTIME, &start);
  do {
    clock_gettime(CLOCK_REALTIME, &now);
    words[at % 64] += mix(words, at) + (unsigned)now.tv_nsec;
    at += 7;
  } while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 700000);
  tell("frames", at, mix(words, 0));
}

// Writes elsewhere.
static void elsewhere(void) {
  const int64_t end = now_ns() + 300000;
  while (now_ns() < end) ++kept;
  tell("elsewhere", kept, 0);
}

// From two places in turn.
static void two_places(void) {
  struct timespec a = {0, 0}, b = {0, 0};
  long reads = 0;
  do {
    clock_gettime(CLOCK_MONOTONIC, &a);
    clock_gettime(CLOCK_MONOTONIC, &b);
    reads += b.tv_nsec - a.tv_nsec;
  } while (b.tv_nsec % 1000000 > 100000);
  tell("two places", reads, b.tv_nsec);
}

static void on_alarm(int signal) {
  (void)signal;
  ++alarms;
  if (stops) siglongjmp(way_out, 1);
}

static void with_signals(void) {
  const struct itimerval often = {{0, 37}, {0, 37}}, once = {{0, 0}, {0, 230}}, never = {{0, 0}, {0, 0}};
  struct timeval start, now;
  volatile long reads = 0;
  signal(SIGALRM, on_alarm);
  gettimeofday(&start, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  long seen = 0;
  do {
    gettimeofday(&now, NULL);
    seen = seen * 3 + alarms;
    ++reads;
  } while ((now.tv_sec - start.tv_sec) * 1000000 + now.tv_usec - start.tv_usec < 900);
  setitimer(ITIMER_REAL, &never, NULL);
  tell("signals", alarms, seen + reads);
  stops = 1;
  setitimer(ITIMER_REAL, &once, NULL);
  if (sigsetjmp(way_out, 1) == 0) {
    for (;;) {
      gettimeofday(&now, NULL);
      ++reads;
    }
  }
  tell("out of it", reads, now.tv_usec);
}

static void* change(void* unused) {
  for (int i = 0; i < 50; ++i) {
    const struct timespec time = {0, 9000};
    nanosleep(&time, NULL);
    ++shared;
  }
  return unused;
}

static void beside_another(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, change, NULL);
  unsigned long seen = 0, reads = 0;
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
    seen = seen * 5 + shared;
    ++reads;
  } while (shared < 50);
  pthread_join(thread, NULL);
  tell("beside another", (long)reads, (long)(seen % 1000003));
}

int main(void) {
  day();
  frames();
  elsewhere();
  two_places();
  with_signals();
  beside_another();
  return 0;
}
