// Readers and writers, barriers, conditions by either clock, semaphores with deadlines, once, thread-specific
// data.
#include <pthread.h>
#include <semaphore.h>

#include "tests/process/expect.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int shared, initialised, destroyed, serial;

static void initialise(void) { ++initialised; }
static void destroy(void* value) { __atomic_add_fetch(&destroyed, (int)(intptr_t)value, __ATOMIC_SEQ_CST); }
static void* work(void* number) {
  EXPECT(pthread_once(&once, initialise) == 0 && pthread_setspecific(key, number) == 0);
  for (int round = 0; round < 3; ++round) {
    if ((intptr_t)number % 2 == 0) {
      EXPECT(pthread_rwlock_wrlock(&lock) == 0);
      const int before = shared;
      sleep_ms(1);
      shared = before + 1;
    } else {
      EXPECT(pthread_rwlock_rdlock(&lock) == 0);
      const int before = shared;
      sleep_ms(1);
      EXPECT(shared == before);
    }
    EXPECT(pthread_rwlock_unlock(&lock) == 0);
    const int result = pthread_barrier_wait(&barrier);
    EXPECT(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    if (result != 0) ++serial;
  }
  return NULL;
}
static void* too_late(void* unused) {
  const struct timespec soon = in_ms(CLOCK_REALTIME, 5);
  EXPECT(pthread_rwlock_timedrdlock(&lock, &soon) == ETIMEDOUT && pthread_rwlock_tryrdlock(&lock) == EBUSY);
  return unused;
}

int main(void) {
  EXPECT(pthread_barrier_init(&barrier, NULL, 6) == 0 && pthread_key_create(&key, destroy) == 0);
  pthread_t threads[6], late;
  for (intptr_t i = 0; i < 6; ++i) EXPECT(pthread_create(&threads[i], NULL, work, (void*)(i + 1)) == 0);
  for (int i = 0; i < 6; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  printf("shared %d serial %d once %d destroyed %d\n", shared, serial, initialised, destroyed);
  EXPECT(pthread_rwlock_wrlock(&lock) == 0 && pthread_create(&late, NULL, too_late, NULL) == 0);
  EXPECT(pthread_join(late, NULL) == 0 && pthread_rwlock_unlock(&lock) == 0);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wall = PTHREAD_COND_INITIALIZER, steady;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  EXPECT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
         pthread_cond_init(&steady, &attributes) == 0);
  EXPECT(pthread_mutex_lock(&mutex) == 0);
  struct timespec then = in_ms(CLOCK_REALTIME, 10);
  EXPECT(pthread_cond_timedwait(&wall, &mutex, &then) == ETIMEDOUT);
  then = in_ms(CLOCK_MONOTONIC, 10);
  EXPECT(pthread_cond_timedwait(&steady, &mutex, &then) == ETIMEDOUT);
  then = in_ms(CLOCK_MONOTONIC, 10);
  EXPECT(pthread_cond_clockwait(&wall, &mutex, CLOCK_MONOTONIC, &then) == ETIMEDOUT);
  sem_t semaphore;
  EXPECT(sem_init(&semaphore, 0, 1) == 0 && sem_wait(&semaphore) == 0 && sem_trywait(&semaphore) == -1 &&
         errno == EAGAIN);
  then = in_ms(CLOCK_REALTIME, 10);
  EXPECT(sem_timedwait(&semaphore, &then) == -1 && errno == ETIMEDOUT);
  printf("timed waits: done\n");
  return 0;
}
