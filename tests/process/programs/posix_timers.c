// timer_create: signals with values, no signal at all, absolute times, the time left, missed expirations.
#include <signal.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t count, value, code;
static void on_timer(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  ++count;
  value = info->si_value.sival_int;
  code = info->si_code;
}

static timer_t make(clockid_t clock, int notify, int signal, int number) {
  struct sigevent event = {
      .sigev_notify = notify, .sigev_signo = signal, .sigev_value = {.sival_int = number}};
  timer_t timer;
  EXPECT(timer_create(clock, &event, &timer) == 0);
  return timer;
}

static struct itimerspec after_ms(long first, long interval) {
  return (struct itimerspec){{interval / 1000, interval % 1000 * 1000000},
                             {first / 1000, first % 1000 * 1000000}};
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGRTMIN, &action, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
  const timer_t once = make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, 77);
  struct itimerspec time = after_ms(50, 0), left;
  int64_t start = now_ns();
  EXPECT(timer_settime(once, 0, &time, NULL) == 0);
  EXPECT(timer_gettime(once, &left) == 0 && left.it_value.tv_sec == 0 && left.it_value.tv_nsec > 0);
  while (count == 0) pause();
  EXPECT(now_ns() - start >= 50000000 && timer_gettime(once, &left) == 0 && left.it_value.tv_nsec == 0);
  printf("once: value %d, SI_TIMER %d\n", value, code == SI_TIMER);

  const timer_t silent = make(CLOCK_REALTIME, SIGEV_NONE, 0, 0);
  time = after_ms(30, 10);
  EXPECT(timer_settime(silent, 0, &time, NULL) == 0);
  sleep_ms(15);
  EXPECT(timer_gettime(silent, &left) == 0 && left.it_value.tv_nsec <= 15000000 &&
         left.it_interval.tv_nsec == 10000000);
  EXPECT(timer_delete(silent) == 0 && timer_gettime(silent, &left) == -1 && errno == EINVAL);

  timer_t plain;  // no event: SIGALRM with the timer's number
  EXPECT(timer_create(CLOCK_BOOTTIME, NULL, &plain) == 0);
  time.it_value = in_ms(CLOCK_BOOTTIME, 20);
  time.it_interval = (struct timespec){0, 0};
  count = 0;
  EXPECT(timer_settime(plain, TIMER_ABSTIME, &time, NULL) == 0);
  while (count == 0) pause();
  printf("absolute: %d\n", code == SI_TIMER);

  const timer_t often = make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, 5);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  EXPECT(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  time = after_ms(400, 400);
  count = 0;
  EXPECT(timer_settime(often, 0, &time, NULL) == 0);
  sleep_ms(500);
  EXPECT(count == 0);
  siginfo_t info;
  const struct timespec none = {0, 0};
  const int taken = sigtimedwait(&set, &info, &none);
  printf("masked: taken %d", taken == SIGRTMIN);
  printf(", more %d\n", sigtimedwait(&set, &info, &none) == SIGRTMIN);
  time = after_ms(0, 0);
  EXPECT(timer_settime(often, 0, &time, &left) == 0 && left.it_interval.tv_nsec == 400000000);
  EXPECT(timer_delete(often) == 0 && timer_delete(once) == 0 && timer_delete(plain) == 0);

  const timer_t missed = make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, 6);
  time = after_ms(400, 400);
  EXPECT(timer_settime(missed, 0, &time, NULL) == 0);
  sleep_ms(1400);
  EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN && info.si_value.sival_int == 6);
  printf("missed: %d, asked %d\n", info.si_overrun, timer_getoverrun(missed));
  time.it_value.tv_nsec = 1000000000;
  EXPECT(timer_settime(missed, 0, &time, NULL) == -1 && errno == EINVAL);
  EXPECT(timer_create(12345, NULL, &plain) == -1 && errno == EINVAL);
  return 0;
}
