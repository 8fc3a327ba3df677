// SO_REUSEPORT: sockets with one port share connections and datagrams, and each peer always reaches the same socket.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../expect.h"

enum { kPeers = 64 };

static int bound(int type, struct sockaddr_in* name, int shares) {
  const int fd = socket(AF_INET, type, 0);
  EXPECT(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shares, sizeof shares) == 0);
  if (bind(fd, (struct sockaddr*)name, sizeof *name) != 0) {
    EXPECT(errno == EADDRINUSE && close(fd) == 0);
    return -1;
  }
  socklen_t length = sizeof *name;
  EXPECT(getsockname(fd, (struct sockaddr*)name, &length) == 0);
  return fd;
}

static struct sockaddr_in any_port(void) {
  return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void streams(void) {
  struct sockaddr_in name = any_port();
  int listeners[2], got[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    listeners[i] = bound(SOCK_STREAM, &name, 1);
    EXPECT(listeners[i] >= 0 && listen(listeners[i], kPeers) == 0);
    EXPECT(fcntl(listeners[i], F_SETFL, O_NONBLOCK) == 0);
  }
  EXPECT(bound(SOCK_STREAM, &name, 0) == -1);
  for (int i = 0; i < kPeers; ++i) {
    const int peer = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT(connect(peer, (struct sockaddr*)&name, sizeof name) == 0);
  }
  sleep_ms(50);
  for (int i = 0; i < 2; ++i) {
    while (accept(listeners[i], NULL, NULL) >= 0) ++got[i];
  }
  EXPECT(got[0] > 0 && got[1] > 0 && got[0] + got[1] == kPeers);
  printf("connections: shared\n");
}

static void datagrams(void) {
  struct sockaddr_in name = any_port();
  const int sockets[2] = {bound(SOCK_DGRAM, &name, 1), bound(SOCK_DGRAM, &name, 1)};
  EXPECT(sockets[0] >= 0 && sockets[1] >= 0);
  for (char i = 0; i < kPeers; ++i) {
    const int peer = socket(AF_INET, SOCK_DGRAM, 0);
    for (int twice = 0; twice < 2; ++twice)
      EXPECT(sendto(peer, &i, 1, 0, (struct sockaddr*)&name, sizeof name) == 1);
  }
  sleep_ms(50);
  int got[2] = {0, 0}, from[2][kPeers] = {{0}};
  for (int i = 0; i < 2; ++i) {
    char peer;
    while (recv(sockets[i], &peer, 1, MSG_DONTWAIT) == 1) ++got[i], ++from[i][(int)peer];
  }
  EXPECT(got[0] > 0 && got[1] > 0 && got[0] + got[1] == 2 * kPeers);
  for (int i = 0; i < kPeers; ++i) EXPECT(from[0][i] == 2 || from[1][i] == 2);
  printf("datagrams: shared, each peer's by one\n");
}

int main(void) {
  streams();
  datagrams();
  return 0;
}
