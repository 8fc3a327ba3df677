// poll and ppoll: another thread changes the descriptors, the time limit and the signal mask while the call waits.
#include <poll.h>
#include <signal.h>

#include "tests/process/changed_meanwhile.h"

static int ends[2];
static struct pollfd set[2];
static struct timespec limit;
static sigset_t mask;
static pthread_t main_thread;
static volatile sig_atomic_t handled;

static void on_signal(int signal) { handled = signal; }

static void change_set(void) {
  set[0] = (struct pollfd){-7, POLLOUT, 0x55};
  set[1] = (struct pollfd){ends[1], POLLOUT, 0x55};
  limit = (struct timespec){-1, -1};
  EXPECT(write(ends[1], "x", 1) == 1);
}

static void change_mask(void) {
  sigfillset(&mask);
  EXPECT(pthread_kill(main_thread, SIGUSR1) == 0);
}

static void print_set(const char* call, int result) {
  printf("%s: %d, results %#x %#x, left as changed: %d\n", call, result, set[0].revents, set[1].revents,
         set[0].fd == -7 && set[0].events == POLLOUT && set[1].fd == ends[1]);
}

static void prepare(void) {
  set[0] = (struct pollfd){ends[0], POLLIN, 0};
  set[1] = (struct pollfd){-1, 0, 0};
  limit = (struct timespec){20, 0};
}

int main(void) {
  EXPECT(pipe(ends) == 0);
  main_thread = pthread_self();
  struct change change;
  char byte;
  prepare();
  pthread_t thread = change_meanwhile(&change, change_set);
  int result = poll(set, 2, 20000);
  EXPECT(pthread_join(thread, NULL) == 0 && read(ends[0], &byte, 1) == 1);
  print_set("poll", result);
  prepare();
  thread = change_meanwhile(&change, change_set);
  result = (int)syscall(SYS_ppoll, set, 2, &limit, NULL, 8);
  EXPECT(pthread_join(thread, NULL) == 0 && read(ends[0], &byte, 1) == 1);
  print_set("ppoll", result);
  printf("what is left of the limit: %d\n", limit.tv_sec >= 0 && limit.tv_sec <= 19);

  const struct sigaction action = {.sa_handler = on_signal};
  sigset_t blocked;
  sigemptyset(&mask);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
  prepare();
  thread = change_meanwhile(&change, change_mask);
  result = ppoll(set, 2, &limit, &mask);
  printf("ppoll with a mask: %d %s, handled %d\n", result, strerrorname_np(errno), handled == SIGUSR1);
  EXPECT(pthread_join(thread, NULL) == 0);
  return 0;
}
