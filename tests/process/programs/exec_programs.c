// exec in the same process: arguments, environment, exit code, and the same process id. The variables for
// another program's loader are still in the environment.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(char* const argv[], char* const envp[]) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execve(argv[0], argv, envp);
    _exit(127);
  }
  int status;
  waitpid(child, &status, 0);
  printf("exit %d\n", WEXITSTATUS(status));
}

int main(void) {
  char* empty[] = {NULL};
  char* some[] = {"COLOUR=blue", "EMPTY=", "PATH=/usr/bin:/bin", NULL};
  run((char*[]){"/bin/echo", "one", "", "two words", NULL}, empty);
  run((char*[]){"/usr/bin/env", NULL}, some);
  run((char*[]){"/usr/bin/env", "-i", "ONLY=this", "/usr/bin/env", NULL}, some);
  run((char*[]){"/bin/sh", "-c", "echo $COLOUR; exit 5", NULL}, some);
  run((char*[]){"/bin/sh", "-c", "a=$$; exec /bin/sh -c \"[ \\$\\$ = $a ] && echo same process\"", NULL}, some);
  char* loader[] = {"LD_PRELOAD=libm.so.6", "GLIBC_TUNABLES=glibc.malloc.perturb=1", "PATH=/usr/bin:/bin", NULL};
  run((char*[]){"/bin/sh", "-c", "env | grep -E '^(LD|GLIBC)_' | sort; grep -q libm.so.6 /proc/self/maps", NULL}, loader);
  char parent[64];
  snprintf(parent, sizeof parent, "[ $PPID = %d ] && echo child of the same process", (int)getpid());
  run((char*[]){"/bin/sh", "-c", parent, NULL}, loader);
  printf("system: %d\n", WEXITSTATUS(system("exit 6")));
  return 0;
}
