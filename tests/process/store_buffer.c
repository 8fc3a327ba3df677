// Visible orders of two threads' stores (x86-TSO), many times: prints the number of each outcome, "r0=0 r1=1 r2=0 r3=0:
// 17". The argument selects the instructions between a store and the following load, or another small test; see below.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

enum { kRounds = 200, kMostValues = 3, kRegisters = 4 };

static volatile int x, y;
static int seen[kRegisters];
static pthread_barrier_t meets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int sink;
static char text[8] = "text";

#define INLINE static inline __attribute__((always_inline))

INLINE int load_plain(volatile int* a, volatile int* b) { *a = 1; return *b; }
// A branch and a load of a constant lie in between.
INLINE int load_behind_branch(volatile int* a, volatile int* b) {
  *a = 1;
  if (sink != 0) return 2;
  return *b;
}
static __attribute__((noinline)) int value_of(volatile int* of) { return *of; }
INLINE int load_in_function(volatile int* a, volatile int* b) { *a = 1; return value_of(b); }
INLINE int load_behind_mfence(volatile int* a, volatile int* b) { *a = 1; __asm__ volatile("mfence" ::: "memory"); return *b; }
INLINE int load_behind_fence(volatile int* a, volatile int* b) { *a = 1; atomic_thread_fence(memory_order_seq_cst); return *b; }
INLINE int load_behind_exchange(volatile int* a, volatile int* b) { __atomic_exchange_n(a, 1, __ATOMIC_SEQ_CST); return *b; }
INLINE int load_behind_locked(volatile int* a, volatile int* b) {
  *a = 1;
  __atomic_add_fetch(&sink, 0, __ATOMIC_SEQ_CST);
  return *b;
}
INLINE int load_behind_mutex(volatile int* a, volatile int* b) {
  *a = 1;
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return *b;
}
INLINE int load_behind_library(volatile int* a, volatile int* b) { *a = 1; sink = (int)strlen(text) - 4; return *b; }
INLINE int load_behind_call(volatile int* a, volatile int* b) { *a = 1; return getpid() > 0 ? *b : 2; }
INLINE int load_behind_cpuid(volatile int* a, volatile int* b) {
  unsigned eax = 0, ebx, ecx = 0, edx;
  *a = 1;
  __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx)::"memory");
  return *b;
}

#define STORE_BUFFERING(between) \
  static void between##_first(void) { seen[0] = load_##between(&x, &y); } \
  static void between##_second(void) { seen[1] = load_##between(&y, &x); }
STORE_BUFFERING(plain)
STORE_BUFFERING(behind_branch)
STORE_BUFFERING(in_function)
STORE_BUFFERING(behind_mfence)
STORE_BUFFERING(behind_fence)
STORE_BUFFERING(behind_exchange)
STORE_BUFFERING(behind_locked)
STORE_BUFFERING(behind_mutex)
STORE_BUFFERING(behind_library)
STORE_BUFFERING(behind_call)
STORE_BUFFERING(behind_cpuid)

// Stores are seen in their order.
static void ordered_first(void) { x = 1, y = 1; }
static void ordered_second(void) { seen[0] = y, seen[1] = x; }
// A thread sees its own store while it waits.
static void forwarded_first(void) {
  x = 1;
  const int own = x, other = y;
  seen[0] = own, seen[1] = other;
}
static void forwarded_second(void) {
  y = 1;
  const int own = y, other = x;
  seen[2] = own, seen[3] = other;
}
// A thread's loads precede its later stores.
static void loads_first(void) { seen[0] = x, y = 1; }
static void loads_second(void) { seen[1] = y, x = 1; }

struct test {
  const char* name;
  void (*first)(void);
  void (*second)(void);
};
#define TEST(name) {#name, name##_first, name##_second}
static const struct test kTests[] = {TEST(plain), TEST(behind_branch), TEST(in_function), TEST(behind_mfence), TEST(behind_fence),
                                     TEST(behind_exchange), TEST(behind_locked), TEST(behind_mutex), TEST(behind_library),
                                     TEST(behind_call), TEST(behind_cpuid), TEST(ordered), TEST(forwarded), TEST(loads)};
static const struct test* test;

static void* second(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_barrier_wait(&meets);
    test->second();
    pthread_barrier_wait(&meets);
  }
  return unused;
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  for (size_t i = 0; i < sizeof kTests / sizeof *kTests; ++i) {
    if (strcmp(kTests[i].name, argv[1]) == 0) test = &kTests[i];
  }
  EXPECT(test != NULL);
  pthread_barrier_init(&meets, NULL, 2);
  static int count[kMostValues][kMostValues][kMostValues][kMostValues];
  pthread_t other;
  EXPECT(pthread_create(&other, NULL, second, NULL) == 0);
  for (int i = 0; i < kRounds; ++i) {
    x = y = 0;
    memset(seen, 0, sizeof seen);
    pthread_barrier_wait(&meets);
    test->first();
    pthread_barrier_wait(&meets);
    ++count[seen[0]][seen[1]][seen[2]][seen[3]];
    EXPECT(x == 1 && y == 1);
  }
  pthread_join(other, NULL);
  for (int i = 0; i < kMostValues * kMostValues * kMostValues * kMostValues; ++i) {
    const int r0 = i / 27, r1 = i / 9 % 3, r2 = i / 3 % 3, r3 = i % 3;
    if (count[r0][r1][r2][r3] != 0) printf("r0=%d r1=%d r2=%d r3=%d: %d\n", r0, r1, r2, r3, count[r0][r1][r2][r3]);
  }
  return 0;
}
