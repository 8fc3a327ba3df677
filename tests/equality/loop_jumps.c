// Loops that wait for memory to change: one for each condition of a backward jump, as a short and as a long jump.
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static volatile int word;
static volatile int next;

#define LOOPS(cc)                                                                                                \
  static void short_##cc(void) { __asm__ volatile("1: cmpl $1, %0\n\tj" #cc " 1b" : : "m"(word) : "cc"); }       \
  static void long_##cc(void) { __asm__ volatile("1: cmpl $1, %0\n\t%{disp32%} j" #cc " 1b" : : "m"(word) : "cc"); } \
  static int holds_##cc(int value) {                                                                             \
    unsigned char set;                                                                                           \
    __asm__("cmpl $1, %1\n\tset" #cc " %0" : "=q"(set) : "r"(value) : "cc");                                      \
    return set;                                                                                                  \
  }

LOOPS(o) LOOPS(no) LOOPS(b) LOOPS(ae) LOOPS(e) LOOPS(ne) LOOPS(be) LOOPS(a)
LOOPS(s) LOOPS(ns) LOOPS(p) LOOPS(np) LOOPS(l) LOOPS(ge) LOOPS(le) LOOPS(g)

static void short_always(void) { __asm__ volatile("1: cmpl $1, %0\n\tje 2f\n\t%{disp8%} jmp 1b\n2:" : : "m"(word) : "cc"); }
static void long_always(void) { __asm__ volatile("1: cmpl $1, %0\n\tje 2f\n\t%{disp32%} jmp 1b\n2:" : : "m"(word) : "cc"); }
static int holds_always(int value) { return value != 1; }

static const struct {
  const char* name;
  void (*loops[2])(void);
  int (*holds)(int);
} kLoops[] = {
#define ROW(cc) {#cc, {short_##cc, long_##cc}, holds_##cc}
    ROW(o), ROW(no), ROW(b), ROW(ae), ROW(e),  ROW(ne), ROW(be), ROW(a),     ROW(s),
    ROW(ns), ROW(p), ROW(np), ROW(l), ROW(ge), ROW(le), ROW(g),  ROW(always)};

static void pause_ns(long ns) {
  const struct timespec time = {0, ns};
  nanosleep(&time, NULL);
}

static void* change(void* unused) {
  for (;;) {
    while (next == INT_MAX) pause_ns(1000);
    if (next == INT_MAX - 1) return unused;
    pause_ns(30000);
    word = next;
    next = INT_MAX;
  }
}

int main(void) {
  static const int kValues[] = {INT_MIN, -1, 0, 1, 2, 3};
  pthread_t thread;
  next = INT_MAX;
  pthread_create(&thread, NULL, change, NULL);
  for (unsigned i = 0; i < sizeof kLoops / sizeof *kLoops; ++i) {
    int waits = 0, goes_on = 0;
    for (unsigned v = 0; v < sizeof kValues / sizeof *kValues; ++v)
      *(kLoops[i].holds(kValues[v]) ? &waits : &goes_on) = kValues[v];
    for (int round = 0; round < 10; ++round) {
      word = waits;
      next = goes_on;
      kLoops[i].loops[round % 2]();
      if (kLoops[i].holds(word)) printf("%s: went on too early\n", kLoops[i].name);
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%s: %d, then %d, at %ld.%09ld\n", kLoops[i].name, waits, goes_on, (long)now.tv_sec, now.tv_nsec);
  }
  while (next != INT_MAX) pause_ns(1000);
  next = INT_MAX - 1;
  pthread_join(thread, NULL);
  return 0;
}
