// Loops of kept_test.cc; see loops.h.
#include "tests/spin/loops.h"

namespace LOOPS {

static __attribute__((noinline)) bool is_below(const volatile int* value, int limit) {
  bool result;
  asm("cmpl %2, %1\n\tsetl %0" : "=r"(result) : "m"(*value), "r"(limit) : "cc");
  return result;
}

static __attribute__((noinline)) int add_if_below(const volatile int* value, unsigned limit) {
  int result = 1;
  asm("cmpl %2, %1\n\tadcl $0, %0" : "+r"(result) : "m"(*value), "r"(limit) : "cc");
  return result;
}

static __attribute__((noinline)) bool has_bit_0(const volatile int* value) {
  bool result;
  asm("testl $1, %1\n\tsetne %0" : "=r"(result) : "m"(*value) : "cc");
  return result;
}

// Credits are compared with a limit.
void poll_with_credits(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0 && is_below(&s->state, 16)) s->iterations = s->iterations + 1;
}

void poll_testing_a_bit(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0 && !has_bit_0(&s->state)) s->iterations = s->iterations + 1;
}

void poll_copying_credits(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0 && is_below(&s->state, 16)) {
    s->iterations = s->iterations + 1;
    s->lock = s->state;
  }
}

// The carry of the comparison is added.
void poll_carrying_credits(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) s->iterations = s->iterations + add_if_below(&s->state, 16);
}

// The limit grows.
void poll_with_moving_limit(LoopState* s) {
  for (int limit = 16; s->poll(s->cq[0], 1, s->wc) == 0 && is_below(&s->state, limit); ++limit)
    s->iterations = s->iterations + 1;
}

// In the tenth poll of each ten, and otherwise in each eightieth.
void poll_deviating(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->counter = s->counter + 1;
    if (s->counter % 10 != 0) continue;
    const long calls = s->iterations;
    s->iterations = calls + 1;
    if ((calls & 7) == 0) s->toggle = s->toggle + 1;
  }
}

void poll_comparing_counters(LoopState* s) {
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    s->counter = s->counter + 1;
    s->iterations = s->iterations + 1;
    if (s->counter < s->iterations) break;
  }
}

// The count of this wait is in a register, and that of all waits in memory.
void poll_comparing_with_memory(LoopState* s) {
  for (long count = 0; s->poll(s->cq[0], 1, s->wc) == 0; ++count) {
    asm("" : "+r"(count));
    s->counter = s->counter + 1;
    if (s->counter > count + 100) break;
  }
}

// Both counts are in registers.
void poll_comparing_registers(LoopState* s) {
  long count = 0, all = s->counter;
  while (s->poll(s->cq[0], 1, s->wc) == 0) {
    ++count, ++all;
    asm("" : "+r"(count), "+r"(all));
    if (all > count + 100) break;
  }
}

}  // namespace LOOPS
