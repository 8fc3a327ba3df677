// neighbour OWN NEXT COUNT: a member of a ring of hosts. Connects to the next host, accepts the connection of
// the previous one, and sends COUNT messages of 64 bytes, one for each that arrives.
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kPort = 7000, kSize = 64 };

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  exit(1);
}

static int listener(void) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  must(bind(fd, (const struct sockaddr*)&name, sizeof name) == 0 && listen(fd, 1) == 0, "listen");
  return fd;
}

static int connect_to(const char* host) {
  struct addrinfo* found;
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  char port[8];
  snprintf(port, sizeof port, "%d", kPort);
  must(getaddrinfo(host, port, &hints, &found) == 0, host);
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      freeaddrinfo(found);
      return fd;
    }
    must(errno == ECONNREFUSED, "connect");
    close(fd);
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
}

int main(int argc, char** argv) {
  must(argc == 4, "neighbour OWN NEXT COUNT");
  const int listening = listener();
  const int to = connect_to(argv[2]);
  const int from = accept(listening, NULL, NULL);
  must(from >= 0, "accept");
  char out[kSize] = {0}, in[kSize];
  snprintf(out, sizeof out, "%s", argv[1]);
  for (int i = atoi(argv[3]); i > 0; --i) {
    must(write(to, out, kSize) == kSize, "write");
    for (int got = 0; got < kSize;) {
      const ssize_t n = read(from, in + got, kSize - got);
      must(n > 0, "read");
      got += n;
    }
    memcpy(out, in, kSize);
  }
  printf("%s\n", in);
  return 0;
}
