// Leads the conversations with server.c, which runs at the host named by the first argument.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "expect.h"

static struct sockaddr_in server;

static void find(const char* name) {
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found;
  EXPECT(getaddrinfo(name, "5000", &hints, &found) == 0);
  memcpy(&server, found->ai_addr, sizeof server);
  freeaddrinfo(found);
  EXPECT(ntohs(server.sin_port) == 5000);
}

static int reach(void) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(fd >= 0 && connect(fd, (const struct sockaddr*)&server, sizeof server) == 0);
  return fd;
}

static void read_all(int fd, void* bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t n = read(fd, (char*)bytes + done, length - done);
    EXPECT(n > 0);
    done += n;
  }
}

static void half_close(void) {
  const int fd = reach();
  struct sockaddr_in name;
  socklen_t length = sizeof name;
  EXPECT(getpeername(fd, (struct sockaddr*)&name, &length) == 0 &&
         name.sin_addr.s_addr == server.sin_addr.s_addr);
  length = sizeof name;
  EXPECT(getsockname(fd, (struct sockaddr*)&name, &length) == 0 && name.sin_port != 0);
  struct iovec parts[2] = {{"hello ", 6}, {"world", 5}};
  EXPECT(writev(fd, parts, 2) == 11);
  EXPECT(shutdown(fd, SHUT_WR) == 0);
  signal(SIGPIPE, SIG_IGN);
  EXPECT(write(fd, "x", 1) == -1 && errno == EPIPE);
  char text[12] = "";
  read_all(fd, text, 11);
  EXPECT(strcmp(text, "hello world") == 0 && read(fd, text, 1) == 0);
  close(fd);
  printf("half close: %s\n", text);
}

static void request_reply(void) {
  const int fd = reach();
  const int copy = dup(fd);
  EXPECT(copy >= 0 && copy != fd && close(fd) == 0);
  uint32_t sum = 0, answer;
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT(write(copy, &i, sizeof i) == sizeof i);
    sum += i;
    EXPECT(recv(copy, &answer, sizeof answer, MSG_WAITALL) == sizeof answer && answer == sum);
  }
  close(copy);
  printf("request and reply: sum %u\n", sum);
}

static void large(void) {
  const int fd = reach();
  static unsigned char bytes[100000];
  uint64_t hash = 0, answer;
  for (int round = 0; round < 80; ++round) {
    for (size_t i = 0; i < sizeof bytes; ++i) {
      bytes[i] = (unsigned char)(i * 7 + round);
      hash = hash * 31 + bytes[i];
    }
    EXPECT(write(fd, bytes, sizeof bytes) == sizeof bytes);  // a blocking write takes everything
  }
  EXPECT(shutdown(fd, SHUT_WR) == 0);
  static unsigned char whole[1000000];
  EXPECT(recv(fd, whole, sizeof whole, MSG_WAITALL) == sizeof whole);
  for (size_t i = 0; i < sizeof whole; ++i) EXPECT(whole[i] == (unsigned char)(i * 13));
  read_all(fd, &answer, sizeof answer);
  EXPECT(answer == hash);
  close(fd);
  printf("large: hash %016llx\n", (unsigned long long)hash);
}

static void reset(void) {
  const int fd = reach();
  EXPECT(write(fd, "ab", 2) == 2);
  char byte;
  EXPECT(read(fd, &byte, 1) == -1 && errno == ECONNRESET);
  close(fd);
  printf("reset: seen\n");
}

static void lead_epoll(void) {
  const int fd = reach();
  char byte;
  EXPECT(write(fd, "ab", 2) == 2 && read(fd, &byte, 1) == 1 && byte == '1');
  EXPECT(write(fd, "c", 1) == 1 && read(fd, &byte, 1) == 1 && byte == '2');
  EXPECT(write(fd, "d", 1) == 1 && read(fd, &byte, 1) == 1 && byte == '3');
  sleep_ms(1);
  EXPECT(shutdown(fd, SHUT_WR) == 0);
  EXPECT(read(fd, &byte, 1) == 0);
  close(fd);
  printf("epoll: done\n");
}

static int so_error(int fd) {
  int error = -1;
  socklen_t length = sizeof error;
  EXPECT(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0);
  return error;
}

// Connects without waiting; the descriptor becomes writable when it is decided.
static void lead_select(void) {
  sleep_ms(20);  // the server's first accept() finds no connection
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  EXPECT((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  EXPECT(connect(fd, (const struct sockaddr*)&server, sizeof server) == -1 && errno == EINPROGRESS);
  struct pollfd polled = {fd, POLLOUT, 0};
  EXPECT(poll(&polled, 1, 1000) == 1 && polled.revents == POLLOUT && so_error(fd) == 0);
  // Linux returns success once more, and EISCONN only after that.
  EXPECT(connect(fd, (const struct sockaddr*)&server, sizeof server) == 0);
  EXPECT(connect(fd, (const struct sockaddr*)&server, sizeof server) == -1 && errno == EISCONN);
  char text[2];
  EXPECT(read(fd, text, 2) == -1 && errno == EAGAIN);
  polled.events = POLLIN;
  EXPECT(poll(&polled, 1, -1) == 1 && read(fd, text, 2) == 2 && memcmp(text, "go", 2) == 0);
  EXPECT(write(fd, "x", 1) == 1);
  EXPECT(poll(&polled, 1, -1) == 1 && read(fd, text, 1) == 0);
  close(fd);
  printf("select: done\n");
}

static void nobody_there(void) {
  struct sockaddr_in nobody = server;
  nobody.sin_port = htons(5999);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect(fd, (const struct sockaddr*)&nobody, sizeof nobody) == -1 && errno == ECONNREFUSED);
  close(fd);
  fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  EXPECT(connect(fd, (const struct sockaddr*)&nobody, sizeof nobody) == -1);
  if (errno == EINPROGRESS) {  // the machine itself may refuse at once
    struct pollfd polled = {fd, POLLOUT, 0};
    EXPECT(poll(&polled, 1, 1000) == 1 && (polled.revents & POLLERR) != 0);
    EXPECT(so_error(fd) == ECONNREFUSED && so_error(fd) == 0);
  } else {
    EXPECT(errno == ECONNREFUSED);
  }
  close(fd);
  fd = socket(AF_INET, SOCK_STREAM, 0);
  char byte;
  EXPECT(read(fd, &byte, 1) == -1 && errno == ENOTCONN);
  close(fd);
  EXPECT(close(fd) == -1 && errno == EBADF);
  EXPECT(connect(0, (const struct sockaddr*)&server, sizeof server) == -1 && errno == ENOTSOCK);
  printf("refused: seen\n");
}

int main(int argc, char** argv) {
  find(argc > 1 ? argv[1] : "127.0.0.1");
  half_close();
  request_reply();
  large();
  reset();
  lead_epoll();
  lead_select();
  nobody_there();
  printf("client: done\n");
  return 0;
}
