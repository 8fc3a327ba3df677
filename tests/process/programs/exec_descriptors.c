// Descriptors across exec: files keep their position; those with close-on-exec are closed.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// Descriptors 0 to 2 that are closed stay closed. Shows them by descriptor 9.
static void show_standard(int first_closed, int last_closed) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(1, 9);
    for (int fd = first_closed; fd <= last_closed; ++fd) close(fd);
    execl("/bin/sh", "sh", "-c", "for i in 0 1 2; do [ -e /proc/self/fd/$i ] && echo \"$i is open\" >&9; done; exit 5", (char*)NULL);
    _exit(127);
  }
  int status;
  waitpid(child, &status, 0);
  printf("closed %d to %d: exit %d\n", first_closed, last_closed, WEXITSTATUS(status));
  fflush(stdout);
}

int main(void) {
  char path[] = "/tmp/verbatim-descriptors-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  write(file, "first\nsecond\n", 13);
  lseek(file, 6, SEEK_SET);
  dup2(file, 7);
  dup3(file, 8, O_CLOEXEC);
  dup2(1, 9);
  fcntl(file, F_SETFD, FD_CLOEXEC);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c",
          "read line <&7; echo \"read $line\"; (: <&8) 2>/dev/null || echo 8 is closed; echo through 9 >&9; "
          "echo third >&7",
          (char*)NULL);
    _exit(127);
  }
  int status;
  waitpid(child, &status, 0);
  char line[32] = {0};
  pread(file, line, sizeof line - 1, 13);
  printf("exit %d, appended %s", WEXITSTATUS(status), line);
  fflush(stdout);
  for (int fd = 0; fd < 3; ++fd) show_standard(fd, fd);
  show_standard(0, 2);
  return 0;
}
