// Progress loops in the form of UCX: after each hundred turns another function, which does more every eighth time. One proof
// ends where another begins, and the thread is not executed in between (LoopAnalyst::poll_on). In each loop something differs
// from turn to turn, or is changed meanwhile.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/waits/waits.h"

static uint64_t turns;
static unsigned in_hundred, hundreds, clock_reads;

// Returns true after each hundred turns.
static int ends_hundred(void) {
  ++turns;
  in_hundred = (in_hundred + 1) % 100;
  if (in_hundred != 0) return 0;
  struct timespec time;
  if (hundreds++ % 8 == 0) clock_reads += clock_gettime(CLOCK_MONOTONIC, &time) == 0;
  return 1;
}

static int result(uint64_t more) {
  return (int)(((turns * 31 + hundreds) * 31 + clock_reads) * 31 + more) & 0x7fffffff;
}

// Often a multiple of the time that polls and clock reads take: two threads then act at the same instant.
static void sleep_us(long us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

static int in_hundreds(void) {
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(0);
    ends_hundred();
  }
}

// The adapter writes to one address what the loop reads at another.
static int mirror_in_hundreds(void) {
  while (*w.mirror == 0) {
    if (POLL(w.idle[0]) != 0 || POLL(w.idle[1]) != 0) return -1;
    ends_hundred();
  }
  return result(0);
}

// The adapter writes the constant that an instruction of the loop returns.
static int code_in_hundreds(void) {
  int (*const function)(void) = (int (*)(void))(uintptr_t)w.code;
  while (function() == 0) {
    if (POLL(w.idle[0]) != 0 || POLL(w.idle[1]) != 0) return -1;
    ends_hundred();
  }
  return result(0);
}

// Another thread replaces an instruction that is executed once in a hundred turns.
static void* rewrite(void* unused) {
  for (int i = 1; i < 40; ++i) {
    sleep_us(w.wait_ns / 40000 + 7 * i);
    ((volatile uint8_t*)w.code)[1] = (uint8_t)i;
  }
  return unused;
}

static int rewritten_in_hundreds(void) {
  int (*const function)(void) = (int (*)(void))(uintptr_t)w.code;
  uint64_t sum = 0;
  in_thread(rewrite);
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(sum);
    if (ends_hundred()) sum += (uint64_t)function();
  }
}

// The other end reads the counter, and changes it.
static int counter_used_in_hundreds(void) {
  volatile uint64_t* const counter = (volatile uint64_t*)((volatile char*)w.flag + kCounterOffset);
  for (;;) {
    *counter += 1;
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(*counter);
    ends_hundred();
  }
}

// Another process writes bytes that the loop reads, which are in shared memory.
static int other_process_in_hundreds(void) {
  volatile unsigned* const place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 50; ++i) {
      sleep_us(w.wait_ns / 50000);
      *place = i % 5 == 4 ? *place : *place + 1;
    }
    _exit(0);
  }
  uint64_t sum = 0;
  for (;;) {
    sum += *place;
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) break;
    ends_hundred();
  }
  return waitpid(child, NULL, 0) == child ? result(sum) : -1;
}

// Another thread maps other memory where the loop counts: shared, anonymous, and of a file.
static volatile uint64_t* counting;
static void* map_anew(void* unused) {
  const int file = memfd_create("counter", 0);
  if (file < 0 || ftruncate(file, 4096) != 0) _exit(9);
  for (int i = 0; i < 20; ++i) {
    sleep_us(w.wait_ns / 20000);
    const int flags = MAP_FIXED | (i % 3 == 0 ? MAP_SHARED : MAP_PRIVATE | (i % 3 == 1 ? MAP_ANONYMOUS : 0));
    if (mmap((void*)counting, 4096, PROT_READ | PROT_WRITE, flags, i % 3 == 1 ? -1 : file, 0) == MAP_FAILED) _exit(9);
    *counting += 1000 * (uint64_t)i;
  }
  return unused;
}

static int mapped_anew_in_hundreds(void) {
  counting = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  in_thread(map_anew);
  for (;;) {
    *counting += 1;
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(*counting);
    ends_hundred();
  }
}

// The loop's counter is in memory that another thread of the process looks at and changes.
static volatile uint64_t seen_by_thread, changes;
static void* look_and_change(void* unused) {
  for (unsigned random = 1, i = 0; i < 60; ++i) {
    random = random * 1103515245u + 12345u;
    sleep_us(1 + (random >> 8) % (unsigned)(w.wait_ns / 30000));
    seen_by_thread = 31 * seen_by_thread + turns + 17 * in_hundred;
    if (i % 3 == 0) in_hundred = (in_hundred + 13) % 100;
    ++changes;
  }
  return unused;
}

static int seen_in_hundreds(void) {
  in_thread(look_and_change);
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(seen_by_thread + changes);
    ends_hundred();
  }
}

