// alarm and setitimer: when they fire, the time left, and which calls they interrupt or restart.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t count;
static int ends[2];
static void on_alarm(int signal) {
  (void)signal;
  ++count;
}
static void on_alarm_write(int signal) {
  (void)signal;
  if (++count == 3) EXPECT(write(ends[1], "w", 1) == 1);
}

static void every(long first_us, long interval_us) {
  const struct itimerval time = {{interval_us / 1000000, interval_us % 1000000},
                                 {first_us / 1000000, first_us % 1000000}};
  EXPECT(setitimer(ITIMER_REAL, &time, NULL) == 0);
}

int main(void) {
  struct sigaction action = {.sa_handler = on_alarm};
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0 && pipe(ends) == 0);
  EXPECT(alarm(100) == 0);
  const unsigned left = alarm(1);
  printf("replaced: %d\n", left == 100 || left == 99);
  // The remaining time is rounded to the nearest second, but not to 0.
  every(9300000, 0);
  EXPECT(alarm(0) == 9 && alarm(0) == 0);
  every(9700000, 0);
  EXPECT(alarm(0) == 10);
  every(300000, 0);
  EXPECT(alarm(1) == 1);
  const int64_t start = now_ns();
  EXPECT(sleep(100) > 90 && count == 1);
  const int64_t took = now_ns() - start;
  printf("alarm: after a second %d\n", took >= 990000000 && took < 3000000000ll);
  every(20000, 0);
  char c;
  EXPECT(read(ends[0], &c, 1) == -1 && errno == EINTR && count == 2);
  struct itimerval now;
  EXPECT(getitimer(ITIMER_REAL, &now) == 0 && now.it_value.tv_sec == 0 && now.it_value.tv_usec == 0);
  count = 0;
  action = (struct sigaction){.sa_handler = on_alarm_write, .sa_flags = SA_RESTART};
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  every(10000, 10000);
  EXPECT(read(ends[0], &c, 1) == 1 && c == 'w' && count >= 3);
  EXPECT(getitimer(ITIMER_REAL, &now) == 0 && now.it_interval.tv_usec == 10000 &&
         now.it_value.tv_usec <= 10000);
  every(0, 0);
  printf("restarted until the third\n");
  count = 10;
  every(20000, 0);
  struct timespec rest, long_time = {10, 0};
  EXPECT(nanosleep(&long_time, &rest) == -1 && errno == EINTR && rest.tv_sec == 9 && count == 11);
  printf("a sleep is cut: the rest is told\n");
  count = 10;
  ualarm(5000, 5000);
  while (count < 20) pause();
  every(0, 0);
  printf("ualarm: ten times\n");
  return 0;
}
