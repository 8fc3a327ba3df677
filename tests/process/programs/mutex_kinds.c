// Mutexes: normal, recursive, error-checking, adaptive, priority-inheriting, with deadlines.
#include <pthread.h>

#include "tests/process/expect.h"

static pthread_mutex_t mutex;
static int counter;

static void* count(void* unused) {
  (void)unused;
  for (int i = 0; i < 200; ++i) {
    EXPECT(pthread_mutex_lock(&mutex) == 0);
    const int before = counter;
    if (i % 50 == 0) sleep_ms(1);
    counter = before + 1;
    EXPECT(pthread_mutex_unlock(&mutex) == 0);
  }
  return NULL;
}

static void* try_in_vain(void* result) {
  const struct timespec soon = in_ms(CLOCK_REALTIME, 10);
  *(int*)result = pthread_mutex_timedlock(&mutex, &soon);
  return NULL;
}

int main(void) {
  const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                       PTHREAD_MUTEX_ADAPTIVE_NP};
  for (int inherit = 0; inherit < 2; ++inherit) {
    for (int k = 0; k < 4; ++k) {
      pthread_mutexattr_t attributes;
      pthread_mutexattr_init(&attributes);
      EXPECT(pthread_mutexattr_settype(&attributes, kinds[k]) == 0);
      EXPECT(pthread_mutexattr_setprotocol(&attributes, inherit ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE) ==
             0);
      EXPECT(pthread_mutex_init(&mutex, &attributes) == 0);
      counter = 0;
      pthread_t threads[4], late;
      for (int i = 0; i < 4; ++i) EXPECT(pthread_create(&threads[i], NULL, count, NULL) == 0);
      for (int i = 0; i < 4; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
      EXPECT(counter == 800 && pthread_mutex_lock(&mutex) == 0);
      if (kinds[k] == PTHREAD_MUTEX_RECURSIVE)
        EXPECT(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
      if (kinds[k] == PTHREAD_MUTEX_ERRORCHECK) EXPECT(pthread_mutex_lock(&mutex) == EDEADLK);
      int result = 0;
      EXPECT(pthread_create(&late, NULL, try_in_vain, &result) == 0 && pthread_join(late, NULL) == 0);
      printf("kind %d inherit %d: %d, then %s\n", kinds[k], inherit, counter, strerrorname_np(result));
      EXPECT(pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_destroy(&mutex) == 0);
    }
  }
  return 0;
}
