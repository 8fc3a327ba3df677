// exec of a file that is open for writing fails; it succeeds once the writer has closed it.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(int argc, char** argv) {
  if (argc > 1) {
    printf("executed\n");
    return 0;
  }
  char copy[] = "/tmp/exec_busy_XXXXXX";
  const int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(copy);
  struct stat status;
  EXPECT(from >= 0 && to >= 0 && fstat(from, &status) == 0);
  for (off_t left = status.st_size; left > 0;) {
    const ssize_t n = sendfile(to, from, NULL, (size_t)left);
    EXPECT(n > 0);
    left -= n;
  }
  EXPECT(fchmod(to, 0755) == 0);
  char* arguments[] = {argv[0], "again", NULL};
  char* environment[] = {NULL};
  EXPECT(execve(copy, arguments, environment) == -1 && errno == ETXTBSY);
  EXPECT(close(to) == 0);
  const pid_t child = fork();
  if (child == 0) {
    execve(copy, arguments, environment);
    _exit(1);
  }
  int result;
  EXPECT(waitpid(child, &result, 0) == child && result == 0 && unlink(copy) == 0);
  return 0;
}
