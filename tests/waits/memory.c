// Loops that look at memory, with polls and without.
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

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

// Finds the arrived one of thousands of notifications, like GASPI's gaspi_notify_waitsome.
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

// Ends after so many turns, in no virtual time.
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
                                         {NULL, NULL}};
