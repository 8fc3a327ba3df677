// signalfd: another thread changes the mask that a descriptor was made with while the first one reads there.
#include <signal.h>
#include <sys/signalfd.h>

#include "tests/process/changed_meanwhile.h"

static sigset_t mask;
static pthread_t main_thread;

static void change_mask(void) {
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  EXPECT(pthread_kill(main_thread, SIGUSR2) == 0 && pthread_kill(main_thread, SIGUSR1) == 0);
}

int main(void) {
  struct change change;
  main_thread = pthread_self();
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGUSR1);
  sigaddset(&both, SIGUSR2);
  EXPECT(pthread_sigmask(SIG_BLOCK, &both, NULL) == 0);
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  const int fd = signalfd(-1, &mask, 0);
  EXPECT(fd >= 0);
  for (int round = 0; round < 2; ++round) {
    struct signalfd_siginfo info;
    const pthread_t thread = change_meanwhile(&change, change_mask);
    EXPECT(read(fd, &info, sizeof info) == sizeof info);
    printf("%s\n", info.ssi_signo == SIGUSR1 ? "SIGUSR1" : info.ssi_signo == SIGUSR2 ? "SIGUSR2" : "another");
    EXPECT(pthread_join(thread, NULL) == 0);
    // The other thread still waits; its descriptor has another mask now.
    const struct timespec none = {0, 0};
    EXPECT(sigtimedwait(&mask, NULL, &none) == SIGUSR2);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    EXPECT(signalfd(fd, &mask, 0) == fd);
  }
  return 0;
}
