// A daemon: two forks, a session, no standard streams; its parent exits, it continues and is signalled to end.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t told;
static void on_term(int signal) { told = signal; }

static void work(int tell) {
  struct sigaction action = {.sa_handler = on_term};
  sigaction(SIGTERM, &action, NULL);
  const pid_t me = getpid();
  const int leads = getsid(0) == me;
  EXPECT(write(tell, &me, sizeof me) == sizeof me && write(tell, &leads, sizeof leads) == sizeof leads);
  while (!told) pause();
  const int end = 4711;
  EXPECT(write(tell, &end, sizeof end) == sizeof end);
  _exit(0);
}

int main(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  const pid_t first = fork();
  if (first == 0) {
    close(ends[0]);
    setsid();
    if (fork() != 0) _exit(0);
    EXPECT(chdir("/") == 0);
    umask(0);
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    if (null > 2) close(null);
    work(ends[1]);
  }
  close(ends[1]);
  int status, leads, end;
  pid_t daemon_pid;
  EXPECT(waitpid(first, &status, 0) == first && status == 0);
  EXPECT(read(ends[0], &daemon_pid, sizeof daemon_pid) == sizeof daemon_pid);
  EXPECT(read(ends[0], &leads, sizeof leads) == sizeof leads);
  printf("daemon: not my child %d, leads its session %d\n",
         waitpid(daemon_pid, NULL, 0) == -1 && errno == ECHILD, leads);
  EXPECT(getsid(daemon_pid) == first && kill(daemon_pid, 0) == 0 && kill(daemon_pid, SIGTERM) == 0);
  EXPECT(read(ends[0], &end, sizeof end) == sizeof end && end == 4711);
  printf("told to end: closed %d\n", read(ends[0], &end, 1) == 0);

  EXPECT(pipe(ends) == 0);
  if (fork() == 0) {
    EXPECT(daemon(0, 1) == 0);
    EXPECT(write(ends[1], "d", 1) == 1);
    _exit(0);
  }
  char c;
  EXPECT(wait(&status) > 0 && read(ends[0], &c, 1) == 1);
  printf("daemon(3): %c\n", c);
  return 0;
}
