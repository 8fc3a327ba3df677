// An echo server and its client with select(2) and accept(2), on non-blocking sockets, which librspreload turns into rsockets.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(condition)                            \
  do {                                             \
    if (!(condition)) {                            \
      perror("failed: " #condition);               \
      exit(1);                                     \
    }                                              \
  } while (0)
enum { kPort = 5000, kBytes = 64 * 1024 };

static void wait_for(int fd, int to_write) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  MUST(select(fd + 1, to_write ? NULL : &set, to_write ? &set : NULL, NULL, NULL) == 1);
}

static size_t receive(int fd, char* to, size_t most) {
  while (1) {
    const ssize_t got = recv(fd, to, most, 0);
    if (got >= 0) return (size_t)got;
    MUST(errno == EAGAIN);
    wait_for(fd, 0);
  }
}

static void send_all(int fd, const char* from, size_t count) {
  while (count > 0) {
    const ssize_t sent = send(fd, from, count, 0);
    MUST(sent > 0 || errno == EAGAIN);
    if (sent < 0) {
      wait_for(fd, 1);
      continue;
    }
    from += sent;
    count -= (size_t)sent;
  }
}

static void serve(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  MUST(bind(listener, (struct sockaddr*)&name, sizeof name) == 0 && listen(listener, 1) == 0);
  const int fd = accept(listener, NULL, NULL);
  MUST(fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  static char buffer[4096];
  size_t all = 0, got;
  while ((got = receive(fd, buffer, sizeof buffer)) > 0) {
    all += got;
    send_all(fd, buffer, got);
  }
  printf("echoed %zu bytes\n", all);
  close(fd);
}

int main(int argc, char** argv) {
  if (argc == 1) return serve(), 0;
  struct addrinfo* info;
  MUST(getaddrinfo(argv[1], "5000", &(struct addrinfo){.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, &info) == 0);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(connect(fd, info->ai_addr, info->ai_addrlen) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  static char sent[kBytes], back[kBytes];
  for (size_t i = 0; i < kBytes; ++i) sent[i] = (char)(i * 7);
  for (size_t at = 0; at < kBytes;) {
    send_all(fd, sent + at, 4096);
    for (size_t end = at + 4096; at < end;) at += receive(fd, back + at, end - at);
  }
  MUST(memcmp(sent, back, kBytes) == 0);
  MUST(shutdown(fd, SHUT_WR) == 0 && receive(fd, back, 1) == 0);
  printf("all came back\n");
  close(fd);
  return 0;
}
