// Loops that read memory, with polls and without.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/waits/waits.h"

static int flag(void) {
  while (*w.flag == 0) continue;
  return 0;
}

static int flag_and_pause(void) {
  while (*w.flag == 0) __builtin_ia32_pause();
  return 0;
}

static int flag_acquired(void) {
  while (atomic_load_explicit((_Atomic uint32_t*)w.flag, memory_order_acquire) == 0) continue;
  return 0;
}

static int flag_and_yield(void) {
  while (*w.flag == 0) sched_yield();
  return 0;
}

static int flag_and_poll(void) {
  while (*w.flag == 0 && POLL(w.idle[0]) == 0) continue;
  return 0;
}

static int block_of_memory(void) {
  static const char zeroes[64];
  while (memcmp((const char*)w.flag, zeroes, sizeof zeroes) == 0) __asm__ volatile("" ::: "memory");
  return 0;
}

static int mailboxes(void) {
  for (;;) {
    for (int i = 7; i >= 0; --i) {
      if (w.flag[16 * i] != 0) return i;
    }
  }
}

// Finds the first byte that is not zero.
static int scan(void) {
  for (;;) {
    unsigned char any = 0;
    for (int i = 0; i < 256; ++i) any |= ((volatile unsigned char*)w.flag)[i];
    if (any != 0) return any;
  }
}

// Finds the one notification of thousands that has arrived, like GASPI's gaspi_notify_waitsome.
static int notifications(void) {
  static volatile uint32_t others[1 << 16];
  for (;;) {
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; ++i) {
      if (others[i] != 0) return (int)i;
    }
    if (*w.flag != 0) return -1;
  }
}

static int sum(void) {
  const uint32_t* const words = (const uint32_t*)w.flag;
  uint32_t total;
  do {
    total = 0;
    for (int i = 0; i < 64; ++i) total += words[i];
    __asm__ volatile("" ::: "memory");
  } while (total == 0);
  return (int)total;
}

// Ends after a number of turns, in no virtual time.
static int flag_for_some_turns(void) {
  unsigned long turns = 0;
  while (POLL(w.cq) == 0) {
    for (int i = 0; i < 50 && *w.flag == 0; ++i) ++turns;
  }
  return (int)turns;
}

static _Atomic uint32_t step;
static void* advance(void* unused) {
  for (int i = 0; i < 3; ++i) {
    sleep_as_long();
    atomic_fetch_add(&step, 1);
  }
  return unused;
}
static int other_thread(void) {
  in_thread(advance);
  while (atomic_load(&step) < 3) __builtin_ia32_pause();
  return 0;
}

static int other_thread_and_poll(void) {
  in_thread(advance);
  while (atomic_load(&step) < 3) POLL(w.idle[1]);
  return 0;
}

static int compare_and_exchange_flag(void) {
  uint32_t one = 1;
  while (!atomic_compare_exchange_strong((_Atomic uint32_t*)w.flag, &one, 2)) one = 1;
  return (int)*w.flag;
}

// The message arrives at one address, and the loop reads it at another.
static int mirrored_flag(void) {
  while (*w.mirror == 0) continue;
  return 0;
}

static int mirrored_flag_and_polls(void) {
  for (;;) {
    if (POLL(w.idle[0]) != 0) return -1;
    if (*w.mirror != 0) return 1;
    if (POLL(w.idle[1]) != 0) return -1;
    if (*w.mirror != 0) return 2;
    if (POLL(w.idle[2]) != 0) return -1;
    if (*w.mirror != 0) return 3;
  }
}

// Finds at one address its store to the other.
static int stores_to_a_mirror(void) {
  const int file = memfd_create("mirror", 0);
  if (file < 0 || ftruncate(file, 4096) != 0) return -1;
  volatile int* const one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  volatile int* const other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int found = 0, missed = 0;
  for (;;) {
    *one = 1;
    if (*other == 1) ++found;
    else ++missed;
    *one = 2;
    if (POLL(w.cq) != 0) return 1000 * found + missed;
  }
}

