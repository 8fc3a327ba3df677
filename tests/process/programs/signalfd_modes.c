// Signals read from a descriptor: of the process itself, of a child, with values, by poll and epoll.
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t handled;
static void on_signal(int signal) { handled = signal; }

static void show(int fd, const char* what) {
  struct signalfd_siginfo info;
  EXPECT(read(fd, &info, sizeof info) == sizeof info);
  printf("%s: signal %d, code %d, value %d, from %s\n", what, info.ssi_signo, info.ssi_code, info.ssi_int,
         info.ssi_pid == (unsigned)getpid() ? "me" : "another");
}

int main(void) {
  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGRTMIN + 1);
  EXPECT(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  raise(SIGUSR2);  // before there is a descriptor
  sigpending(&pending);
  EXPECT(sigismember(&pending, SIGUSR2) == 1);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC);
  EXPECT(fd >= 0 && signalfd(0, &set, 0) == -1 && errno == EINVAL);
  struct pollfd entry = {fd, POLLIN, 0};
  EXPECT(poll(&entry, 1, 0) == 1 && entry.revents == POLLIN);
  show(fd, "sent before");
  EXPECT(poll(&entry, 1, 0) == 0);
  EXPECT(kill(getpid(), SIGUSR1) == 0 && kill(getpid(), SIGUSR1) == 0);
  show(fd, "twice is once");
  EXPECT(poll(&entry, 1, 20) == 0);
  for (int i = 3; i > 0; --i) EXPECT(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}) == 0);
  struct signalfd_siginfo many[8];
  EXPECT(read(fd, many, sizeof many) == 3 * sizeof many[0]);
  printf("queued: %d %d %d\n", many[0].ssi_int, many[1].ssi_int, many[2].ssi_int);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    usleep(50000);
    _exit(kill(parent, SIGUSR2));
  }
  const int epoll = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {.fd = fd}};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
  EXPECT(epoll_wait(epoll, &event, 1, 5000) == 1 && event.data.fd == fd);
  show(fd, "by a child");
  EXPECT(waitpid(child, NULL, 0) == child);
  sigset_t only;  // another set; then there is nothing to read
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  EXPECT(signalfd(fd, &only, 0) == fd);
  raise(SIGUSR1);
  show(fd, "changed set");
  struct sigaction action = {.sa_handler = on_signal};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  raise(SIGUSR1);
  EXPECT(handled == 0 && sigprocmask(SIG_UNBLOCK, &only, NULL) == 0 && handled == SIGUSR1);
  EXPECT(poll(&entry, 1, 0) == 0);
  printf("unmasked: handled\n");
  return 0;
}
