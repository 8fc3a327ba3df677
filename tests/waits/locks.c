// Loops that take a lock in each turn.
#include <pthread.h>
#include <stdatomic.h>

#include "tests/waits/waits.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int with_mutex(void) {
  int n;
  do {
    pthread_mutex_lock(&mutex);
    n = POLL(w.cq);
    pthread_mutex_unlock(&mutex);
  } while (n == 0);
  return n;
}

static int with_trylock(void) {
  int n = 0;
  while (n == 0) {
    if (pthread_mutex_trylock(&mutex) != 0) continue;
    n = POLL(w.cq);
    pthread_mutex_unlock(&mutex);
  }
  return n;
}

static int with_recursive(void) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t recursive;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  int n;
  do {
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    n = POLL(w.cq);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
  } while (n == 0);
  return n;
}

static int with_spin_lock(void) {
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  int n;
  do {
    pthread_spin_lock(&lock);
    n = POLL(w.cq);
    pthread_spin_unlock(&lock);
  } while (n == 0);
  return n;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int with_rwlock(void) {
  int n;
  do {
    pthread_rwlock_rdlock(&rwlock);
    n = POLL(w.cq);
    pthread_rwlock_unlock(&rwlock);
  } while (n == 0);
  return n;
}

static atomic_int word;
static int with_cas(void) {
  int n;
  do {
    int free = 0;
    while (!atomic_compare_exchange_weak(&word, &free, 1)) free = 0;
    n = POLL(w.cq);
    atomic_store(&word, 0);
  } while (n == 0);
  return n;
}

static int with_exchange(void) {
  int n;
  do {
    while (atomic_exchange(&word, 1) != 0) continue;
    n = POLL(w.cq);
    atomic_store_explicit(&word, 0, memory_order_release);
  } while (n == 0);
  return n;
}

// The ticket numbers grow.
static atomic_uint next_ticket, now_serving;
static int with_tickets(void) {
  int n;
  do {
    const unsigned mine = atomic_fetch_add(&next_ticket, 1);
    while (atomic_load(&now_serving) != mine) continue;
    n = POLL(w.cq);
    atomic_fetch_add(&now_serving, 1);
  } while (n == 0);
  return (int)now_serving;
}

static void* hold_for_long(void* unused) {
  atomic_store(&word, 1);
  sleep_as_long();
  atomic_store(&word, 0);
  return unused;
}
// Another thread holds the lock.
static int waits_for_cas(void) {
  in_thread(hold_for_long);
  while (atomic_load(&word) == 0) POLL(w.idle[0]);
  int free = 0;
  while (!atomic_compare_exchange_weak(&word, &free, 2)) free = 0;
  while (POLL(w.cq) == 0) continue;
  return word;
}

static int waits_for_exchange(void) {
  in_thread(hold_for_long);
  while (atomic_load(&word) == 0) POLL(w.idle[0]);
  while (atomic_exchange(&word, 1) != 0) __builtin_ia32_pause();
  return word;
}

const struct wait_case kLockCases[] = {{"mutex", with_mutex},
                                       {"trylock", with_trylock},
                                       {"recursive_mutex", with_recursive},
                                       {"spin_lock", with_spin_lock},
                                       {"rwlock", with_rwlock},
                                       {"cas", with_cas},
                                       {"exchange", with_exchange},
                                       {"tickets", with_tickets},
                                       {"waits_for_cas", waits_for_cas},
                                       {"waits_for_exchange", waits_for_exchange},
                                       {NULL, NULL}};
