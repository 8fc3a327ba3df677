// SO_PASSCRED: each message has its sender's credentials.
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  int pair[2], on = 1;
  EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
  EXPECT(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
  EXPECT(send(pair[0], "me", 2, 0) == 2);
  char control[256], bytes[8];
  struct iovec part = {bytes, sizeof bytes};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  EXPECT(recvmsg(pair[1], &message, 0) == 2);
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  EXPECT(header != NULL && header->cmsg_type == SCM_CREDENTIALS &&
         header->cmsg_len == CMSG_LEN(sizeof(struct ucred)));
  struct ucred sender;
  memcpy(&sender, CMSG_DATA(header), sizeof sender);
  EXPECT(sender.pid == getpid() && sender.uid == getuid() && sender.gid == getgid());
  printf("credentials: done\n");
  return 0;
}