// Two threads of one process wait in the same loop, each with counters of its own.
static __thread uint64_t own_turns;
static __thread unsigned own_hundred, own_hundreds;
static _Atomic uint64_t of_other_thread;
static _Atomic int is_over;

static void own_turn(void) {
  struct timespec time;
  ++own_turns;
  own_hundred = (own_hundred + 1) % 100;
  if (own_hundred == 0 && own_hundreds++ % 8 == 0) clock_gettime(CLOCK_MONOTONIC, &time);
}

static void* wait_too(void* unused) {
  while (!is_over && POLL(w.idle[2]) == 0 && POLL(w.idle[3]) == 0) own_turn();
  of_other_thread = own_turns * 31 + own_hundreds;
  is_over = 2;
  return unused;
}

static int two_threads_in_hundreds(void) {
  in_thread(wait_too);
  while (POLL(w.idle[0]) == 0 && POLL(w.cq) == 0) own_turn();
  is_over = 1;
  while (is_over != 2) sleep_us(10);
  return result(own_turns * 1000 + own_hundreds + of_other_thread);
}

// A signal handler counts, and changes what the loop counts.
static volatile uint64_t signals;
static void on_alarm(int number) {
  (void)number;
  signals = signals * 3 + turns;
  if (signals % 2 == 0) in_hundred = (in_hundred + 1) % 100;
}

static int signalled_in_hundreds(void) {
  const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, w.wait_ns / 37000}, {0, w.wait_ns / 41000}};
  setitimer(ITIMER_REAL, &every, NULL);
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) break;
    ends_hundred();
  }
  const struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &none, NULL);
  return result(signals);
}

// A floating-point value grows with each hundred.
static volatile double average;
static int average_in_hundreds(void) {
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result((uint64_t)(average * 1e6));
    if (ends_hundred()) average = average * 0.75 + 0.25 * (double)turns;
  }
}

// The loop gives up by a clock that it reads in the other function, then waits without it.
static int limited_in_hundreds(void) {
  struct timespec begun, now;
  unsigned limits = 0;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(limits);
    if (!ends_hundred() || limits == 3) continue;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec > w.wait_ns / 5) {
      ++limits;
      begun = now;
    }
  }
}

// The other function asks a file that another thread makes readable.
static int event;
static void* signal_event(void* unused) {
  const uint64_t one = 1;
  for (int i = 0; i < 8; ++i) {
    sleep_us(w.wait_ns / 9000);
    if (write(event, &one, sizeof one) != sizeof one) _exit(9);
  }
  return unused;
}

static int reads_event_in_hundreds(void) {
  uint64_t got = 0, sum = 0;
  event = eventfd(0, EFD_NONBLOCK);
  in_thread(signal_event);
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(sum);
    if (ends_hundred() && read(event, &got, sizeof got) == sizeof got) sum = sum * 31 + got + turns;
  }
}

// A byte that the other function writes before it has read it, and that another thread sets back.
static volatile uint8_t mark;
static void* set_back(void* unused) {
  for (int i = 0; i < 30; ++i) {
    sleep_us(w.wait_ns / 30000);
    changes = changes * 3 + mark;
    mark = 0;
  }
  return unused;
}

static int marks_in_hundreds(void) {
  in_thread(set_back);
  for (;;) {
    if (POLL(w.idle[0]) != 0 || POLL(w.cq) != 0) return result(changes * 2 + mark);
    if (ends_hundred()) mark = 1;
  }
}

// The other function's byte differs from poll to poll of a turn.
static int alternates_in_hundreds(void) {
  static volatile uint8_t phase;
  in_thread(set_back);
  for (;;) {
    phase = 1;
    if (POLL(w.idle[0]) != 0) return -1;
    phase = 2;
    mark = phase;
    if (POLL(w.cq) != 0) return result(changes * 2 + phase);
    ends_hundred();
  }
}

const struct wait_case kContinuedCases[] = {{"in_hundreds", in_hundreds},
                                            {"mirror_in_hundreds", mirror_in_hundreds},
                                            {"code_in_hundreds", code_in_hundreds},
                                            {"rewritten_in_hundreds", rewritten_in_hundreds},
                                            {"counter_used_in_hundreds", counter_used_in_hundreds},
                                            {"other_process_in_hundreds", other_process_in_hundreds},
                                            {"mapped_anew_in_hundreds", mapped_anew_in_hundreds},
                                            {"seen_in_hundreds", seen_in_hundreds},
                                            {"two_threads_in_hundreds", two_threads_in_hundreds},
                                            {"signalled_in_hundreds", signalled_in_hundreds},
                                            {"average_in_hundreds", average_in_hundreds},
                                            {"limited_in_hundreds", limited_in_hundreds},
                                            {"reads_event_in_hundreds", reads_event_in_hundreds},
                                            {"marks_in_hundreds", marks_in_hundreds},
                                            {"alternates_in_hundreds", alternates_in_hundreds},
                                            {NULL, NULL}};
