// For the small programs: another thread changes arguments of a call in memory while the call is blocked.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

struct change {
  pid_t caller;
  void (*change)(void);  // called when the caller sleeps
};

// A simulated thread is shown as asleep whenever another one runs; the pause lets it start its call.
static inline void await_sleep(pid_t tid) {
  sleep_ms(10);
  char name[64], line[512];
  snprintf(name, sizeof name, "/proc/self/task/%d/stat", tid);
  for (;;) {
    FILE* file = fopen(name, "r");
    EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL);
    fclose(file);
    const char* state = strrchr(line, ')');
    EXPECT(state != NULL);
    if (state[2] == 'S') return;
    sleep_ms(1);
  }
}

static inline void* make_change(void* argument) {
  const struct change* change = argument;
  await_sleep(change->caller);
  change->change();
  return NULL;
}

// Starts waiting for the calling thread's sleep. The caller's next call must be the one that blocks.
static inline pthread_t change_meanwhile(struct change* change, void (*function)(void)) {
  pthread_t thread;
  *change = (struct change){(pid_t)syscall(SYS_gettid), function};
  EXPECT(pthread_create(&thread, NULL, make_change, change) == 0);
  return thread;
}
