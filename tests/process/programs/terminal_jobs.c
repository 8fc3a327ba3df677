// Job control: a session with a terminal, keys that send signals, background processes, effects of the terminal's end.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int master;
static char name[64];
static int told[2];  // a pipe for messages of the session

static void tell(char what) { EXPECT(write(told[1], &what, 1) == 1); }
static void hear(char expected) {
  char what = 0;
  EXPECT(read(told[0], &what, 1) == 1);
  if (what != expected) printf("heard %c instead of %c\n", what, expected);
  EXPECT(what == expected);
}
static void type(const char* keys) { EXPECT(write(master, keys, strlen(keys)) == (ssize_t)strlen(keys)); }

static volatile sig_atomic_t hung_up, resized;
static void on_signal(int signal) { signal == SIGHUP ? (hung_up = 1) : (resized = 1); }

// Starts the job in a process group of its own, in the foreground or in the background.
static pid_t start_job(int in_foreground, void (*job)(void)) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    setpgid(0, 0);
    if (in_foreground) {
      signal(SIGTTOU, SIG_IGN);
      EXPECT(tcsetpgrp(0, getpid()) == 0);
    }
    signal(SIGTTOU, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGHUP, SIG_DFL);
    job();
    _exit(7);
  }
  setpgid(child, child);
  return child;
}

static void sleeps(void) {
  tell('s');
  for (;;) pause();
}
static void reads(void) {
  char line[16];
  tell('r');
  const ssize_t n = read(0, line, sizeof line);
  _exit(n == 3 && memcmp(line, "go\n", 3) == 0 ? 11 : 12);
}
static void sets(void) {
  struct termios settings;
  tell('t');
  EXPECT(tcgetattr(0, &settings) == 0 && tcsetattr(0, TCSANOW, &settings) == 0);
  _exit(13);
}

static void lead(void) {
  int status;
  EXPECT(setsid() == getpid());
  const int terminal = open(name, O_RDWR);
  EXPECT(terminal >= 0 && dup2(terminal, 0) == 0);
  EXPECT(tcgetsid(0) == getpid() && tcgetpgrp(0) == getpid());
  const int own = open("/dev/tty", O_RDWR);
  EXPECT(own >= 0 && isatty(own) && close(own) == 0);
  struct sigaction action = {.sa_handler = on_signal};
  EXPECT(sigaction(SIGHUP, &action, NULL) == 0 && sigaction(SIGWINCH, &action, NULL) == 0);
  signal(SIGTTOU, SIG_IGN);
  sigset_t caught, none;
  sigemptyset(&none);
  sigemptyset(&caught);
  sigaddset(&caught, SIGHUP);
  sigaddset(&caught, SIGWINCH);
  EXPECT(sigprocmask(SIG_BLOCK, &caught, NULL) == 0);

  pid_t job = start_job(1, sleeps);  // Ctrl-Z, then continued
  EXPECT(waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
  EXPECT(tcsetpgrp(0, getpid()) == 0);
  tell('z');
  EXPECT(kill(-job, SIGCONT) == 0 && waitpid(job, &status, WCONTINUED) == job && WIFCONTINUED(status));
  EXPECT(tcsetpgrp(0, job) == 0);
  tell('c');
  EXPECT(waitpid(job, &status, 0) == job && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  EXPECT(tcsetpgrp(0, getpid()) == 0);

  job = start_job(0, reads);  // a background reader is stopped
  EXPECT(waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN);
  EXPECT(kill(-job, SIGCONT) == 0);
  EXPECT(waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN);
  EXPECT(tcsetpgrp(0, job) == 0 && kill(-job, SIGCONT) == 0);
  tell('f');
  EXPECT(waitpid(job, &status, 0) == job && WIFEXITED(status) && WEXITSTATUS(status) == 11);
  EXPECT(tcsetpgrp(0, getpid()) == 0);

  job = start_job(0, sets);  // and a background process that changes it
  EXPECT(waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTOU);
  EXPECT(tcsetpgrp(0, job) == 0 && kill(-job, SIGCONT) == 0);
  EXPECT(waitpid(job, &status, 0) == job && WIFEXITED(status) && WEXITSTATUS(status) == 13);
  EXPECT(tcsetpgrp(0, getpid()) == 0);
  EXPECT(tcsetpgrp(0, 999999) == -1 && errno == ESRCH);

  tell('w');
  while (!resized) sigsuspend(&none);
  tell('h');
  while (!hung_up) sigsuspend(&none);
  char byte;
  EXPECT(read(0, &byte, 1) == 0);
  tell('e');
  _exit(21);
}

int main(void) {
  int status;
  master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  snprintf(name, sizeof name, "%s", ptsname(master));
  EXPECT(pipe(told) == 0);
  const pid_t leader = fork();
  EXPECT(leader >= 0);
  if (leader == 0) {
    close(master);
    lead();
  }
  hear('s');
  type("\032");
  hear('z');
  hear('c');
  type("\003");
  hear('r');
  hear('f');
  type("go\r");
  hear('t');
  hear('w');
  const struct winsize size = {50, 132, 0, 0};
  EXPECT(ioctl(master, TIOCSWINSZ, &size) == 0);
  hear('h');
  EXPECT(close(master) == 0);
  hear('e');
  EXPECT(waitpid(leader, &status, 0) == leader && WIFEXITED(status) && WEXITSTATUS(status) == 21);
  printf("jobs at a terminal\n");
  return 0;
}
