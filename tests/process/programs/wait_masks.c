// A wait with a signal mask of its own holds back the signals of this mask, although the thread does not mask them otherwise.
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t order[4], handled;
static void handle(int signal) { order[handled++] = signal; }

static int ends[2], epoll;

static int wait_ppoll(const sigset_t* mask) {
  struct pollfd entry = {.fd = ends[0], .events = POLLIN};
  return ppoll(&entry, 1, NULL, mask);
}
static int wait_pselect(const sigset_t* mask) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  return pselect(ends[0] + 1, &set, NULL, NULL, NULL, mask);
}
static int wait_epoll(const sigset_t* mask) {
  struct epoll_event event;
  return epoll_pwait(epoll, &event, 1, -1, mask);
}

// The child sends SIGUSR1 to the waiting parent, then makes the pipe readable or sends SIGUSR2.
static pid_t start_child(int last_signal) {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  sleep_ms(20);
  EXPECT(kill(parent, SIGUSR1) == 0);
  sleep_ms(20);
  EXPECT(last_signal != 0 ? kill(parent, last_signal) == 0 : write(ends[1], "x", 1) == 1);
  _exit(0);
}

static void end_child(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  handled = 0;
}

int main(void) {
  const struct sigaction action = {.sa_handler = handle};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
  EXPECT(pipe(ends) == 0 && (epoll = epoll_create1(0)) >= 0);
  struct epoll_event event = {.events = EPOLLIN};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
  sigset_t mask, none;
  sigemptyset(&none);
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);

  int (*const waits[])(const sigset_t*) = {wait_ppoll, wait_pselect, wait_epoll};
  for (int i = 0; i < 3; ++i) {
    pid_t child = start_child(0);
    char byte;
    EXPECT(waits[i](&mask) == 1 && handled == 1 && order[0] == SIGUSR1);
    EXPECT(read(ends[0], &byte, 1) == 1);
    end_child(child);

    child = start_child(0);
    EXPECT(waits[i](&none) == -1 && errno == EINTR && handled == 1);
    EXPECT(read(ends[0], &byte, 1) == 1);
    end_child(child);
  }

  // Another signal ends the wait: its handler runs first, with the mask of the wait.
  pid_t child = start_child(SIGUSR2);
  EXPECT(sigsuspend(&mask) == -1 && errno == EINTR);
  EXPECT(handled == 2 && order[0] == SIGUSR2 && order[1] == SIGUSR1);
  end_child(child);
  child = start_child(SIGUSR2);
  EXPECT(wait_ppoll(&mask) == -1 && errno == EINTR);
  EXPECT(handled == 2 && order[0] == SIGUSR2 && order[1] == SIGUSR1);
  end_child(child);

  // Without a mask of its own, a wait keeps the thread's mask.
  EXPECT(sigprocmask(SIG_SETMASK, &mask, NULL) == 0);
  child = start_child(0);
  EXPECT(wait_ppoll(NULL) == 1 && handled == 0);
  EXPECT(sigprocmask(SIG_SETMASK, &none, NULL) == 0 && handled == 1);
  end_child(child);
  printf("waits with masks: done\n");
  return 0;
}
