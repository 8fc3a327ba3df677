// A listener that never accepts: connections up to the backlog are established, the next one waits.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kBacklog = 2, kClients = 5 };

static int connected(int fd) {
  struct pollfd entry = {fd, POLLOUT, 0};
  EXPECT(poll(&entry, 1, 50) >= 0);
  int error;
  socklen_t size = sizeof error;
  EXPECT(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
  return (entry.revents & POLLOUT) != 0;
}

int main(void) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof name;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(bind(listener, (struct sockaddr*)&name, size) == 0 && listen(listener, kBacklog) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&name, &size) == 0);
  int clients[kClients], count = 0;
  for (int i = 0; i < kClients; ++i) {
    clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT(connect(clients[i], (struct sockaddr*)&name, sizeof name) == 0 || errno == EINPROGRESS);
    count += connected(clients[i]);
  }
  printf("connected: %d of %d\n", count, kClients);
  // Those who wait try again, and get through as there is room.
  for (int i = 0; i < kClients; ++i) {
    const int fd = accept(listener, NULL, NULL);
    EXPECT(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
  }
  char byte;
  for (int i = 0; i < kClients; ++i) {
    EXPECT(fcntl(clients[i], F_SETFL, 0) == 0 && read(clients[i], &byte, 1) == 1 && close(clients[i]) == 0);
  }
  printf("served: %d\n", kClients);
  return 0;
}
