// Stopped and continued children, as reported by wait(2) and SIGCHLD.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t told[8], code_of[8], count;
static void on_child(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  if (count < 8) told[count] = info->si_status, code_of[count++] = info->si_code;
}
static volatile sig_atomic_t continued, others;
static void on_continue(int signal) { signal == SIGCONT ? (continued = 1) : ++others; }

static pid_t ticking(int pipe_end) {
  const pid_t child = fork();
  if (child != 0) return child;
  struct sigaction action = {.sa_handler = on_continue};
  sigaction(SIGCONT, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  EXPECT(write(pipe_end, "r", 1) == 1);
  raise(SIGSTOP);
  EXPECT(continued == 1 && others == 1);
  EXPECT(write(pipe_end, "c", 1) == 1);
  while (1) pause();
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_RESTART};
  EXPECT(sigaction(SIGCHLD, &action, NULL) == 0);
  int ends[2], status;
  char c;
  EXPECT(pipe(ends) == 0);
  const pid_t child = ticking(ends[1]);
  EXPECT(read(ends[0], &c, 1) == 1 && c == 'r');
  EXPECT(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  printf("stopped by itself: %d\n", WSTOPSIG(status) == SIGSTOP);
  EXPECT(waitpid(child, &status, WUNTRACED | WNOHANG) == 0);
  EXPECT(kill(child, SIGUSR1) == 0);  // pending until the child continues
  sleep_ms(30);
  EXPECT(waitpid(child, &status, WNOHANG) == 0 && kill(child, 0) == 0);
  EXPECT(kill(child, SIGCONT) == 0);
  EXPECT(waitpid(child, &status, WCONTINUED) == child);
  printf("then: continued %d", WIFCONTINUED(status));
  EXPECT(read(ends[0], &c, 1) == 1 && c == 'c' && kill(child, SIGTERM) == 0);
  EXPECT(waitpid(child, &status, 0) == child);
  printf(", ended by SIGTERM %d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  printf("told:");
  for (int i = 0; i < count; ++i) {
    printf(" %s", code_of[i] == CLD_STOPPED     ? "stopped"
                  : code_of[i] == CLD_CONTINUED ? "continued"
                  : code_of[i] == CLD_KILLED    ? "killed"
                                                : "?");
  }
  printf("\n");

  action.sa_flags |= SA_NOCLDSTOP;
  EXPECT(sigaction(SIGCHLD, &action, NULL) == 0);
  count = 0;
  const pid_t other = fork();
  if (other == 0) {
    while (1) pause();
  }
  siginfo_t info = {0};
  EXPECT(kill(other, SIGSTOP) == 0 && waitid(P_PID, other, &info, WSTOPPED | WNOWAIT) == 0);
  printf("waitid: %d, signal %d\n", info.si_code == CLD_STOPPED,
         info.si_status == SIGSTOP && info.si_pid == other);
  EXPECT(waitid(P_PID, other, &info, WSTOPPED) == 0 && kill(other, SIGCONT) == 0);
  EXPECT(waitid(P_ALL, 0, &info, WCONTINUED) == 0 && info.si_code == CLD_CONTINUED &&
         info.si_status == SIGCONT);
  EXPECT(kill(other, SIGSTOP) == 0 && kill(other, SIGKILL) == 0);  // ends even when stopped
  EXPECT(waitpid(other, &status, 0) == other && WTERMSIG(status) == SIGKILL);
  printf("silent: told %d times, of its end %d\n", count, code_of[0] == CLD_KILLED);
  EXPECT(waitpid(-1, &status, WUNTRACED) == -1 && errno == ECHILD);
  return 0;
}