// A byte has another value at each of the three polls, which another thread or process sees.
static volatile struct seen {
  int phase, is_over;
  unsigned seen;
} here, *shared;

static void look_repeatedly(volatile struct seen* at) {
  unsigned random = 12345;
  for (unsigned looks = 0; !at->is_over; ++looks) {
    random = random * 1103515245u + 12345u;
    const struct timespec time = {0, 1 + (random >> 8) % (looks < 10 ? 20000 : 400000)};
    nanosleep(&time, NULL);
    at->seen = 31 * at->seen + (unsigned)at->phase;
  }
}

static void* look(void* unused) {
  look_repeatedly(&here);
  return unused;
}

static int alternates(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, look, NULL) != 0) return -1;
  for (;;) {
    here.phase = 1;
    if (POLL(w.idle[0]) != 0) return -1;
    here.phase = 2;
    if (POLL(w.idle[1]) != 0) return -1;
    here.phase = 3;
    if (POLL(w.cq) != 0) break;
  }
  here.is_over = 1;
  pthread_join(thread, NULL);
  return (int)here.seen;
}

static pid_t child_that_looks(void) {
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = fork();
  if (child != 0) return child;
  look_repeatedly(shared);
  _exit(0);
}

static int seen_by(pid_t child) {
  shared->is_over = 1;
  return waitpid(child, NULL, 0) == child ? (int)shared->seen : -1;
}

static int alternates_in_shared_memory(void) {
  const pid_t child = child_that_looks();
  for (;;) {
    shared->phase = 1;
    if (POLL(w.idle[0]) != 0) return -1;
    shared->phase = 2;
    if (POLL(w.cq) != 0) return seen_by(child);
  }
}

static int alternates_between_clocks(void) {
  const pid_t child = child_that_looks();
  struct timespec now = {0, 0};
  while (now.tv_sec < 1000000) {
    shared->phase = 1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    shared->phase = 2;
    if (POLL(w.cq) != 0) return seen_by(child);
  }
  return -1;
}

// A coroutine on a small stack counts in the memory below it.
static struct {
  volatile int last;
  char stack[8192];
} small;
static ucontext_t caller, coroutine;
static void count_below_stack(void) {
  register int i = 0;  // not on the stack, at -O0 either
  do {
    i += 3;
    small.last = i;
  } while (POLL(w.cq) == 0);
}
static int counts_below_its_stack(void) {
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = small.stack;
  coroutine.uc_stack.ss_size = sizeof small.stack;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, count_below_stack, 0);
  swapcontext(&caller, &coroutine);
  return small.last;
}

const struct wait_case kMemoryCases[] = {{"flag", flag},
                                         {"flag_and_pause", flag_and_pause},
                                         {"flag_acquired", flag_acquired},
                                         {"flag_and_yield", flag_and_yield},
                                         {"flag_and_poll", flag_and_poll},
                                         {"block_of_memory", block_of_memory},
                                         {"mailboxes", mailboxes},
                                         {"scan", scan},
                                         {"notifications", notifications},
                                         {"sum", sum},
                                         {"flag_for_some_turns", flag_for_some_turns},
                                         {"other_thread", other_thread},
                                         {"other_thread_and_poll", other_thread_and_poll},
                                         {"compare_and_exchange_flag", compare_and_exchange_flag},
                                         {"mirrored_flag", mirrored_flag},
                                         {"mirrored_flag_and_polls", mirrored_flag_and_polls},
                                         {"stores_to_a_mirror", stores_to_a_mirror},
                                         {"alternates", alternates},
                                         {"alternates_in_shared_memory", alternates_in_shared_memory},
                                         {"alternates_between_clocks", alternates_between_clocks},
                                         {"counts_below_its_stack", counts_below_its_stack},
                                         {NULL, NULL}};
