// timerfd: once, repeated, absolute, disarmed, polled.
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/process/expect.h"

static struct itimerspec every(long first_ms, long then_ms) {
  const struct itimerspec time = {{then_ms / 1000, then_ms % 1000 * 1000000},
                                  {first_ms / 1000, first_ms % 1000 * 1000000}};
  return time;
}

int main(void) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  EXPECT(timer >= 0);
  struct itimerspec time = every(20, 0), old;
  const int64_t start = now_ns();
  EXPECT(timerfd_settime(timer, 0, &time, NULL) == 0);
  EXPECT(timerfd_gettime(timer, &old) == 0 && old.it_value.tv_nsec > 0 && old.it_value.tv_nsec <= 20000000);
  uint64_t count = 0;
  EXPECT(read(timer, &count, 8) == 8 && count == 1 && now_ns() - start >= 20000000);
  EXPECT(timerfd_gettime(timer, &old) == 0 && old.it_value.tv_sec == 0 && old.it_value.tv_nsec == 0);

  time = every(10, 10);
  EXPECT(timerfd_settime(timer, 0, &time, &old) == 0 && old.it_value.tv_nsec == 0);
  sleep_ms(55);
  EXPECT(read(timer, &count, 8) == 8 && count == 5);
  EXPECT(read(timer, &count, 8) == 8 && count == 1);
  time = every(0, 0);
  EXPECT(timerfd_settime(timer, 0, &time, &old) == 0 && old.it_interval.tv_nsec == 10000000);
  struct pollfd ready = {timer, POLLIN, 0};
  EXPECT(poll(&ready, 1, 30) == 0);

  const int wall = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
  struct itimerspec then = {{0, 0}, in_ms(CLOCK_REALTIME, 15)};
  EXPECT(timerfd_settime(wall, TFD_TIMER_ABSTIME, &then, NULL) == 0);
  EXPECT(read(wall, &count, 8) == -1 && errno == EAGAIN);
  ready.fd = wall;
  EXPECT(poll(&ready, 1, 1000) == 1 && read(wall, &count, 8) == 8 && count == 1);
  then.it_value.tv_sec = 1;  // long ago
  EXPECT(timerfd_settime(wall, TFD_TIMER_ABSTIME, &then, NULL) == 0 && poll(&ready, 1, 1000) == 1);
  EXPECT(timerfd_create(99, 0) == -1 && errno == EINVAL);
  then.it_value.tv_nsec = 1000000000;
  EXPECT(timerfd_settime(wall, 0, &then, NULL) == -1 && errno == EINVAL);
  EXPECT(timerfd_settime(0, 0, &time, NULL) == -1 && errno == EINVAL);
  printf("timerfd: done\n");

  // A first expiration long ago: all since then are counted, and the following ones keep their times.
  const int daily = timerfd_create(CLOCK_REALTIME, 0);
  const time_t day = 86400, now = clock_ns(CLOCK_REALTIME) / 1000000000;
  const struct itimerspec since = {{day, 0}, {1, 0}};
  EXPECT(daily >= 0 && timerfd_settime(daily, TFD_TIMER_ABSTIME, &since, NULL) == 0);
  EXPECT(read(daily, &count, 8) == 8 && count == (uint64_t)((now - 1) / day + 1));
  EXPECT(timerfd_gettime(daily, &old) == 0 && labs(old.it_value.tv_sec - (day - (now - 1) % day)) <= 1);
  EXPECT(timerfd_gettime(daily, NULL) == -1 && errno == EFAULT);
  return 0;
}
