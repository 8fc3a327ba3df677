// The number of messages that fit into the queue of a socket with message boundaries, by their size: Linux
// counts the memory that holds each.
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int fitting(int type, size_t size) {
  static char bytes[1 << 16];
  int pair[2], buffer = 106496, count = 0;
  EXPECT(socketpair(AF_UNIX, type, 0, pair) == 0);
  EXPECT(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) == 0);
  while (send(pair[0], bytes, size, MSG_DONTWAIT) == (ssize_t)size) ++count;
  EXPECT(errno == EAGAIN);
  close(pair[0]);
  close(pair[1]);
  return count;
}

int main(void) {
  const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
  for (int i = 0; i < 2; ++i) {
    EXPECT(fitting(types[i], 1) == 278);
    EXPECT(fitting(types[i], 192) == 278);
    EXPECT(fitting(types[i], 193) == 167);
    EXPECT(fitting(types[i], 1000) == 93);
    EXPECT(fitting(types[i], 4000) == 26);
    EXPECT(fitting(types[i], 16000) == 13);
    EXPECT(fitting(types[i], 33000) == 6);
  }
  printf("done\n");
  return 0;
}
