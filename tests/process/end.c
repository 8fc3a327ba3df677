// Ends as its arguments say: `end exit 3`, `end signal 11`, `end segv`, `end abort`, `end thread 5`.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "expect.h"

static void* leave(void* code) { exit((int)(intptr_t)code); }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  const int value = argc > 2 ? atoi(argv[2]) : 0;
  printf("before the end");  // without a newline, and flushed by exit() only
  if (strcmp(how, "exit") == 0) exit(value);
  fflush(stdout);
  if (strcmp(how, "quick") == 0) _exit(value);
  if (strcmp(how, "segv") == 0) *(volatile int*)0x1234 = 1;
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "signal") == 0) kill(getpid(), value);
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, leave, (void*)(intptr_t)value);
    pause();
  }
  sleep(1);
  return 99;
}
