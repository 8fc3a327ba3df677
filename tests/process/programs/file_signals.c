// Signals for events of a descriptor: O_ASYNC with F_SETOWN, F_SETOWN_EX and F_SETSIG, on pipes and sockets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

static volatile int plain_seen;
static void on_plain(int signal) {
  (void)signal;
  ++plain_seen;
}

// The next signal of the set, within a second.
static int next(const sigset_t* set, siginfo_t* info) {
  const struct timespec second = {1, 0};
  return sigtimedwait(set, info, &second);
}

static void tell(const char* what, int signal, const siginfo_t* info, int fd) {
  printf("%s: signal %d, input %d, output %d, of this descriptor %d\n", what, signal - SIGRTMIN,
         info->si_code == POLL_IN && (info->si_band & POLLIN) != 0,
         info->si_code == POLL_OUT && (info->si_band & POLLOUT) != 0, info->si_fd == fd);
}

static void follow(int fd, int signal) {
  EXPECT(fcntl(fd, F_SETOWN, getpid()) == 0 && fcntl(fd, F_SETSIG, signal) == 0 &&
         fcntl(fd, F_GETSIG) == signal);
  EXPECT(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) == 0 && (fcntl(fd, F_GETFL) & O_ASYNC) != 0);
}

static void settings(int fd) {
  EXPECT(fcntl(fd, F_GETOWN) == 0 && fcntl(fd, F_GETSIG) == 0 && (fcntl(fd, F_GETFL) & O_ASYNC) == 0);
  EXPECT(fcntl(fd, F_SETOWN, getpid()) == 0 && fcntl(fd, F_GETOWN) == getpid());
  struct f_owner_ex owner = {F_OWNER_TID, syscall(SYS_gettid)}, told = {0, 0};
  EXPECT(fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_GETOWN_EX, &told) == 0);
  EXPECT(told.type == F_OWNER_TID && told.pid == owner.pid);
  owner = (struct f_owner_ex){F_OWNER_PGRP, getpgrp()};
  EXPECT(fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_GETOWN) == -getpgrp());
  owner.type = 9;
  EXPECT(fcntl(fd, F_SETOWN_EX, &owner) == -1 && errno == EINVAL);
  EXPECT(fcntl(fd, F_SETOWN_EX, (void*)8) == -1 && errno == EFAULT);
  EXPECT(fcntl(fd, F_SETOWN, 2000000) == -1 && errno == ESRCH);
  EXPECT(fcntl(fd, F_SETSIG, 65) == -1 && errno == EINVAL && fcntl(fd, F_SETSIG, -1) == -1);
  EXPECT(fcntl(fd, F_SETOWN, 0) == 0 && fcntl(fd, F_GETOWN) == 0);
  printf("owners and signals are kept and told\n");
}

static void pipes(const sigset_t* set) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  settings(ends[0]);
  EXPECT(write(ends[1], "x", 1) == 1);  // nobody is told
  follow(ends[0], SIGRTMIN + 2);
  siginfo_t info;
  EXPECT(write(ends[1], "yz", 2) == 2);
  tell("a pipe", next(set, &info), &info, ends[0]);
  EXPECT(write(ends[1], "1", 1) == 1 && write(ends[1], "2", 1) == 1);
  int count = 0;
  const struct timespec none = {0, 0};
  while (sigtimedwait(set, &info, &none) > 0) ++count;
  printf("each write is told: %d\n", count);
  EXPECT(close(ends[1]) == 0);
  tell("its end", next(set, &info), &info, ends[0]);
  EXPECT(close(ends[0]) == 0);
}

static void pairs(const sigset_t* set) {
  int ends[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const int other = dup(ends[0]);
  follow(other, SIGRTMIN + 3);
  siginfo_t info;
  EXPECT(write(ends[1], "hello", 5) == 5);
  tell("a socket, followed by another descriptor", next(set, &info), &info, other);
  int on = 0;
  EXPECT(ioctl(other, FIOASYNC, &on) == 0 && (fcntl(ends[0], F_GETFL) & O_ASYNC) == 0);
  EXPECT(write(ends[1], "more", 4) == 4);
  const struct timespec soon = {0, 20000000};
  EXPECT(sigtimedwait(set, &info, &soon) == -1 && errno == EAGAIN);
  printf("turned off, nothing is told\n");
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0 && close(other) == 0);
}

static void* sender(void* to) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT(sendto(fd, "datagram", 8, 0, to, sizeof(struct sockaddr_in)) == 8 && close(fd) == 0);
  return NULL;
}

static void datagrams(const sigset_t* set) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  socklen_t length = sizeof name;
  EXPECT(bind(fd, (struct sockaddr*)&name, sizeof name) == 0 &&
         getsockname(fd, (struct sockaddr*)&name, &length) == 0);
  follow(fd, SIGRTMIN + 4);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, sender, &name) == 0);
  siginfo_t info;
  tell("a datagram", next(set, &info), &info, fd);
  EXPECT(pthread_join(thread, NULL) == 0);

  // Without F_SETSIG it is SIGIO, and a handler interrupts.
  EXPECT(fcntl(fd, F_SETSIG, 0) == 0);
  const struct sigaction action = {.sa_handler = on_plain};
  EXPECT(sigaction(SIGIO, &action, NULL) == 0);
  EXPECT(pthread_create(&thread, NULL, sender, &name) == 0);
  while (plain_seen == 0) sleep_ms(1);
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("SIGIO: %d\n", plain_seen);
  EXPECT(close(fd) == 0);
}

// The signalled process may be another one.
static void processes(const sigset_t* set) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    siginfo_t info;
    const int signal = next(set, &info);
    _exit(signal == SIGRTMIN + 5 && info.si_fd == ends[0] ? 7 : 1);
  }
  EXPECT(fcntl(ends[0], F_SETOWN, child) == 0 && fcntl(ends[0], F_SETSIG, SIGRTMIN + 5) == 0);
  EXPECT(fcntl(ends[0], F_SETFL, O_ASYNC) == 0);
  sleep_ms(5);
  EXPECT(write(ends[1], "x", 1) == 1);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  printf("another process: %d\n", WEXITSTATUS(status));
}

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 2; i <= 5; ++i) sigaddset(&set, SIGRTMIN + i);
  EXPECT(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  pipes(&set);
  pairs(&set);
  datagrams(&set);
  processes(&set);
  return 0;
}
