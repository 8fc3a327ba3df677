// A program that blocks every signal, ignores SIGSYS, SIGSEGV and all others, and continues to make calls of
// all kinds.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void* thread(void* argument) {
  uint64_t mask = ~0ull;
  EXPECT(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8) == 0);
  sleep_ms(10);
  return argument;
}

int main(void) {
  const uint64_t all = ~0ull;
  int ignored = 0;
  for (int signal_number = 1; signal_number <= 64; ++signal_number) {
    ignored += signal(signal_number, SIG_IGN) != SIG_ERR;
  }
  EXPECT(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 8) == 0);
  struct sigaction now;
  EXPECT(sigaction(SIGSYS, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
  EXPECT(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
  printf("ignored: %d of 64\n", ignored);
  const int64_t start = now_ns();
  sleep_ms(20);
  EXPECT(now_ns() - start >= 20000000);
  int pair[2], ends[2];
  char c;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
  EXPECT(write(pair[0], "s", 1) == 1 && read(pair[1], &c, 1) == 1 && c == 's');
  pthread_t other;
  EXPECT(pthread_create(&other, NULL, thread, NULL) == 0 && pthread_join(other, NULL) == 0);
  EXPECT(kill(getpid(), SIGSYS) == 0 && kill(getpid(), SIGTERM) == 0 && raise(SIGUSR1) == 0);
  EXPECT(close(ends[0]) == 0 && write(ends[1], "p", 1) == -1 && errno == EPIPE);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(kill(getppid(), SIGINT) == 0);
    _exit(3);
  }
  // SIGCHLD is ignored, so there is no child to wait for.
  EXPECT(waitpid(child, NULL, 0) == -1 && errno == ECHILD);
  printf("calls go on\n");
  return 0;
}
