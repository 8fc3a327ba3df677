// Opens as many descriptors as the first argument says, of every kind; files of the real file system only among the first ones,
// as many as the second argument says. The last ones work like the first, and when numbers run out Linux' error is returned.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int most, most_files;

static int is_file(int fd) { return fd % 5 == 0 && fd < most_files; }

static int open_one(int fd) {
  if (is_file(fd)) return open("/dev/null", O_RDWR);
  switch (fd % 5) {
    case 1:
      return socket(AF_INET, SOCK_DGRAM, 0);
    case 2:
      return socket(AF_UNIX, SOCK_DGRAM, 0);
    case 3:
      return dup(2);
    default:
      return eventfd(0, EFD_NONBLOCK);
  }
}

static void expect_no_more(void) {
  int ends[2];
  EXPECT(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
  EXPECT(socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EMFILE);
  EXPECT(pipe(ends) == -1 && errno == EMFILE);
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1 && errno == EMFILE);
  EXPECT(eventfd(0, 0) == -1 && errno == EMFILE);
  EXPECT(epoll_create1(0) == -1 && errno == EMFILE);
  EXPECT(memfd_create("memory", 0) == -1 && errno == EMFILE);
  EXPECT(dup(0) == -1 && errno == EMFILE && dup(5) == -1 && errno == EMFILE && dup(6) == -1 && errno == EMFILE);
  EXPECT(fcntl(0, F_DUPFD, 0) == -1 && errno == EMFILE && fcntl(6, F_DUPFD, 3) == -1 && errno == EMFILE);
  for (int fd = 5; fd < 7; ++fd) {  // a file, a socket
    EXPECT(fcntl(fd, F_DUPFD, most) == -1 && errno == EINVAL && fcntl(fd, F_DUPFD, -1) == -1 && errno == EINVAL);
    EXPECT(dup2(fd, most) == -1 && errno == EBADF && dup2(fd, -1) == -1 && errno == EBADF);
    EXPECT(dup3(fd, most, 0) == -1 && errno == EBADF);
  }
  EXPECT(fcntl(most, F_GETFD) == -1 && errno == EBADF && close(most) == -1 && errno == EBADF);
  EXPECT(dup(most) == -1 && errno == EBADF && dup2(most, 3) == -1 && errno == EBADF);
}

// The lowest free number is used, whatever it was used for.
static void expect_lowest(int fd, int other) {
  EXPECT(close(fd) == 0 && close(other) == 0 && open_one(fd) == fd && open_one(other) == other);
  EXPECT(close(other) == 0 && close(fd) == 0 && open_one(fd + 1) == fd && open_one(other) == other);
  EXPECT(close(fd) == 0 && open_one(fd) == fd);
}

static int count_listed(int last) {
  DIR* const folder = opendir("/proc/self/fd");
  EXPECT(folder != NULL);
  int count = 0, highest = -1;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    ++count;
    if (atoi(entry->d_name) > highest) highest = atoi(entry->d_name);
  }
  closedir(folder);
  EXPECT(highest == last);
  return count;
}

static void expect_ready(int reader, int writer) {
  struct pollfd* const set = calloc(most + 1, sizeof *set);
  for (int i = 0; i <= most; ++i) set[i] = (struct pollfd){i < 3 || is_file(i) || i % 5 == 3 ? -1 : i, POLLIN, 0};
  set[most].fd = -1;
  set[reader].fd = reader;
  EXPECT(poll(set, most, 0) == 0);
  EXPECT(poll(set, most + 1, 0) == -1 && errno == EINVAL);
  EXPECT(write(writer, "x", 1) == 1 && poll(set, most, -1) == 1 && set[reader].revents == POLLIN);
  const size_t bytes = ((size_t)most + 63) / 64 * 8;
  fd_set* const large = calloc(1, bytes);
  ((unsigned char*)large)[reader / 8] |= 1 << reader % 8;
  EXPECT(select(reader + 1, large, NULL, NULL, NULL) == 1 && (((unsigned char*)large)[reader / 8] >> reader % 8 & 1) == 1);
  free(set);
  free(large);
}

static void expect_events(int epoll, int reader) {
  int watched = 0;
  for (int fd = 3; fd < most; ++fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (fd == epoll || (fd % 5 == 3 && fd != reader)) continue;
    if (is_file(fd)) {
      EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == -1 && errno == EPERM);
      continue;
    }
    EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    ++watched;
  }
  struct epoll_event events[8];
  int n, found = 0;
  while ((n = epoll_wait(epoll, events, 8, 0)) > 0) {
    for (int i = 0; i < n; ++i) {
      found |= events[i].data.fd == reader && events[i].events == EPOLLIN;
      EXPECT(epoll_ctl(epoll, EPOLL_CTL_DEL, events[i].data.fd, NULL) == 0);
    }
  }
  EXPECT(found);
  printf("epoll: %d watched\n", watched);
}

