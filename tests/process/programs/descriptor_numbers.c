// The lowest free number, dup, dup2 onto the standard streams, F_DUPFD, close-on-exec, closing ranges.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0 && ends[0] == 3 && ends[1] == 4);
  EXPECT(dup(ends[0]) == 5 && open("/dev/null", O_RDONLY) == 6 && eventfd(0, 0) == 7);
  EXPECT(close(4) == 0 && socket(AF_INET, SOCK_STREAM, 0) == 4);
  EXPECT(fcntl(3, F_DUPFD, 5) == 8 && fcntl(3, F_DUPFD_CLOEXEC, 100) == 100);
  EXPECT(fcntl(100, F_GETFD) == FD_CLOEXEC && fcntl(8, F_GETFD) == 0);
  EXPECT(fcntl(8, F_SETFD, FD_CLOEXEC) == 0 && fcntl(8, F_GETFD) == FD_CLOEXEC);
  EXPECT(dup2(3, 3) == 3 && dup3(3, 3, 0) == -1 && errno == EINVAL);
  EXPECT(dup2(77, 3) == -1 && errno == EBADF);
  EXPECT(close_range(5, 200, 0) == 0 && fcntl(5, F_GETFD) == -1 && fcntl(100, F_GETFD) == -1);
  EXPECT(write(7, "12345678", 8) == -1 && errno == EBADF);

  // Standard input from a pipe, standard output into one.
  int in[2], out[2];
  EXPECT(pipe(in) == 0 && pipe(out) == 0);
  const int keep = dup(1);
  EXPECT(write(in[1], "typed\n", 6) == 6 && dup2(in[0], 0) == 0 && close(in[1]) == 0);
  char line[32];
  EXPECT(fgets(line, sizeof line, stdin) != NULL && strcmp(line, "typed\n") == 0);
  EXPECT(fgets(line, sizeof line, stdin) == NULL);
  EXPECT(dup2(out[1], 1) == 1);
  printf("into the pipe\n");
  fflush(stdout);
  EXPECT(dup2(keep, 1) == 1 && read(out[0], line, sizeof line) == 14 &&
         memcmp(line, "into the pipe\n", 14) == 0);
  close(0);
  EXPECT(dup(out[0]) == 0);
  // Every request for a closed descriptor fails in the same way.
  const int closed = open("/etc/hostname", O_RDONLY);
  EXPECT(closed >= 0 && close(closed) == 0);
  const unsigned long requests[] = {TIOCGPGRP, TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FS_IOC_GETFLAGS};
  for (unsigned i = 0; i < sizeof requests / sizeof *requests; ++i)
    EXPECT(ioctl(closed, requests[i], line) == -1 && errno == EBADF);
  const int commands[] = {F_GETFL, F_GETOWN, F_GETSIG, F_GETLEASE, F_GETLK};
  for (unsigned i = 0; i < sizeof commands / sizeof *commands; ++i)
    EXPECT(fcntl(closed, commands[i], line) == -1 && errno == EBADF);
  printf("numbers: done\n");
  return 0;
}
