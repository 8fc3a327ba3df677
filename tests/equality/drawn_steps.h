// Programs of random steps that end in one number: what to do next, and what they have seen so far.
#pragma once

#include <stdint.h>

static uint64_t state;  // of the random numbers; set once by the program
// 0 to n - 1.
static inline uint32_t draw(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

static uint64_t seen = 1469598103934665603u;
static inline void see(uint64_t value) { seen = (seen ^ value) * 1099511628211u; }
