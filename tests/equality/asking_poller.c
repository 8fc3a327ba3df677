// A program that polls a completion queue without success and, in each turn, makes a system call that has no
// result: a byte of a pipe, an event of an epoll instance, the expiration of a timer, readiness of a socket. Its
// parent provides the result at many times, or sends a signal; the program prints the number of polls and the time.
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kTimes = 8 };

static volatile sig_atomic_t signals;
static long signalled_at;
static struct ibv_cq* cq;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void on_signal(int number) {
  (void)number;
  ++signals;
  signalled_at = now();
}

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  _exit(1);
}

static void tell(const char* what, int round, unsigned long looks) {
  printf("%s %d: %lu looks, at %ld, signals %d at %ld\n", what, round, looks, now(), (int)signals, signalled_at);
}

static unsigned long until_byte(int fd) {
  struct ibv_wc wc;
  char byte;
  unsigned long looks = 0;
  while (ibv_poll_cq(cq, 1, &wc) == 0 && read(fd, &byte, 1) < 0) {
    if (errno != EAGAIN && errno != EINTR) return 0;
    ++looks;
  }
  return looks;
}

static unsigned long until_event(int set, int fd) {
  struct ibv_wc wc;
  struct epoll_event event;
  unsigned long looks = 0;
  char byte;
  while (ibv_poll_cq(cq, 1, &wc) == 0 && epoll_wait(set, &event, 1, 0) <= 0) ++looks;
  must(read(fd, &byte, 1) == 1, "epoll");
  return looks;
}

static unsigned long until_ready(int fd) {
  struct ibv_wc wc;
  struct pollfd what = {.fd = fd, .events = POLLIN};
  unsigned long looks = 0;
  char byte;
  while (ibv_poll_cq(cq, 1, &wc) == 0 && poll(&what, 1, 0) <= 0) ++looks;
  must(read(fd, &byte, 1) == 1, "poll");
  return looks;
}

static unsigned long until_expired(int timer, long ns) {
  struct ibv_wc wc;
  const struct itimerspec when = {.it_value = {0, ns}};
  uint64_t expired;
  unsigned long looks = 0;
  must(timerfd_settime(timer, 0, &when, NULL) == 0, "timerfd_settime");
  while (ibv_poll_cq(cq, 1, &wc) == 0 && read(timer, &expired, sizeof expired) < 0) ++looks;
  return looks;
}

static unsigned long until_signal(int fd, int before) {
  struct ibv_wc wc;
  char byte;
  unsigned long looks = 0;
  while (ibv_poll_cq(cq, 1, &wc) == 0 && read(fd, &byte, 1) < 0 && signals == before) ++looks;
  return looks;
}

static int child(int pipe_end, int socket_end) {
  struct ibv_context* const context = ibv_open_device(ibv_get_device_list(NULL)[0]);
  cq = context == NULL ? NULL : ibv_create_cq(context, 4, NULL, NULL, 0);
  must(cq != NULL, "ibv_create_cq");
  const int set = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN};
  must(epoll_ctl(set, EPOLL_CTL_ADD, socket_end, &event) == 0, "epoll_ctl");
  for (int i = 0; i < kTimes; ++i) {
    tell("byte", i, until_byte(pipe_end));
    tell("event", i, until_event(set, socket_end));
    tell("ready", i, until_ready(pipe_end));
    tell("timer", i, until_expired(timer, 500000 + 77 * i));
    tell("signal", i, until_signal(pipe_end, 2 * i + 1));
  }
  return 0;
}

static void nap(long ns) {
  const struct timespec time = {0, ns};
  nanosleep(&time, NULL);
}

int main(void) {
  int pipes[2], sockets[2];
  must(pipe2(pipes, O_NONBLOCK) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "pipe");
  must(signal(SIGUSR1, on_signal) != SIG_ERR, "signal");
  const pid_t pid = fork();
  if (pid == 0) return child(pipes[0], sockets[0]);
  nap(1000000);
  for (long i = 0; i < kTimes; ++i) {
    nap(300000 + 13 * i);
    must(write(pipes[1], "b", 1) == 1, "write");
    nap(300000 + 17 * i);
    must(write(sockets[1], "e", 1) == 1, "write");
    nap(150000 + 19 * i);
    must(kill(pid, SIGUSR1) == 0, "kill");  // while the child waits for the pipe
    nap(150000 + 23 * i);
    must(write(pipes[1], "r", 1) == 1, "write");
    nap(1000000 + 29 * i);
    must(kill(pid, SIGUSR1) == 0, "kill");
  }
  int status = 0;
  must(wait(&status) == pid && status == 0, "child");
  printf("parent: over at %ld\n", now());
  return 0;
}
