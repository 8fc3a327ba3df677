// Timers of clocks of CPU time, relative and absolute, also of clocks by id; clocks without timers.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t expired;
static void on_timer(int signal) {
  (void)signal;
  ++expired;
}

// A timer that expires when 20 ms more of CPU time have passed, by an absolute or a relative time.
static void run_timer(clockid_t clock, int is_absolute) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  EXPECT(timer_create(clock, &event, &timer) == 0);
  const int64_t begin = clock_ns(clock), end = (is_absolute ? begin : 0) + 20000000;
  const struct itimerspec when = {.it_value = {end / 1000000000, end % 1000000000}};
  struct itimerspec left;
  expired = 0;
  EXPECT(timer_settime(timer, is_absolute ? TIMER_ABSTIME : 0, &when, NULL) == 0);
  EXPECT(timer_gettime(timer, &left) == 0 && left.it_value.tv_sec == 0 && left.it_value.tv_nsec > 0);
  while (expired == 0) EXPECT(clock_ns(clock) - begin < 5000000000);
  EXPECT(clock_ns(clock) - begin >= 19000000 && timer_delete(timer) == 0);
}

int main(void) {
  EXPECT(signal(SIGUSR1, on_timer) != SIG_ERR);
  const clockid_t without_timers[] = {CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, 12};
  timer_t timer;
  for (unsigned i = 0; i < sizeof without_timers / sizeof *without_timers; ++i)
    printf("timer of %d: %s\n", without_timers[i],
           timer_create(without_timers[i], NULL, &timer) == 0 ? "0" : strerrorname_np(errno));
  clockid_t process, thread;
  EXPECT(clock_getcpuclockid(getpid(), &process) == 0 && pthread_getcpuclockid(pthread_self(), &thread) == 0);
  const clockid_t cpu[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, process, thread};
  for (int i = 0; i < 4; ++i) {
    run_timer(cpu[i], 0);
    run_timer(cpu[i], 1);
  }
  struct sigevent silent = {.sigev_notify = SIGEV_NONE};
  const clockid_t of_nobody = (clockid_t)(~999999u << 3 | 2);  // of process 999999
  EXPECT(syscall(SYS_timer_create, of_nobody, &silent, &timer) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_timer_create, of_nobody | 4, &silent, &timer) == -1 && errno == EINVAL);
  printf("done\n");
  return 0;
}
