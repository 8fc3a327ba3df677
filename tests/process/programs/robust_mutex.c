// A thread ends while it holds robust mutexes: the next owner gets EOWNERDEAD, and makes them consistent or not.
#include <pthread.h>

#include "tests/process/expect.h"

static pthread_mutex_t mutexes[2];
static void* take_and_end(void* unused) {
  EXPECT(pthread_mutex_lock(&mutexes[0]) == 0 && pthread_mutex_lock(&mutexes[1]) == 0);
  sleep_ms(300);
  return unused;
}

int main(void) {
  for (int inherit = 0; inherit < 2; ++inherit) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, inherit ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
    for (int i = 0; i < 2; ++i) EXPECT(pthread_mutex_init(&mutexes[i], &attributes) == 0);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, take_and_end, NULL) == 0);
    sleep_ms(60);
    EXPECT(pthread_mutex_trylock(&mutexes[1]) == EBUSY);
    EXPECT(pthread_mutex_lock(&mutexes[0]) == EOWNERDEAD && pthread_mutex_consistent(&mutexes[0]) == 0);
    EXPECT(pthread_mutex_unlock(&mutexes[0]) == 0 && pthread_mutex_lock(&mutexes[0]) == 0);
    EXPECT(pthread_mutex_lock(&mutexes[1]) == EOWNERDEAD && pthread_mutex_unlock(&mutexes[1]) == 0);
    EXPECT(pthread_mutex_lock(&mutexes[1]) == ENOTRECOVERABLE);
    EXPECT(pthread_join(thread, NULL) == 0);
    printf("robust, inherit %d: done\n", inherit);
  }
  return 0;
}
