// select and pselect: another thread changes the sets, the time limit and the signal mask while the call waits.
#include <signal.h>
#include <sys/select.h>

#include "tests/process/changed_meanwhile.h"

static int ends[2];
static fd_set in, out;
static struct timeval limit;
static struct timespec long_time;
static sigset_t mask;
static pthread_t main_thread;
static volatile sig_atomic_t handled;

static void on_signal(int signal) { handled = signal; }

static void change_sets(void) {
  FD_ZERO(&in);
  FD_SET(ends[1], &out);
  FD_SET(40, &in);
  limit = (struct timeval){-1, -1};
  EXPECT(write(ends[1], "x", 1) == 1);
}

static void change_mask(void) {
  sigfillset(&mask);
  FD_SET(40, &in);
  EXPECT(pthread_kill(main_thread, SIGUSR1) == 0);
}

int main(void) {
  EXPECT(pipe(ends) == 0);
  main_thread = pthread_self();
  struct change change;
  FD_SET(ends[0], &in);
  limit.tv_sec = 20;
  pthread_t thread = change_meanwhile(&change, change_sets);
  int result = select(ends[1] + 1, &in, &out, NULL, &limit);
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("select: %d %s, readable %d, writable %d, limit told %d\n", result, strerrorname_np(result < 0 ? errno : 0),
         FD_ISSET(ends[0], &in), FD_ISSET(ends[1], &out), limit.tv_sec >= 0 && limit.tv_sec <= 19);
  char byte;
  EXPECT(read(ends[0], &byte, 1) == 1);

  const struct sigaction action = {.sa_handler = on_signal};
  sigset_t blocked;
  sigemptyset(&mask);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
  FD_ZERO(&in);
  FD_SET(ends[0], &in);
  long_time.tv_sec = 20;
  thread = change_meanwhile(&change, change_mask);
  result = pselect(ends[1] + 1, &in, NULL, NULL, &long_time, &mask);
  printf("pselect: %d %s, handled %d\n", result, strerrorname_np(errno), handled == SIGUSR1);
  EXPECT(pthread_join(thread, NULL) == 0);
  return 0;
}