static void expect_passed(int way_in, int way_out, int fd, int number) {
  struct iovec part = {"x", 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
  } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  EXPECT(sendmsg(way_in, &message, 0) == 1);
  char byte;
  part.iov_base = &byte;
  EXPECT(recvmsg(way_out, &message, MSG_CMSG_CLOEXEC) == 1 && control.header.cmsg_len == CMSG_LEN(sizeof(int)));
  int got;
  memcpy(&got, CMSG_DATA(&control.header), sizeof got);
  EXPECT(got == number && fcntl(got, F_GETFD) == FD_CLOEXEC);
}

static int executed(int writer, int closed, int open) {
  EXPECT(fcntl(closed, F_GETFD) == -1 && errno == EBADF && fcntl(open, F_GETFD) == 0);
  EXPECT(count_listed(most - 2) == most - 1);
  EXPECT(write(writer, "y", 1) == 1);
  return 0;
}

int main(int argc, char** argv) {
  EXPECT(argc > 2);
  most = atoi(argv[1]);
  most_files = atoi(argv[2]);
  if (argc > 5) return executed(atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
  struct rlimit limit;
  EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = most;
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  EXPECT(close_range(3, ~0u, 0) == 0);
  for (int fd = 3; fd < most; ++fd) EXPECT(open_one(fd) == fd);
  expect_no_more();
  printf("%d descriptors\n", most);

  expect_lowest(1019, 1021);
  expect_lowest(1024, 1025);
  expect_lowest(1026, 1030);
  expect_lowest(10, 1050);
  expect_lowest(1024, most - 4);
  expect_no_more();

  // The last ones are a pipe and an epoll instance.
  const int reader = most - 3, writer = most - 2, epoll = most - 1;
  EXPECT(close(reader) == 0 && close(writer) == 0 && close(epoll) == 0);
  int ends[2];
  EXPECT(pipe(ends) == 0 && ends[0] == reader && ends[1] == writer && epoll_create1(EPOLL_CLOEXEC) == epoll);
  expect_ready(reader, writer);
  expect_events(epoll, reader);
  char byte;
  EXPECT(read(reader, &byte, 1) == 1 && byte == 'x');

  EXPECT(close(20) == 0);
  printf("/proc/self/fd: %d\n", count_listed(most - 1));
  EXPECT(socket(AF_INET, SOCK_DGRAM, 0) == 20);

  // Copies and programs have them too, but for those that are closed by exec.
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(fcntl(epoll, F_GETFD) == FD_CLOEXEC && fcntl(writer, F_GETFD) == 0);
    EXPECT(fcntl(reader, F_SETFD, FD_CLOEXEC) == 0 && fcntl(reader, F_GETFD) == FD_CLOEXEC);
    EXPECT(fcntl(reader, F_SETFD, 0) == 0 && fcntl(reader, F_GETFD) == 0);
    EXPECT(ioctl(reader, FIOCLEX) == 0 && fcntl(reader, F_GETFD) == FD_CLOEXEC);
    EXPECT(ioctl(reader, FIONCLEX) == 0 && fcntl(reader, F_GETFD) == 0);
    EXPECT(close(21) == 0 && open("/dev/null", O_RDONLY) == 21 && eventfd(0, 0) == -1 && errno == EMFILE);
    EXPECT(close(22) == 0);
    char numbers[3][16];
    snprintf(numbers[0], 16, "%d", writer);
    snprintf(numbers[1], 16, "%d", epoll);
    snprintf(numbers[2], 16, "%d", reader);
    execl("/proc/self/exe", argv[0], argv[1], argv[2], numbers[0], numbers[1], numbers[2], NULL);
    _exit(127);
  }
  int status;
  EXPECT(child > 0 && read(reader, &byte, 1) == 1 && byte == 'y');
  EXPECT(waitpid(child, &status, 0) == child);
  printf("child: %d\n", WEXITSTATUS(status));

  EXPECT(close(1024) == 0 && close(1025) == 0 && close(1026) == 0);
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && ends[0] == 1024 && ends[1] == 1025);
  expect_passed(1024, 1025, reader, 1026);
  EXPECT(close(1026) == 0);
  expect_passed(1025, 1024, 5, 1026);  // a file

  EXPECT(close_range(1000, most - 5, CLOSE_RANGE_CLOEXEC) == 0 && fcntl(most - 5, F_GETFD) == FD_CLOEXEC &&
         fcntl(999, F_GETFD) == 0 && fcntl(writer, F_GETFD) == 0);
  EXPECT(close_range(1020, ~0u, 0) == 0 && fcntl(1020, F_GETFD) == -1 && fcntl(most - 1, F_GETFD) == -1);
  EXPECT(fcntl(1019, F_GETFD) == FD_CLOEXEC && open("/dev/null", O_RDONLY) == 1020 && eventfd(0, 0) == 1021);
  EXPECT(most_files < most || fcntl(5, F_DUPFD, most - 1) == most - 1);
  EXPECT(dup2(1021, most - 2) == most - 2 && fcntl(6, F_DUPFD_CLOEXEC, 1022) == 1022);
  EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == (rlim_t)most);
  limit.rlim_cur = 100;  // what is open stays open
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0 && fcntl(1021, F_GETFD) == 0 && dup(5) == -1 && errno == EMFILE);
  printf("as asked\n");
  return 0;
}
