// exec of invalid files fails, and the program continues.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  char* argv[] = {"x", NULL};
  char* envp[] = {NULL};
  char path[] = "/tmp/verbatim-exec-XXXXXX";
  const int fd = mkstemp(path);
  write(fd, "not a program\n", 14);
  fchmod(fd, 0644);
  close(fd);
  execve("/no/such/file", argv, envp);
  printf("%s\n", strerror(errno));
  execve("/tmp", argv, envp);
  printf("%s\n", strerror(errno));
  execve(path, argv, envp);
  printf("%s\n", strerror(errno));
  chmod(path, 0755);
  execve(path, argv, envp);
  printf("%s\n", strerror(errno));
  execve("", argv, envp);
  printf("%s\n", strerror(errno));
  const char* volatile nowhere = (const char*)8;
  execve(nowhere, argv, envp);
  printf("%s\n", strerror(errno));
  unlink(path);
  return 0;
}
