// Loops that only poll, in the arrangements of queues found in real programs.
#include <errno.h>
#include <string.h>

#include "tests/waits/waits.h"

static int plain(void) {
  while (POLL(w.cq) == 0) continue;
  return 0;
}

static int do_while(void) {
  int n;
  do {
    n = ibv_poll_cq(w.cq, 1, &w.wc);
  } while (n == 0);
  return n;
}

__attribute__((noinline)) static int sixteen(struct ibv_cq* cq) {
  struct ibv_wc completions[16];
  const int n = ibv_poll_cq(cq, 16, completions);
  for (int i = 0; i < n; ++i) {
    if (completions[i].status != IBV_WC_SUCCESS) return -1;
  }
  return n;
}

static int array(void) {
  int n;
  while ((n = sixteen(w.cq)) == 0) continue;
  return n;
}

static int zeroed(void) {
  struct ibv_wc completions[4];
  int n;
  do {
    memset(completions, 0, sizeof completions);
    n = ibv_poll_cq(w.cq, 4, completions);
  } while (n == 0);
  return n;
}

static int all_bytes(void) {
  struct ibv_wc completion;
  do {
    memset(&completion, 0xff, sizeof completion);
  } while (ibv_poll_cq(w.cq, 1, &completion) == 0);
  return completion.wr_id == 7;
}

static int ring_of_two(void) {
  while (1) {
    if (POLL(w.idle[0]) != 0) return 1;
    if (POLL(w.cq) != 0) return 0;
  }
}

static int ring_by_mask(void) {
  struct ibv_cq* ring[4] = {w.idle[0], w.idle[1], w.cq, w.idle[2]};
  unsigned i = 0;
  for (; POLL(ring[i]) == 0; i = (i + 1) & 3) continue;
  return (int)i;
}

static int ring_by_remainder(void) {
  struct ibv_cq* ring[3] = {w.idle[0], w.cq, w.idle[1]};
  unsigned i = 0;
  for (; POLL(ring[i % 3]) == 0; i = (i + 1) % 3) continue;
  return (int)i;
}

static int ring_that_counts(void) {
  struct ibv_cq* ring[4] = {w.idle[0], w.idle[1], w.cq, w.idle[2]};
  unsigned i = 0;
  for (; POLL(ring[i % 4]) == 0; ++i) continue;
  return (int)i;
}

static int all_in_turn(void) {
  struct ibv_cq* const queues[] = {w.idle[0], w.idle[1], w.idle[2], w.idle[3], w.idle[4], w.idle[5], w.cq};
  int found = 0;
  while (found == 0) {
    for (int i = 0; i < 7; ++i) found += POLL(queues[i]);
  }
  return found;
}

static int first_that_has(void) {
  struct ibv_cq* const queues[] = {w.idle[0], w.cq, w.idle[1]};
  for (;;) {
    for (int i = 0; i < 3; ++i) {
      if (POLL(queues[i]) > 0) return i;
    }
  }
}

struct connection {
  struct connection* next;
  struct ibv_cq* cq;
  int is_open;
};

static int list_of_connections(void) {
  struct connection c = {NULL, w.cq, 1}, b = {&c, w.idle[0], 0}, a = {&b, w.idle[1], 1};
  for (;;) {
    for (struct connection* at = &a; at != NULL; at = at->next) {
      if (at->is_open && POLL(at->cq) > 0) return at == &c;
    }
  }
}

static int nothing_to_do(void) { return 0; }
static int look_at_queue(void) { return POLL(w.cq); }

static int table_of_functions(void) {
  int (*volatile const steps[3])(void) = {nothing_to_do, look_at_queue, nothing_to_do};
  for (;;) {
    for (int i = 0; i < 3; ++i) {
      if (steps[i]() != 0) return i;
    }
  }
}

static int state_machine(void) {
  enum { kLook, kIdle, kLookAgain } state = kLook;
  for (;;) {
    switch (state) {
      case kLook:
        if (POLL(w.cq) > 0) return 1;
        state = kIdle;
        break;
      case kIdle:
        state = *w.flag != 0 ? kLook : kLookAgain;
        break;
      case kLookAgain:
        if (POLL(w.idle[0]) > 0) return 2;
        state = kLook;
        break;
    }
  }
}

static int pauses(void) {
  while (POLL(w.cq) == 0) {
    for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
  }
  return 0;
}

static int errno_is_looked_at(void) {
  errno = 0;
  while (POLL(w.cq) == 0 && errno == 0) continue;
  return errno;
}

static __thread volatile int stop;
static int stop_of_thread(void) {
  while (POLL(w.cq) == 0 && !stop) continue;
  return stop;
}

static int extended(void) {
  struct ibv_cq_init_attr_ex attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.cqe = 4;
  struct ibv_cq_ex* const cq = ibv_create_cq_ex(w.context, &attributes);
  if (cq == NULL) return -1;
  struct ibv_poll_cq_attr none;
  memset(&none, 0, sizeof none);
  for (;;) {
    if (ibv_start_poll(cq, &none) != ENOENT) return 1;
    if (*w.flag != 0) return 0;
  }
}

__attribute__((noinline)) static int deep(int depth) { return depth == 0 ? POLL(w.cq) : deep(depth - 1) + (depth < 0); }
static int recursion(void) {
  while (deep(20) == 0) continue;
  return 0;
}

const struct wait_case kPollCases[] = {{"plain", plain},
                                       {"do_while", do_while},
                                       {"array", array},
                                       {"zeroed", zeroed},
                                       {"all_bytes", all_bytes},
                                       {"ring_of_two", ring_of_two},
                                       {"ring_by_mask", ring_by_mask},
                                       {"ring_by_remainder", ring_by_remainder},
                                       {"ring_that_counts", ring_that_counts},
                                       {"all_in_turn", all_in_turn},
                                       {"first_that_has", first_that_has},
                                       {"list_of_connections", list_of_connections},
                                       {"table_of_functions", table_of_functions},
                                       {"state_machine", state_machine},
                                       {"pauses", pauses},
                                       {"errno", errno_is_looked_at},
                                       {"stop_of_thread", stop_of_thread},
                                       {"extended", extended},
                                       {"recursion", recursion},
                                       {NULL, NULL}};
