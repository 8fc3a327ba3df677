// Working directory, file mode mask and limits are inherited by fork and exec.
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  chdir("/usr");
  umask(027);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "pwd; umask", (char*)NULL);
    _exit(127);
  }
  waitpid(child, NULL, 0);
  return 0;
}
