// posix_spawn with file actions and attributes.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

int main(void) {
  char* argv[] = {"sh", "-c", "echo spawned; echo hidden >&2; exit 8", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child;
  const int spawned = posix_spawn(&child, "/bin/sh", &actions, &attributes, argv, environ);
  int status;
  waitpid(child, &status, 0);
  printf("spawn: %d, exit %d\n", spawned, WEXITSTATUS(status));
  printf("by name: %d\n", posix_spawnp(&child, "true", NULL, NULL, (char*[]){"true", NULL}, environ));
  waitpid(child, &status, 0);
  printf("exit %d\n", WEXITSTATUS(status));
  return 0;
}
