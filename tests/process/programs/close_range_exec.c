// close_range with CLOSE_RANGE_CLOEXEC: descriptors of any kind remain open until exec, which closes them.
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void tell(const char* when) {
  printf("%s:", when);
  for (int fd = 0; fd < 10; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    printf(" %s", flags < 0 ? "-" : (flags & FD_CLOEXEC) != 0 ? "closes" : "stays");
  }
  printf("\n");
  fflush(stdout);
}

int main(int count, char** arguments) {
  if (count > 1) {
    tell("after exec");
    return 0;
  }
  int ends[2], pair[2];
  EXPECT(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  EXPECT(eventfd(0, 0) == 7 && open("/dev/null", O_RDWR) == 8 && open("/proc/self/stat", O_RDONLY) == 9);
  EXPECT(syscall(SYS_close_range, 5, ~0u, CLOSE_RANGE_CLOEXEC) == 0);
  EXPECT(fcntl(9, F_SETFD, 0) == 0);
  EXPECT(write(ends[1], "x", 1) == 1 && write(pair[0], "y", 1) == 1);
  tell("before exec");
  EXPECT(syscall(SYS_close_range, 5, 3, CLOSE_RANGE_CLOEXEC) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_close_range, 3, 5, 64) == -1 && errno == EINVAL);
  execv("/proc/self/exe", (char*[]){arguments[0], "again", NULL});
  return 1;
}
