// Loops that count, and loops that end after a number of turns: their state does not recur.
#include <stdatomic.h>
#include <time.h>

#include "tests/waits/waits.h"

static int local_counter(void) {
  uint64_t polls = 0;
  while (POLL(w.cq) == 0) ++polls;
  return (int)polls;
}

static int volatile_counter(void) {
  volatile unsigned polls = 0;
  while (POLL(w.cq) == 0) ++polls;
  return (int)polls;
}

static unsigned global;
static int global_counter(void) {
  while (POLL(w.cq) == 0) ++global;
  return (int)global;
}

static struct {
  uint64_t polls, empty, batches;
  uint32_t turns;
} statistics;
static int statistics_of_process(void) {
  for (;;) {
    ++statistics.polls;
    ++statistics.turns;
    const int n = POLL(w.cq);
    if (n > 0) {
      ++statistics.batches;
      return (int)(statistics.polls + statistics.empty + statistics.turns + statistics.batches);
    }
    ++statistics.empty;
  }
}

static __thread volatile uint64_t polls_of_thread, empty_of_thread;
static int statistics_of_thread(void) {
  do {
    ++polls_of_thread;
    ++empty_of_thread;
  } while (POLL(w.cq) == 0);
  return (int)(polls_of_thread + empty_of_thread);
}

static atomic_ulong total;
static int atomic_counter(void) {
  while (POLL(w.cq) == 0) atomic_fetch_add(&total, 1);
  return (int)atomic_load(&total);
}

static int by_three(void) {
  unsigned long sum = 0, count = 1;
  while (POLL(w.cq) == 0) {
    sum += 3;
    count += 2;
  }
  return (int)(sum * 7 + count);
}

static int counts_down(void) {
  long left = 1000000000;
  while (POLL(w.cq) == 0 && --left > 0) continue;
  return (int)left;
}

static int up_to_a_limit(void) {
  for (int i = 0; i < 1000000000; ++i) {
    if (POLL(w.cq) != 0) return i;
  }
  return -1;
}

// The timeout expires first, repeatedly.
static int gives_up(void) {
  int times = 0;
  for (;;) {
    ++times;
    for (unsigned i = 0; i < 5000; ++i) {
      if (POLL(w.cq) != 0) return times;
    }
  }
}

static int sometimes_looks_elsewhere(void) {
  unsigned i = 0;
  while (POLL(w.cq) == 0) {
    if ((++i & 1023) == 0 && POLL(w.idle[0]) != 0) return -1;
  }
  return (int)i;
}

static int signed_counter(void) {
  int64_t credits = -4000000000ll;
  while (POLL(w.cq) == 0 && credits < 4000000000ll) credits += 2;
  return (int)credits;
}

static int counter_of_a_ring(void) {
  struct ibv_cq* const ring[2] = {w.idle[0], w.cq};
  uint64_t polls[2] = {0, 0};
  for (;;) {
    for (int i = 0; i < 2; ++i) {
      ++polls[i];
      if (POLL(ring[i]) != 0) return (int)(polls[0] * 2 + polls[1]);
    }
  }
}

static struct {
  volatile uint64_t polls;
  volatile int is_done;
} watched;
static volatile uint64_t seen[4];
static void* watch(void* unused) {
  for (int i = 0; i < 4; ++i) {
    sleep_as_long();
    seen[i] = watched.polls;
  }
  watched.is_done = 1;
  return unused;
}
// Another thread reads the counter meanwhile.
static int watched_counter(void) {
  in_thread(watch);
  int n = 0;
  while (!watched.is_done) {
    ++watched.polls;
    n += POLL(n == 0 ? w.cq : w.idle[0]);
  }
  return (int)(seen[0] + 3 * seen[1] + 5 * seen[2] + 7 * seen[3] + watched.polls);
}

// The other end reads and writes the counter meanwhile; see main.c.
static int counter_used_by_the_other_end(void) {
  volatile uint64_t* const counter = (volatile uint64_t*)((volatile char*)w.flag + kCounterOffset);
  while (POLL(w.cq) == 0) ++*counter;
  return (int)*counter;
}

static int random_queue(void) {
  struct ibv_cq* const queues[4] = {w.idle[0], w.cq, w.idle[1], w.idle[2]};
  uint32_t state = 1, n = 0;
  for (;;) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    ++n;
    if (POLL(queues[state & 3]) != 0) return (int)n;
  }
}

static volatile int is_set, is_marked;
static volatile unsigned all_polls;

static void* set_repeatedly(void* unused) {
  for (unsigned random = 12345;;) {
    random = random * 1103515245u + 12345u;
    const struct timespec time = {0, 1 + (random >> 8) % 90000};
    nanosleep(&time, NULL);
    is_set = 1;
  }
  return unused;
}

// Each 512th poll marks the present wait, and many waits are shorter.
static int marks_some_waits(void) {
  unsigned marks = 0;
  in_thread(set_repeatedly);
  for (;;) {
    is_marked = 0;
    while (!is_set) {
      if (POLL(w.cq) != 0) return (int)marks;
      all_polls = all_polls + 1;
      if (all_polls % 512 == 0) is_marked = 1;
    }
    is_set = 0;
    marks = marks * 31 + (unsigned)is_marked;
  }
}

const struct wait_case kCounterCases[] = {{"local_counter", local_counter},
                                          {"volatile_counter", volatile_counter},
                                          {"global_counter", global_counter},
                                          {"statistics_of_process", statistics_of_process},
                                          {"statistics_of_thread", statistics_of_thread},
                                          {"atomic_counter", atomic_counter},
                                          {"by_three", by_three},
                                          {"counts_down", counts_down},
                                          {"up_to_a_limit", up_to_a_limit},
                                          {"gives_up", gives_up},
                                          {"sometimes_looks_elsewhere", sometimes_looks_elsewhere},
                                          {"signed_counter", signed_counter},
                                          {"counter_of_a_ring", counter_of_a_ring},
                                          {"watched_counter", watched_counter},
                                          {"counter_used_by_the_other_end", counter_used_by_the_other_end},
                                          {"random_queue", random_queue},
                                          {"marks_some_waits", marks_some_waits},
                                          {NULL, NULL}};
