// A thread that waits for its own signal handler by reading memory, and one that masks the signal and reads
// memory that another thread's handler writes.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kRounds = 100 };

static volatile sig_atomic_t alarms, ended;

static void on_alarm(int signal) {
  (void)signal;
  ++alarms;
}

static void in_us(long us) {
  const struct itimerval once = {{0, 0}, {us / 1000000, us % 1000000}};
  EXPECT(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void mask(int how) {
  sigset_t set;
  EXPECT(sigemptyset(&set) == 0 && sigaddset(&set, SIGALRM) == 0 && pthread_sigmask(how, &set, NULL) == 0);
}

static void* sleeper(void* unused) {
  mask(SIG_UNBLOCK);
  while (!ended) usleep(10000);
  return unused;
}

int main(void) {
  const struct sigaction action = {.sa_handler = on_alarm};
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  for (int round = 1; round <= kRounds; ++round) {
    in_us(500);
    while (alarms < round) {
    }
  }
  printf("own handler: %d times\n", alarms);

  alarms = 0;
  mask(SIG_BLOCK);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, sleeper, NULL) == 0);
  for (int round = 1; round <= kRounds; ++round) {
    in_us(500);
    while (alarms < round) {
    }
  }
  printf("another thread's handler: %d times\n", alarms);
  ended = 1;
  EXPECT(pthread_join(thread, NULL) == 0);
  return 0;
}
