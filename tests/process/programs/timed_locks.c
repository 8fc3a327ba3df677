// Waits with timeouts: conditions, mutexes, semaphores, rwlocks, by both clocks, and deadlines that have
// passed already.
#include <pthread.h>
#include <semaphore.h>

#include "tests/process/expect.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, free_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER, monotonic;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;

static void* hold(void* argument) {
  EXPECT(pthread_mutex_lock(&mutex) == 0 && pthread_rwlock_wrlock(&lock) == 0);
  sem_post(argument);
  sleep_ms(1500);
  EXPECT(pthread_rwlock_unlock(&lock) == 0 && pthread_mutex_unlock(&mutex) == 0);
  return NULL;
}

#define TIMED(name, clock, call)                                                                         \
  do {                                                                                                   \
    const int64_t start = now_ns();                                                                      \
    const struct timespec until = in_ms(clock, 30);                                                      \
    const int result = call;                                                                             \
    const int64_t took = now_ns() - start;                                                               \
    printf("%s: %s, waited %d\n", name, result == -1 ? strerrorname_np(errno) : strerrorname_np(result), \
           took >= 29000000 && took < 300000000);                                                        \
  } while (0)

int main(void) {
  sem_t ready;
  EXPECT(sem_init(&ready, 0, 0) == 0 && sem_init(&semaphore, 0, 0) == 0);
  pthread_condattr_t attributes;
  EXPECT(pthread_condattr_init(&attributes) == 0 &&
         pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
  EXPECT(pthread_cond_init(&monotonic, &attributes) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, hold, &ready) == 0 && sem_wait(&ready) == 0);
  TIMED("mutex", CLOCK_REALTIME, pthread_mutex_timedlock(&mutex, &until));
  TIMED("mutex by clock", CLOCK_MONOTONIC, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until));
  TIMED("semaphore", CLOCK_REALTIME, sem_timedwait(&semaphore, &until));
  TIMED("semaphore by clock", CLOCK_MONOTONIC, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until));
  TIMED("to read", CLOCK_REALTIME, pthread_rwlock_timedrdlock(&lock, &until));
  TIMED("to write", CLOCK_MONOTONIC, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &until));
  EXPECT(pthread_mutex_lock(&free_mutex) == 0);
  TIMED("condition", CLOCK_REALTIME, pthread_cond_timedwait(&condition, &free_mutex, &until));
  TIMED("its own clock", CLOCK_MONOTONIC, pthread_cond_timedwait(&monotonic, &free_mutex, &until));
  TIMED("another clock", CLOCK_MONOTONIC,
        pthread_cond_clockwait(&condition, &free_mutex, CLOCK_MONOTONIC, &until));
  const struct timespec past = {1, 0}, wrong = {1, 1000000000};
  printf("over: %s", strerrorname_np(pthread_cond_timedwait(&condition, &free_mutex, &past)));
  printf(" %s", strerrorname_np(pthread_mutex_timedlock(&mutex, &past)));
  printf(" %s\n", strerrorname_np(pthread_mutex_timedlock(&mutex, &wrong)));
  EXPECT(pthread_join(thread, NULL) == 0);
  const struct timespec soon = in_ms(CLOCK_REALTIME, 1000);
  EXPECT(pthread_mutex_timedlock(&mutex, &soon) == 0 && pthread_rwlock_timedrdlock(&lock, &past) == 0);
  printf("free: taken\n");
  return 0;
}
