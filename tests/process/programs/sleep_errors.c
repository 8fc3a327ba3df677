// Errors of sleeps by clocks, bad addresses for the remaining time, and what alarm(2) returns.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void handle(int signal) { (void)signal; }

static long sleep_by(clockid_t clock, struct timespec* left) {
  const struct timespec time = {.tv_nsec = 50000000};
  return syscall(SYS_clock_nanosleep, clock, 0, &time, left) == 0 ? 0 : errno;
}

static pid_t interrupt_later(void) {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  sleep_ms(10);
  EXPECT(kill(parent, SIGUSR1) == 0);
  _exit(0);
}

int main(void) {
  const struct sigaction action = {.sa_handler = handle};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  EXPECT(sleep_by(CLOCK_THREAD_CPUTIME_ID, NULL) == EOPNOTSUPP && sleep_by(CLOCK_MONOTONIC_RAW, NULL) == EOPNOTSUPP);
  EXPECT(sleep_by(CLOCK_REALTIME_COARSE, NULL) == EOPNOTSUPP && sleep_by(CLOCK_MONOTONIC_COARSE, NULL) == EOPNOTSUPP);
  EXPECT(sleep_by(10, NULL) == EINVAL && sleep_by(99, NULL) == EINVAL);
  EXPECT(sleep_by(CLOCK_BOOTTIME, NULL) == 0 && sleep_by(CLOCK_TAI, NULL) == 0);
  struct timespec left = {0, 0};
  pid_t child = interrupt_later();
  EXPECT(sleep_by(CLOCK_REALTIME, &left) == EINTR && left.tv_nsec > 0 && waitpid(child, NULL, 0) == child);
  child = interrupt_later();
  EXPECT(sleep_by(CLOCK_REALTIME, (struct timespec*)1) == EFAULT && waitpid(child, NULL, 0) == child);

  // Rounded to the nearest second, but never to 0.
  alarm(10);
  sleep_ms(700);
  EXPECT(alarm(10) == 9);
  sleep_ms(300);
  EXPECT(alarm(1) == 10);
  sleep_ms(700);
  EXPECT(alarm(0) == 1 && alarm(0) == 0);
  printf("sleeps and alarms: done\n");
  return 0;
}
