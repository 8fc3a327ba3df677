// posix_spawn returns errors for a missing program and for failing file actions; no child is left.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

extern char** environ;

int main(void) {
  char* const arguments[] = {"program", NULL};
  pid_t child = -1;
  printf("not there: %s\n",
         strerrorname_np(posix_spawn(&child, "/nothing/there", NULL, NULL, arguments, environ)));
  printf("in no folder of PATH: %s\n", strerrorname_np(posix_spawnp(&child, "a-program-that-is-not-there",
                                                                    NULL, NULL, arguments, environ)));
  printf("not a program: %s\n",
         strerrorname_np(posix_spawn(&child, "/etc/passwd", NULL, NULL, arguments, environ)));
  printf("a folder: %s\n", strerrorname_np(posix_spawn(&child, "/tmp", NULL, NULL, arguments, environ)));
  posix_spawn_file_actions_t actions;
  EXPECT(posix_spawn_file_actions_init(&actions) == 0);
  EXPECT(posix_spawn_file_actions_addopen(&actions, 7, "/nothing/there", O_RDONLY, 0) == 0);
  printf("file action: %s\n",
         strerrorname_np(posix_spawn(&child, "/bin/true", &actions, NULL, arguments, environ)));
  EXPECT(posix_spawn_file_actions_destroy(&actions) == 0);
  EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);

  posix_spawnattr_t attributes;
  sigset_t set;
  sigemptyset(&set);
  EXPECT(posix_spawnattr_init(&attributes) == 0);
  EXPECT(posix_spawnattr_setpgroup(&attributes, 0) == 0 &&
         posix_spawnattr_setsigmask(&attributes, &set) == 0);
  EXPECT(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK) == 0);
  EXPECT(posix_spawn(&child, "/bin/sleep", NULL, &attributes, (char*[]){"sleep", "100", NULL}, environ) == 0);
  EXPECT(getpgid(child) == child && kill(-child, SIGTERM) == 0);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT(posix_spawnp(&child, "sh", NULL, NULL, (char*[]){"sh", "-c", "exit 9", NULL}, environ) == 0);
  EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
  printf("in a group of its own: ended by TERM; then 9\n");
  return 0;
}
