// Threads and everything of pthreads and semaphores that waits, with and without a deadline.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "expect.h"

enum { kThreads = 8, kRounds = 100 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_key_t key;
static sem_t semaphore;
static long counter, turn, readers, readers_max, destroyed;
static __thread long local;

static void join(pthread_t thread, intptr_t expected) {
  void* result;
  EXPECT(pthread_join(thread, &result) == 0);
  EXPECT((intptr_t)result == expected);
}

static pthread_t start(void* (*body)(void*), intptr_t argument) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, body, (void*)argument) == 0);
  return thread;
}

// A read-modify-write with a wait in the middle: any lapse of the mutex loses a count.
static void* count(void* argument) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    const long before = counter;
    if (i % 10 == 0) usleep(10);
    counter = before + 1;
    pthread_mutex_unlock(&mutex);
  }
  return argument;
}

static void* take_turns(void* argument) {
  const long me = (intptr_t)argument;
  for (int round = 0; round < 20; ++round) {
    pthread_mutex_lock(&mutex);
    while (turn % kThreads != me) pthread_cond_wait(&condition, &mutex);
    ++turn;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  }
  return argument;
}

static void* meet(void* argument) {
  long serial = 0;
  for (int round = 0; round < 10; ++round) {
    __atomic_add_fetch(&counter, 1, __ATOMIC_SEQ_CST);
    serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    EXPECT(counter == (round + 1) * kThreads);
    serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  }
  __atomic_add_fetch(&turn, serial, __ATOMIC_SEQ_CST);
  return argument;
}

static void* read_or_write(void* argument) {
  const long me = (intptr_t)argument;
  for (int i = 0; i < 20; ++i) {
    if (me % 4 == 0) {
      EXPECT(pthread_rwlock_wrlock(&rwlock) == 0);
      EXPECT(readers == 0);
      const long before = counter;
      usleep(20);
      counter = before + 1;
    } else {
      EXPECT(pthread_rwlock_rdlock(&rwlock) == 0);
      const long now = __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
      if (now > readers_max) readers_max = now;
      usleep(30);
      __atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    }
    EXPECT(pthread_rwlock_unlock(&rwlock) == 0);
    usleep(10);
  }
  return argument;
}

static void* post_later(void* argument) {
  sleep_ms((intptr_t)argument);
  EXPECT(sem_post(&semaphore) == 0);
  return NULL;
}

static void* signal_later(void* argument) {
  sleep_ms((intptr_t)argument);
  pthread_mutex_lock(&mutex);
  turn = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* hold_mutex(void* argument) {
  pthread_mutex_lock(&mutex);
  sleep_ms((intptr_t)argument);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void destroy(void* value) { destroyed += (intptr_t)value; }

static void* keep_local(void* argument) {
  local = (intptr_t)argument;
  pthread_setspecific(key, argument);
  sleep_ms(1);
  EXPECT(local == (intptr_t)argument && pthread_getspecific(key) == argument);
  return argument;
}

static void run_all(void* (*body)(void*)) {
  pthread_t threads[kThreads];
  counter = turn = readers = 0;
  for (int i = 0; i < kThreads; ++i) threads[i] = start(body, i);
  for (int i = 0; i < kThreads; ++i) join(threads[i], i);
}

// A wait without a wake-up lasts as long as requested.
static void expect_timed_out(int error, int64_t since, long ms) {
  EXPECT(error == ETIMEDOUT);
  EXPECT(now_ns() - since >= ms * 1000000ll - 1000000);
}

static void timed_waits(void) {
  struct timespec then = in_ms(CLOCK_REALTIME, 20);
  int64_t since = now_ns();
  pthread_mutex_lock(&mutex);
  expect_timed_out(pthread_cond_timedwait(&condition, &mutex, &then), since, 20);
  then = in_ms(CLOCK_MONOTONIC, 20);
  since = now_ns();
  expect_timed_out(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &then), since, 20);
  pthread_mutex_unlock(&mutex);

  sem_init(&semaphore, 0, 0);
  EXPECT(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
  then = in_ms(CLOCK_REALTIME, 20);
  since = now_ns();
  EXPECT(sem_timedwait(&semaphore, &then) == -1);
  expect_timed_out(errno, since, 20);
  pthread_t other = start(post_later, 10);
  then = in_ms(CLOCK_REALTIME, 2000);
  since = now_ns();
  EXPECT(sem_timedwait(&semaphore, &then) == 0);
  EXPECT(now_ns() - since < 1500000000);
  join(other, 0);

  turn = 0;
  other = start(signal_later, 10);
  then = in_ms(CLOCK_REALTIME, 2000);
  pthread_mutex_lock(&mutex);
  while (turn == 0) EXPECT(pthread_cond_timedwait(&condition, &mutex, &then) == 0);
  pthread_mutex_unlock(&mutex);
  join(other, 0);

  other = start(hold_mutex, 60);
  sleep_ms(10);
  EXPECT(pthread_mutex_trylock(&mutex) == EBUSY);
  then = in_ms(CLOCK_REALTIME, 20);
  since = now_ns();
  expect_timed_out(pthread_mutex_timedlock(&mutex, &then), since, 20);
  EXPECT(pthread_mutex_lock(&mutex) == 0);
  pthread_mutex_unlock(&mutex);
  join(other, 0);
}

int main(void) {
  run_all(count);
  printf("mutex: %ld\n", counter);
  run_all(take_turns);
  printf("condition: %ld turns\n", turn);
  EXPECT(pthread_barrier_init(&barrier, NULL, kThreads) == 0);
  run_all(meet);
  printf("barrier: %ld arrivals, %ld of them serial\n", counter, turn);
  run_all(read_or_write);
  EXPECT(readers_max > 1);
  printf("rwlock: %ld writes\n", counter);
  EXPECT(pthread_key_create(&key, destroy) == 0);
  run_all(keep_local);
  printf("thread-specific: %ld\n", destroyed);
  timed_waits();
  printf("timed waits: done\n");

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t detached;
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i < 400; ++i) {  // more than there are slots at once
    EXPECT(pthread_create(&detached, &attributes, post_later, NULL) == 0);
    EXPECT(sem_wait(&semaphore) == 0);
    if (i % 50 == 0) sleep_ms(1);
  }
  printf("detached: done\n");
  return 0;
}
