// CPU time: clocks, getrusage and times agree, never decrease, and count children separately.
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int64_t in_us(struct timeval t) { return t.tv_sec * 1000000ll + t.tv_usec; }

int main(void) {
  const int64_t first = clock_ns(CLOCK_PROCESS_CPUTIME_ID), thread_first = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 20000000; ++i) sum += i;
  (void)sum;
  const int64_t second = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                thread_second = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  printf("grows: %d %d\n", second > first, thread_second > thread_first);
  struct rusage usage;
  EXPECT(getrusage(RUSAGE_SELF, &usage) == 0);
  printf("getrusage: %d\n", in_us(usage.ru_utime) + in_us(usage.ru_stime) >= second / 1000 - 20000);
  struct tms before, after;
  const clock_t start = times(&before);
  sleep_ms(100);
  const clock_t end = times(&after);
  printf("times: elapsed %d, own %d\n", end - start >= 9 && end - start <= 200,
         after.tms_utime >= before.tms_utime);
  printf("ticks: %ld\n", sysconf(_SC_CLK_TCK));
  EXPECT(clock() != (clock_t)-1);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status;
  EXPECT(wait4(child, &status, 0, &usage) == child && in_us(usage.ru_utime) >= 0);
  EXPECT(getrusage(RUSAGE_CHILDREN, &usage) == 0 && getrusage(RUSAGE_THREAD, &usage) == 0);
  EXPECT(getrusage(12345, &usage) == -1 && errno == EINVAL);
  clockid_t clock_of_self;
  EXPECT(clock_getcpuclockid(getpid(), &clock_of_self) == 0);
  printf("by number: %d\n", clock_ns(clock_of_self) >= second);
  struct timespec resolution;
  EXPECT(clock_getres(CLOCK_PROCESS_CPUTIME_ID, &resolution) == 0 && resolution.tv_sec == 0);
  return 0;
}
