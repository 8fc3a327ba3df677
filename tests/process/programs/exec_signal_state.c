// Across exec, ignored signals and the mask stay; handlers are reset to the default.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void handler(int signal) { (void)signal; }

static const char* disposition(int signal) {
  struct sigaction action;
  sigaction(signal, NULL, &action);
  return action.sa_handler == SIG_IGN ? "ignored" : action.sa_handler == SIG_DFL ? "default" : "handled";
}

int main(int argc, char** argv) {
  (void)argv;
  sigset_t set;
  if (argc > 1) {
    sigprocmask(SIG_SETMASK, NULL, &set);
    printf("after: USR1 %s, USR2 %s, HUP masked %d, TERM masked %d\n", disposition(SIGUSR1), disposition(SIGUSR2),
           sigismember(&set, SIGHUP), sigismember(&set, SIGTERM));
    return 0;
  }
  signal(SIGUSR1, SIG_IGN);
  signal(SIGUSR2, handler);
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, NULL);
  printf("before: USR1 %s, USR2 %s\n", disposition(SIGUSR1), disposition(SIGUSR2));
  fflush(stdout);
  char self[4096] = {0};
  readlink("/proc/self/exe", self, sizeof self - 1);
  execl(self, "again", "2", (char*)NULL);
  return 1;
}
