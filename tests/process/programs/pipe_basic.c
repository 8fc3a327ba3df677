// Bytes through a pipe, end of file, a missing reader, types and numbers of descriptors.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  printf("numbers %d %d\n", ends[0], ends[1]);
  struct stat status;
  EXPECT(fstat(ends[0], &status) == 0 && S_ISFIFO(status.st_mode));
  EXPECT((fcntl(ends[0], F_GETFL) & O_ACCMODE) == O_RDONLY &&
         (fcntl(ends[1], F_GETFL) & O_ACCMODE) == O_WRONLY);
  EXPECT(lseek(ends[0], 0, SEEK_SET) == -1 && errno == ESPIPE);
  char bytes[16];
  EXPECT(write(ends[1], "hello", 5) == 5 && write(ends[1], "you", 3) == 3);
  int available = 0;
  EXPECT(ioctl(ends[0], FIONREAD, &available) == 0 && available == 8);
  EXPECT(read(ends[0], bytes, 6) == 6 && memcmp(bytes, "helloy", 6) == 0);
  EXPECT(read(ends[0], bytes, 16) == 2 && memcmp(bytes, "ou", 2) == 0);
  EXPECT(read(ends[1], bytes, 1) == -1 && errno == EBADF);
  EXPECT(write(ends[0], bytes, 1) == -1 && errno == EBADF);
  struct pollfd ready = {ends[0], POLLIN, 0};
  EXPECT(poll(&ready, 1, 0) == 0);
  EXPECT(write(ends[1], "", 0) == 0 && poll(&ready, 1, 0) == 0);
  EXPECT(close(ends[1]) == 0 && poll(&ready, 1, -1) == 1 && ready.revents == POLLHUP);
  EXPECT(read(ends[0], bytes, 1) == 0);
  EXPECT(close(ends[0]) == 0 && close(ends[0]) == -1 && errno == EBADF);

  EXPECT(pipe2(ends, O_CLOEXEC) == 0 && (fcntl(ends[0], F_GETFD) & FD_CLOEXEC) != 0);
  signal(SIGPIPE, SIG_IGN);
  close(ends[0]);
  EXPECT(write(ends[1], "x", 1) == -1 && errno == EPIPE);
  ready = (struct pollfd){ends[1], POLLOUT, 0};
  EXPECT(poll(&ready, 1, 0) == 1 && (ready.revents & POLLERR) != 0);
  EXPECT(pipe2(ends, 0x40000000) == -1 && errno == EINVAL);
  printf("pipe: done\n");
  return 0;
}
