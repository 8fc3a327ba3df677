// Pairs of streams, datagrams and sequenced packets; boundaries, peeking, truncation, ends.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  const char* names[] = {"stream", "datagram", "packet"};
  for (int k = 0; k < 3; ++k) {
    int s[2];
    char bytes[64];
    EXPECT(socketpair(AF_UNIX, types[k] | SOCK_CLOEXEC, 0, s) == 0);
    struct stat status;
    EXPECT(fstat(s[0], &status) == 0 && S_ISSOCK(status.st_mode));
    EXPECT(send(s[0], "first", 5, 0) == 5 && write(s[0], "second", 6) == 6);
    const ssize_t peeked = recv(s[1], bytes, sizeof bytes, MSG_PEEK);
    const ssize_t a = recv(s[1], bytes, 3, 0);
    const ssize_t b = read(s[1], bytes, sizeof bytes);
    printf("%s: peek %zd, then %zd, then %zd\n", names[k], peeked, a, b);
    EXPECT(recv(s[1], bytes, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    EXPECT(send(s[1], "abcdef", 6, 0) == 6);
    struct iovec part = {bytes, 2};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const ssize_t got = recvmsg(s[0], &message, MSG_TRUNC);
    printf("%s: %zd of a long one, flags %x\n", names[k], got, message.msg_flags);
    while (recv(s[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    EXPECT(shutdown(s[0], SHUT_WR) == 0);
    struct pollfd ready = {s[1], POLLIN | POLLRDHUP, 0};
    poll(&ready, 1, 0);
    printf("%s: after shutdown %x\n", names[k], ready.revents);
    EXPECT(send(s[0], "x", 1, 0) == -1 && errno == EPIPE);
    close(s[0]);
    errno = 0;
    const ssize_t sent = send(s[1], "x", 1, 0);
    printf("%s: to a closed end %zd %s\n", names[k], sent, strerrorname_np(errno));
    close(s[1]);
  }
  int s[2];
  EXPECT(socketpair(AF_INET, SOCK_STREAM, 0, s) == -1 && errno == EOPNOTSUPP);
  EXPECT(socketpair(AF_INET6, SOCK_STREAM, 0, s) == -1 && errno == EOPNOTSUPP);
  return 0;
}
