// The passive side of the conversations that client.c leads, one after the other on port 5000 of any address.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "expect.h"

static int listen_on(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int one = 1;
  EXPECT(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
  EXPECT(bind(fd, (const struct sockaddr*)&any, sizeof any) == 0);
  const int second = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(listen(fd, 5) == 0);
  EXPECT(bind(second, (const struct sockaddr*)&any, sizeof any) == -1 && errno == EADDRINUSE);
  close(second);
  return fd;
}

static int accept_on(int listener) {
  struct sockaddr_in peer;
  socklen_t length = sizeof peer;
  const int fd = accept(listener, (struct sockaddr*)&peer, &length);
  EXPECT(fd >= 0 && length == sizeof peer && peer.sin_family == AF_INET);
  return fd;
}

static void read_all(int fd, void* bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t n = read(fd, (char*)bytes + done, length - done);
    EXPECT(n > 0);
    done += n;
  }
}

// Everything until the end of the stream is sent back, and then the stream is closed.
static void half_close(int listener) {
  const int fd = accept_on(listener);
  char text[1000];
  size_t length = 0;
  for (ssize_t n; (n = recv(fd, text + length, sizeof text - length, 0)) != 0; length += n) EXPECT(n > 0);
  EXPECT(send(fd, text, length, 0) == (ssize_t)length);
  EXPECT(close(fd) == 0);
  printf("half close: %zu bytes\n", length);
}

// Each message is answered in two pieces.
static void request_reply(int listener) {
  const int fd = accept_on(listener);
  const int one = 1;
  EXPECT(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
  uint32_t value, sum = 0;
  for (int i = 0; i < 100; ++i) {
    read_all(fd, &value, sizeof value);
    sum += value;
    EXPECT(write(fd, &sum, 1) == 1 && write(fd, (char*)&sum + 1, 3) == 3);
  }
  EXPECT(read(fd, &value, 1) == 0);
  close(fd);
  printf("request and reply: sum %u\n", sum);
}

// 8 MB, read slowly, so that the sender's window closes.
static void large(int listener) {
  const int fd = accept_on(listener);
  static unsigned char bytes[65536];
  size_t total = 0;
  uint64_t hash = 0;
  for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) != 0; total += n) {
    EXPECT(n > 0);
    for (ssize_t i = 0; i < n; ++i) hash = hash * 31 + bytes[i];
    if (total < 2000000) sleep_ms(1);
  }
  static unsigned char whole[1000000];
  for (size_t i = 0; i < sizeof whole; ++i) whole[i] = (unsigned char)(i * 13);
  EXPECT(write(fd, whole, sizeof whole) == sizeof whole);
  EXPECT(write(fd, &hash, sizeof hash) == sizeof hash);
  close(fd);
  printf("large: %zu bytes, hash %016llx\n", total, (unsigned long long)hash);
}

// The end without a word: unread data on our side makes it a reset.
static void reset(int listener) {
  const int fd = accept_on(listener);
  const struct linger hard = {1, 0};
  EXPECT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0);
  char byte;
  EXPECT(read(fd, &byte, 1) == 1);
  close(fd);
  printf("reset: done\n");
}

// Level, edge and one-shot interest in one connection.
static void wait_by_epoll(int listener) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  EXPECT(epoll >= 0);
  struct epoll_event event = {EPOLLIN, {.u64 = 77}}, got[4];
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == -1 && errno == EEXIST);
  EXPECT(epoll_wait(epoll, got, 4, -1) == 1 && got[0].data.u64 == 77 && got[0].events == EPOLLIN);
  const int fd = accept_on(listener);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_DEL, listener, NULL) == 0);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == -1 && errno == ENOENT);

  char byte;
  event = (struct epoll_event){EPOLLIN, {.fd = fd}};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
  EXPECT(epoll_wait(epoll, got, 4, -1) == 1 && epoll_wait(epoll, got, 4, 0) == 1);  // level: still true
  sleep_ms(1);  // the second byte is there too
  EXPECT(read(fd, &byte, 1) == 1 && byte == 'a');
  EXPECT(epoll_wait(epoll, got, 4, 0) == 1 && read(fd, &byte, 1) == 1 && byte == 'b');
  EXPECT(epoll_wait(epoll, got, 4, 0) == 0);
  EXPECT(write(fd, "1", 1) == 1);

  event.events = EPOLLIN | EPOLLET;
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0);
  EXPECT(epoll_wait(epoll, got, 4, -1) == 1 && epoll_wait(epoll, got, 4, 10) == 0);  // edge triggered: reported once
  EXPECT(read(fd, &byte, 1) == 1 && byte == 'c');
  EXPECT(write(fd, "2", 1) == 1);

  event.events = EPOLLIN | EPOLLONESHOT;
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0);
  EXPECT(epoll_wait(epoll, got, 4, -1) == 1 && epoll_wait(epoll, got, 4, 0) == 0);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0 && epoll_wait(epoll, got, 4, 0) == 1);
  EXPECT(read(fd, &byte, 1) == 1 && byte == 'd');
  EXPECT(write(fd, "3", 1) == 1);

  event.events = EPOLLIN | EPOLLRDHUP;
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0);
  EXPECT(epoll_wait(epoll, got, 4, -1) == 1 && (got[0].events & EPOLLRDHUP) != 0);
  EXPECT(read(fd, &byte, 1) == 0);
  close(fd);
  EXPECT(epoll_wait(epoll, got, 4, 0) == 0);  // a closed descriptor is forgotten
  close(epoll);
  printf("epoll: done\n");
}

// The listener without waiting, then select for reading and writing.
static void wait_by_select(int listener) {
  EXPECT(fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK) == 0);
  EXPECT(accept(listener, NULL, NULL) == -1 && errno == EAGAIN);
  EXPECT(fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) & ~O_NONBLOCK) == 0);
  const int fd = accept_on(listener);
  char byte;
  EXPECT(recv(fd, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  fd_set readable, writable;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  EXPECT(fd < FD_SETSIZE);
  FD_SET(fd, &readable);
  FD_SET(fd, &writable);
  EXPECT(select(fd + 1, &readable, &writable, NULL, NULL) == 1 && FD_ISSET(fd, &writable) &&
         !FD_ISSET(fd, &readable));
  FD_SET(fd, &readable);
  struct timeval short_time = {0, 10000};
  int64_t before = now_ns();
  EXPECT(select(fd + 1, &readable, NULL, NULL, &short_time) == 0 && now_ns() - before >= 10000000);
  EXPECT(!FD_ISSET(fd, &readable));
  EXPECT(write(fd, "go", 2) == 2);
  FD_SET(fd, &readable);
  EXPECT(select(fd + 1, &readable, NULL, NULL, NULL) == 1 && FD_ISSET(fd, &readable));
  EXPECT(recv(fd, &byte, 1, MSG_PEEK) == 1 && byte == 'x' && read(fd, &byte, 1) == 1 && byte == 'x');
  struct pollfd polled[2] = {{fd, POLLIN, 0}, {-1, POLLIN, 0}};
  before = now_ns();
  EXPECT(poll(polled, 2, 10) == 0 && now_ns() - before >= 10000000 && polled[0].revents == 0);
  close(fd);
  printf("select: done\n");
}

int main(void) {
  const int listener = listen_on(5000);
  half_close(listener);
  request_reply(listener);
  large(listener);
  reset(listener);
  wait_by_epoll(listener);
  wait_by_select(listener);
  close(listener);
  printf("server: done\n");
  return 0;
}
