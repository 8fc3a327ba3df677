// prctl: a signal at the parent's end, an ancestor that orphans get as their parent, and arguments that must be 0.
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int ends[2], begin[2];

static void say(char letter) { EXPECT(write(ends[1], &letter, 1) == 1); }
static char hear(int fd) {
  char letter = '-';
  EXPECT(read(fd, &letter, 1) == 1);
  return letter;
}

static volatile sig_atomic_t sender;
static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  sender = info->si_pid;
}

static int death_signal(void) {
  int signal = -1;
  EXPECT(prctl(PR_GET_PDEATHSIG, &signal) == 0);
  return signal;
}

// The child of the process that ends; `executed`: after exec, which keeps the setting.
static void await_end_of_parent(const char* self, int executed) {
  const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  EXPECT(sigprocmask(SIG_BLOCK, &set, &before) == 0);
  if (!executed) {
    EXPECT(death_signal() == 0 && prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 && prctl(PR_SET_PDEATHSIG, 65) == -1 && errno == EINVAL);
    if (fork() == 0) {
      EXPECT(death_signal() == 0);
      _exit(0);
    }
    EXPECT(wait(NULL) > 0);
    char out[12], in[12];
    snprintf(out, sizeof out, "%d", ends[1]), snprintf(in, sizeof in, "%d", begin[1]);
    execl("/proc/self/exe", self, out, in, (char*)NULL);
  }
  EXPECT(death_signal() == SIGUSR1);
  const pid_t parent = getppid();
  EXPECT(write(begin[1], "b", 1) == 1);
  sigdelset(&before, SIGUSR1);
  sender = 0;
  sigsuspend(&before);
  EXPECT(sender == parent && getppid() != parent);
  say('s');
  _exit(0);
}

static void* fork_and_end(void* unused) {
  (void)unused;
  if (fork() == 0) {
    const pid_t parent = getppid();
    EXPECT(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    say('t');
    pause();
    _exit(getppid() == parent);
  }
  EXPECT(hear(ends[0]) == 't');
  return NULL;
}

// An orphan's new parent is the nearest ancestor that has asked for it, which also gets ended children.
static void reap_orphans(void) {
  int is_reaper = -1;
  EXPECT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 && prctl(PR_GET_CHILD_SUBREAPER, &is_reaper, 0, 0, 0) == 0);
  EXPECT(is_reaper == 1);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(prctl(PR_GET_CHILD_SUBREAPER, &is_reaper, 0, 0, 0) == 0 && is_reaper == 0);
    const pid_t ended = fork();
    if (ended == 0) _exit(6);
    siginfo_t info;
    EXPECT(waitid(P_PID, ended, &info, WEXITED | WNOWAIT) == 0);
    if (fork() == 0) {
      const pid_t parent = getppid();
      say('o');
      while (getppid() == parent) sleep_ms(1);
      _exit(getppid() == self ? 5 : 1);
    }
    EXPECT(hear(ends[0]) == 'o');
    _exit(4);
  }
  int seen = 0;
  for (int i = 0; i < 3; ++i) {
    int status;
    EXPECT(wait(&status) > 0 && WIFEXITED(status));
    seen = seen + (1 << WEXITSTATUS(status));
  }
  EXPECT(seen == (1 << 4 | 1 << 5 | 1 << 6) && wait(NULL) == -1 && errno == ECHILD);
  EXPECT(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0);
}

static void arguments(void) {
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == -1 && errno == EINVAL);
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0) == -1 && errno == EINVAL);
  EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 && errno == EINVAL);
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
  EXPECT(prctl(PR_GET_THP_DISABLE, 1, 1, 0, 0) == -1 && errno == EINVAL && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0);
  EXPECT(prctl(PR_GET_SPECULATION_CTRL, 0, 1, 0, 0) == -1 && errno == EINVAL);
  // 0 restores the slack that the parent had at the fork.
  EXPECT(prctl(PR_SET_TIMERSLACK, 70000) == 0);
  if (fork() == 0) {
    EXPECT(prctl(PR_GET_TIMERSLACK) == 70000 && prctl(PR_SET_TIMERSLACK, 60000) == 0 && prctl(PR_GET_TIMERSLACK) == 60000);
    EXPECT(prctl(PR_SET_TIMERSLACK, 0) == 0 && prctl(PR_GET_TIMERSLACK) == 70000);
    _exit(0);
  }
  int status;
  EXPECT(wait(&status) > 0 && status == 0);
}

int main(int count, char** values) {
  if (count > 2) {
    ends[1] = atoi(values[1]), begin[1] = atoi(values[2]);
    await_end_of_parent(values[0], 1);
  }
  EXPECT(pipe(ends) == 0 && pipe(begin) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    if (fork() == 0) await_end_of_parent(values[0], 0);
    EXPECT(hear(begin[0]) == 'b');
    _exit(0);
  }
  int status;
  EXPECT(waitpid(parent, &status, 0) == parent && status == 0 && hear(ends[0]) == 's');
  printf("the parent has ended\n");
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, fork_and_end, NULL) == 0 && pthread_join(thread, NULL) == 0);
  EXPECT(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  printf("the thread that forked has ended\n");
  reap_orphans();
  printf("orphans have come back\n");
  arguments();
  return 0;
}
