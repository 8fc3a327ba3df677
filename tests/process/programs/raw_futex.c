// futex(2) itself: compared waits, requeued waiters, FUTEX_WAKE_OP, masks, errors.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

static uint32_t words[2];
static int woken;

static long futex(uint32_t* word, int operation, uint32_t value, void* timeout, uint32_t* other,
                  uint32_t last) {
  return syscall(SYS_futex, word, operation, value, timeout, other, last);
}
static void* sleeper(void* mask) {
  EXPECT(futex(&words[0], FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, (uint32_t)(uintptr_t)mask) == 0);
  __atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

int main(void) {
  EXPECT(futex(&words[0], FUTEX_WAIT, 5, NULL, NULL, 0) == -1 && errno == EAGAIN);
  struct timespec brief = {0, 5000000};
  EXPECT(futex(&words[0], FUTEX_WAIT_PRIVATE, 0, &brief, NULL, 0) == -1 && errno == ETIMEDOUT);
  EXPECT(futex((uint32_t*)((char*)words + 1), FUTEX_WAKE, 1, NULL, NULL, 0) == -1 && errno == EINVAL);
  EXPECT(futex(&words[0], FUTEX_WAKE_BITSET, 1, NULL, NULL, 0) == -1 && errno == EINVAL);
  pthread_t threads[6];
  for (uintptr_t i = 0; i < 6; ++i)
    EXPECT(pthread_create(&threads[i], NULL, sleeper, (void*)(i < 2 ? 1 : 6ul)) == 0);
  sleep_ms(20);
  EXPECT(futex(&words[0], FUTEX_WAKE_BITSET_PRIVATE, 10, NULL, NULL, 8) == 0);
  EXPECT(futex(&words[0], FUTEX_WAKE_BITSET_PRIVATE, 10, NULL, NULL, 1) == 2);
  EXPECT(futex(&words[0], FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)2, &words[1], 3) == -1 && errno == EAGAIN);
  EXPECT(futex(&words[0], FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)2, &words[1], 0) == 3);
  EXPECT(futex(&words[0], FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0) == 1);
  words[1] = 7;
  EXPECT(futex(&words[0], FUTEX_WAKE_OP_PRIVATE, 10, (void*)1, &words[1],
               FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 7)) == 1 &&
         words[1] == 10);
  EXPECT(futex(&words[0], FUTEX_WAKE_OP_PRIVATE, 10, (void*)1, &words[1],
               FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_GT, 100)) == 0 &&
         words[1] == 1);
  EXPECT(futex(&words[1], FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0) == 1);
  for (int i = 0; i < 6; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  printf("%d woken\n", woken);
  return 0;
}
