// select and pselect: three sets, the time left, bad descriptors, signal masks while waiting.
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t handled;
static void on_signal(int signal) { handled = signal; }

int main(void) {
  int pair[2], ends[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
  const int limit = (pair[1] > ends[1] ? pair[1] : ends[1]) + 1;
  fd_set in, out, except;
  FD_ZERO(&in);
  FD_ZERO(&out);
  FD_ZERO(&except);
  FD_SET(pair[0], &in);
  FD_SET(ends[0], &in);
  FD_SET(pair[0], &out);
  FD_SET(pair[0], &except);
  printf("at first: %d", select(limit, &in, &out, &except, NULL));
  printf(", writable %d, readable %d\n", FD_ISSET(pair[0], &out),
         FD_ISSET(pair[0], &in) + FD_ISSET(ends[0], &in));
  EXPECT(write(pair[1], "x", 1) == 1 && write(ends[1], "y", 1) == 1);
  FD_SET(pair[0], &in);
  FD_SET(ends[0], &in);
  printf("both: %d\n", select(limit, &in, NULL, NULL, NULL));
  char c;
  EXPECT(read(pair[0], &c, 1) == 1 && read(ends[0], &c, 1) == 1);
  struct timeval time = {0, 30000};
  const int64_t start = now_ns();
  EXPECT(select(limit, &in, NULL, NULL, &time) == 0 && now_ns() - start >= 29000000);
  printf("time over: left %ld, sets empty %d\n", time.tv_sec * 1000000 + time.tv_usec,
         !FD_ISSET(pair[0], &in));
  // The C library's select() makes another call.
  FD_SET(ends[0], &in);
  time = (struct timeval){0, 20000};
  const int64_t later = now_ns();
  EXPECT(syscall(SYS_select, limit, &in, NULL, NULL, &time) == 0 && now_ns() - later >= 19000000);
  EXPECT(now_ns() - later < 10000000000ll && !FD_ISSET(ends[0], &in) && time.tv_sec == 0 && time.tv_usec == 0);
  EXPECT(syscall(SYS_select, limit, &in, NULL, NULL, (void*)8) == -1 && errno == EFAULT);
  FD_SET(ends[0], &in);
  EXPECT(close(ends[1]) == 0 && select(limit, &in, NULL, NULL, NULL) == 1 && read(ends[0], &c, 1) == 0);
  EXPECT(close(ends[0]) == 0 && select(limit, &in, NULL, NULL, NULL) == -1 && errno == EBADF);
  printf("closed: readable, then EBADF\n");
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigset_t set, empty;
  sigemptyset(&set);
  sigemptyset(&empty);
  sigaddset(&set, SIGUSR1);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  raise(SIGUSR1);
  EXPECT(handled == 0);
  FD_ZERO(&in);
  FD_SET(pair[0], &in);
  const struct timespec long_time = {5, 0};
  const int result = pselect(limit, &in, NULL, NULL, &long_time, &empty);
  printf("pselect lets it in: %d %s, handled %d\n", result, result == -1 ? strerrorname_np(errno) : "",
         handled == SIGUSR1);
  EXPECT(sigprocmask(SIG_BLOCK, NULL, &empty) == 0 && sigismember(&empty, SIGUSR1) == 1);
  time = (struct timeval){0, -1};
  EXPECT(select(0, NULL, NULL, NULL, &time) == -1 && errno == EINVAL);
  return 0;
}
