// Descriptors in messages: a pipe travels, stays open on its way, and counts as open at its end.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void send_fds(int socket, const int* fds, int count) {
  char control[CMSG_SPACE(sizeof(int) * 8)] = {0};
  struct iovec part = {"x", 1};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * count);
  memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
  EXPECT(sendmsg(socket, &message, 0) == 1);
}

static int receive_fds(int socket, int* fds, int room, int* flags) {
  char control[CMSG_SPACE(sizeof(int) * 8)], byte;
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = room > 0 ? CMSG_LEN(sizeof(int) * room) : 0};
  EXPECT(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
  *flags = message.msg_flags & ~MSG_CMSG_CLOEXEC;
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == NULL) return 0;
  EXPECT(header->cmsg_type == SCM_RIGHTS);
  const int count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  memcpy(fds, CMSG_DATA(header), sizeof(int) * count);
  return count;
}

int main(void) {
  int pair[2], ends[2], got[8], flags;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
  EXPECT(write(ends[1], "inside", 6) == 6);
  send_fds(pair[0], ends, 2);
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0);
  const int count = receive_fds(pair[1], got, 8, &flags);
  printf("%d descriptors: %d %d, flags %d\n", count, got[0], got[1], flags);
  EXPECT(fcntl(got[0], F_GETFD) == FD_CLOEXEC);
  char bytes[8];
  EXPECT(read(got[0], bytes, 8) == 6 && memcmp(bytes, "inside", 6) == 0);
  EXPECT(close(got[1]) == 0 && read(got[0], bytes, 8) == 0);

  // No room for the second: it is closed on arrival, and its pipe ends.
  EXPECT(pipe(ends) == 0);
  const int two[2] = {got[0], ends[1]};
  send_fds(pair[0], two, 2);
  close(ends[1]);
  printf("room for one: %d", receive_fds(pair[1], got, 1, &flags));
  printf(", flags %s\n", flags == MSG_CTRUNC ? "MSG_CTRUNC" : "wrong");
  EXPECT(read(ends[0], bytes, 1) == 0);
  const int bad = 999;
  char control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec part = {"x", 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  *CMSG_FIRSTHDR(&message) = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &bad, sizeof bad);
  EXPECT(sendmsg(pair[0], &message, 0) == -1 && errno == EBADF);
  return 0;
}
