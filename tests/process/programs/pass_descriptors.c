// Descriptors in messages: a pipe is sent, remains open in flight, and counts as open at the receiver.
#include <fcntl.h>
#include <unistd.h>

#include "tests/process/messages_with_descriptors.h"

int main(void) {
  int pair[2], ends[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
  EXPECT(write(ends[1], "inside", 6) == 6);
  EXPECT(send_descriptors(pair[0], "x", ends, 2) == 1);
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0);
  struct received got = receive_descriptors(pair[1], 1, 8, MSG_CMSG_CLOEXEC);
  printf("%d descriptors: %d %d, flags %d\n", got.count, got.fds[0], got.fds[1], got.flags);
  const int reader = got.fds[0];
  EXPECT(fcntl(reader, F_GETFD) == FD_CLOEXEC);
  char bytes[8];
  EXPECT(read(reader, bytes, 8) == 6 && memcmp(bytes, "inside", 6) == 0);
  EXPECT(close(got.fds[1]) == 0 && read(reader, bytes, 8) == 0);

  // No room for the second: it is closed on arrival, and its pipe ends.
  EXPECT(pipe(ends) == 0);
  const int two[2] = {reader, ends[1]};
  EXPECT(send_descriptors(pair[0], "x", two, 2) == 1);
  close(ends[1]);
  got = receive_descriptors(pair[1], 1, 1, 0);
  printf("room for one: %d, flags %s\n", got.count, got.flags == MSG_CTRUNC ? "MSG_CTRUNC" : "wrong");
  EXPECT(read(ends[0], bytes, 1) == 0);
  const int bad = 999;
  EXPECT(send_descriptors(pair[0], "x", &bad, 1) == -1 && errno == EBADF);
  return 0;
}
