// Signals to one thread: its handler runs there; a thread that waits is interrupted; cancellation.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_t where;
static volatile sig_atomic_t count;
static void on_signal(int signal) {
  (void)signal;
  where = pthread_self();
  ++count;
}

static void* waiter(void* argument) {
  const int result = pause();
  printf("pause %d, EINTR %d\n", result, errno == EINTR);
  fflush(stdout);
  return argument;
}

static void* cancelled(void* argument) {
  while (1) pause();
  return argument;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, waiter, NULL);
  usleep(100000);
  pthread_kill(thread, SIGUSR1);
  pthread_join(thread, NULL);
  printf("handled %d times, in that thread: %d\n", count, pthread_equal(where, thread) != 0);

  pthread_create(&thread, NULL, cancelled, NULL);
  usleep(100000);
  printf("cancel: %s\n", strerror(pthread_cancel(thread)));
  void* result;
  pthread_join(thread, &result);
  printf("cancelled: %d\n", result == PTHREAD_CANCELED);
  return 0;
}
