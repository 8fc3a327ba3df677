// fsync, fdatasync and syncfs of files and folders of each kind.
#include <fcntl.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void show(const char* name, int fd) {
  printf("%s:", name);
  const int results[] = {fsync(fd) == 0 ? 0 : errno, fdatasync(fd) == 0 ? 0 : errno, syncfs(fd) == 0 ? 0 : errno};
  for (int i = 0; i < 3; ++i) printf(" %s", results[i] == 0 ? "done" : strerror(results[i]));
  printf("\n");
}

int main(void) {
  const char* const paths[] = {".", "/tmp", "/etc/passwd", "/dev/null", "/dev", "/proc", "/proc/self/stat", "/sys/kernel", "/dev/shm"};
  for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
    const int fd = open(paths[i], O_RDONLY);
    EXPECT(fd >= 0);
    show(paths[i], fd);
    close(fd);
  }
  int ends[2];
  EXPECT(pipe(ends) == 0);
  show("a pipe", ends[0]);
  show("nothing", -1);
  return 0;
}
