// SIGPIPE reaches its handler; a blocked read is interrupted or restarted.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile int pipes, alarms, fd;
static void on_pipe(int signal) { pipes += signal == SIGPIPE; }
static void on_alarm(int signal) {
  alarms += signal == SIGALRM;
  if (fd != 0) EXPECT(write(fd, "!", 1) == 1);
}

int main(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  struct sigaction action = {.sa_handler = on_pipe};
  EXPECT(sigaction(SIGPIPE, &action, NULL) == 0);
  int other[2];
  EXPECT(pipe(other) == 0);
  close(other[0]);
  EXPECT(write(other[1], "x", 1) == -1 && errno == EPIPE && pipes == 1);

  action.sa_handler = on_alarm;
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval soon = {{0, 0}, {0, 20000}};
  char byte;
  EXPECT(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  EXPECT(read(ends[0], &byte, 1) == -1 && errno == EINTR && alarms == 1);
  action.sa_flags = SA_RESTART;
  fd = ends[1];
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &soon, NULL) == 0);
  EXPECT(read(ends[0], &byte, 1) == 1 && byte == '!' && alarms == 2);
  printf("signals: done\n");
  return 0;
}
