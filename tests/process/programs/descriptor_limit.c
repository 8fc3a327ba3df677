// RLIMIT_NOFILE limits the numbers of descriptors of every kind, and nothing else.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void limit(rlim_t most) {
  struct rlimit limits;
  EXPECT(getrlimit(RLIMIT_NOFILE, &limits) == 0);
  limits.rlim_cur = most;
  EXPECT(setrlimit(RLIMIT_NOFILE, &limits) == 0);
}

int main(void) {
  EXPECT(close_range(3, ~0u, 0) == 0);
  limit(20);
  int fd, count = 0;
  while ((fd = count % 2 == 0 ? socket(AF_INET, SOCK_DGRAM, 0) : open("/dev/null", O_RDONLY)) >= 0) ++count;
  printf("%d, then errno %d\n", count, errno);
  int ends[2];
  EXPECT(pipe(ends) == -1 && errno == EMFILE);
  EXPECT(eventfd(0, 0) == -1 && errno == EMFILE);
  EXPECT(dup(5) == -1 && errno == EMFILE);
  EXPECT(dup2(5, 20) == -1 && errno == EBADF);
  EXPECT(dup2(5, 19) == 19);
  EXPECT(fcntl(5, F_DUPFD, 20) == -1 && errno == EINVAL);
  EXPECT(close(19) == 0);
  EXPECT(pipe(ends) == -1 && errno == EMFILE);  // one number is not enough
  EXPECT(socket(AF_INET, SOCK_STREAM, 0) == 19);
  limit(21);
  EXPECT(eventfd(0, 0) == 20);
  limit(10);  // open descriptors stay open
  char byte = 1;
  EXPECT(write(12, &byte, 1) == -1 && errno == EBADF);  // /dev/null, for reading only
  EXPECT(close(5) == 0);
  int type;
  socklen_t length = sizeof type;
  EXPECT(dup2(5, 7) == -1 && errno == EBADF && getsockopt(7, SOL_SOCKET, SO_TYPE, &type, &length) == 0);
  EXPECT(dup2(5, 5) == -1 && errno == EBADF && dup2(12, 12) == 12);
  EXPECT(dup3(5, 5, 0) == -1 && errno == EINVAL);
  EXPECT(eventfd(0, 0) == 5);
  EXPECT(eventfd(0, 0) == -1 && errno == EMFILE);
  printf("as asked\n");
  return 0;
}
