// Descriptors that only name a file (O_PATH), and opens of a named pipe that do not wait for its other end.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int error_of(long result) { return result < 0 ? errno : 0; }

int main(void) {
  char folder[] = "/tmp/path_descriptors_XXXXXX", byte;
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0 && mkfifo("pipe", 0600) == 0 && symlink("pipe", "link") == 0);
  EXPECT(error_of(open("pipe", O_RDONLY | O_DIRECTORY)) == ENOTDIR);
  EXPECT(error_of(open("pipe", O_RDONLY | O_CREAT | O_EXCL, 0600)) == EEXIST);
  EXPECT(error_of(open("link", O_RDONLY | O_NOFOLLOW)) == ELOOP);
  struct stat status;
  int fd = open("pipe", O_PATH);
  EXPECT(fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode));
  EXPECT(error_of(read(fd, &byte, 1)) == EBADF && close(fd) == 0);
  fd = open("pipe", O_RDWR | O_NOFOLLOW);
  EXPECT(fd >= 0 && write(fd, "x", 1) == 1 && read(fd, &byte, 1) == 1 && close(fd) == 0);

  EXPECT((fd = open(".", O_PATH)) >= 0);
  struct sockaddr name = {.sa_family = AF_UNIX};
  EXPECT(error_of(accept(fd, NULL, NULL)) == EBADF && error_of(bind(fd, &name, sizeof name)) == EBADF);
  EXPECT(error_of(listen(fd, 1)) == EBADF && error_of(send(fd, "x", 1, 0)) == EBADF);
  struct pollfd entry = {.fd = fd, .events = POLLIN};
  EXPECT(poll(&entry, 1, 0) == 1 && entry.revents == POLLNVAL);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  EXPECT(select(fd + 1, &set, NULL, NULL, NULL) == 1);
  const int copy = dup(fd), number = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  EXPECT(copy >= 0 && number >= 0 && fchdir(copy) == 0 && faccessat(number, "pipe", F_OK, 0) == 0);
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(error_of(accept4(socket_fd, NULL, NULL, 1 << 20)) == EINVAL);
  EXPECT(error_of(dup3(fd, copy, -1)) == EINVAL && error_of(dup3(-1, copy, O_APPEND)) == EINVAL);
  EXPECT(unlink("link") == 0 && unlink("pipe") == 0 && rmdir(folder) == 0);
  printf("descriptors that name files: done\n");
  return 0;
}
