// timer_create: its function in a thread (SIGEV_THREAD), its signal to a thread (SIGEV_THREAD_ID).
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "tests/process/expect.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static sem_t due;
static int calls, sum;
static pthread_t main_thread;

static void on_due(union sigval value) {
  EXPECT(!pthread_equal(pthread_self(), main_thread));
  sum += value.sival_int;
  ++calls;
  sem_post(&due);
}

static volatile sig_atomic_t handled;
static pthread_t handled_in;
static void on_signal(int signal) {
  (void)signal;
  handled_in = pthread_self();
  handled = 1;
}

static void* target(void* argument) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  event.sigev_notify_thread_id = gettid();
  timer_t timer;
  EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct itimerspec time = {{0, 0}, {0, 30000000}};
  EXPECT(timer_settime(timer, 0, &time, NULL) == 0);
  sem_post(&due);
  while (!handled) usleep(10000);
  EXPECT(pthread_equal(handled_in, pthread_self()) && timer_delete(timer) == 0);
  return argument;
}

int main(void) {
  main_thread = pthread_self();
  EXPECT(sem_init(&due, 0, 0) == 0);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value = {.sival_int = 7}};
  event.sigev_notify_function = on_due;
  timer_t timer;
  EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  struct itimerspec time = {{0, 40000000}, {0, 20000000}};
  const int64_t start = now_ns();
  EXPECT(timer_settime(timer, 0, &time, NULL) == 0);
  for (int i = 0; i < 3; ++i) EXPECT(sem_wait(&due) == 0);
  EXPECT(now_ns() - start >= 100000000);
  time.it_value.tv_nsec = 0;
  EXPECT(timer_settime(timer, 0, &time, NULL) == 0 && timer_delete(timer) == 0);
  printf("in a thread: 3 times, sum %d\n", sum * 3 / calls);

  struct sigaction action = {.sa_handler = on_signal};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, target, NULL) == 0);
  sem_wait(&due);
  EXPECT(pthread_join(thread, NULL) == 0);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_notify_thread_id = 999999;
  EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == -1 && errno == EINVAL);
  printf("to a thread: done\n");
  return 0;
}
