// The highest signal, pending for the thread or for the process, in every wait whose mask permits it: its
// handler has run when the wait ends.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kHighest = 64, kRounds = 50 };

static volatile sig_atomic_t handled;

static void count(int signal) {
  EXPECT(signal == kHighest);
  ++handled;
}

static sigset_t open_mask;

static int wait_by(int kind, int set) {
  struct epoll_event event;
  switch (kind) {
    case 0:
      return sigsuspend(&open_mask);
    case 1:
      return ppoll(NULL, 0, NULL, &open_mask);
    case 2:
      return pselect(0, NULL, NULL, NULL, NULL, &open_mask);
    default:
      return epoll_pwait(set, &event, 1, -1, &open_mask);
  }
}

static void wait_for_it(const char* what, int to_thread) {
  const int set = epoll_create1(0);
  for (int round = 0; round < kRounds; ++round) {
    for (int kind = 0; kind < 4; ++kind) {
      const int before = handled;
      EXPECT((to_thread ? pthread_kill(pthread_self(), kHighest) : kill(getpid(), kHighest)) == 0);
      for (volatile int work = 0; work < 3000; ++work) {
      }
      EXPECT(handled == before);
      EXPECT(wait_by(kind, set) == -1 && errno == EINTR);
      EXPECT(handled == before + 1);
    }
  }
  close(set);
  printf("%s: %d times\n", what, kRounds * 4);
}

static void* in_a_thread(void* unused) {
  wait_for_it("process's, in a thread", 0);
  return unused;
}

int main(void) {
  const struct sigaction action = {.sa_handler = count};
  sigset_t blocked;
  sigfillset(&blocked);
  EXPECT(sigaction(kHighest, &action, NULL) == 0 && sigprocmask(SIG_SETMASK, &blocked, &open_mask) == 0);
  wait_for_it("thread's", 1);
  wait_for_it("process's", 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, in_a_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  const struct timespec no_time = {0, 0};
  siginfo_t info;
  sigset_t highest;
  sigemptyset(&highest);
  sigaddset(&highest, kHighest);
  for (int round = 0; round < kRounds; ++round) {
    EXPECT(kill(getpid(), kHighest) == 0 && sigtimedwait(&highest, &info, &no_time) == kHighest);
    EXPECT(sigtimedwait(&highest, &info, &no_time) == -1 && errno == EAGAIN);
  }
  printf("waited for: %d times\n", kRounds);
  return 0;
}
