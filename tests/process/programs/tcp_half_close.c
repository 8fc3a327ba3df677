// A connection closed in one direction after the other; data after the end; lingering data; names of both ends.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static struct sockaddr_in name;

static void* serve(void* argument) {
  const int s = accept(*(int*)argument, NULL, NULL);
  EXPECT(s >= 0);
  char bytes[65536];
  ssize_t n, total = 0;
  while ((n = read(s, bytes, sizeof bytes)) > 0) total += n;
  EXPECT(n == 0);
  struct pollfd entry = {s, POLLIN | POLLRDHUP, 0};
  EXPECT(poll(&entry, 1, 0) == 1 && (entry.revents & POLLRDHUP) != 0 && (entry.revents & POLLHUP) == 0);
  char answer[64];
  const int length = snprintf(answer, sizeof answer, "%zd bytes", total);
  EXPECT(write(s, answer, length) == length && shutdown(s, SHUT_WR) == 0);
  EXPECT(poll(&entry, 1, 0) == 1 && (entry.revents & POLLHUP) != 0);
  EXPECT(send(s, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
  EXPECT(close(s) == 0);
  return NULL;
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t size = sizeof name;
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT(bind(listener, (struct sockaddr*)&name, sizeof name) == 0 && listen(listener, 4) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&name, &size) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, serve, &listener) == 0);
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  const int unused = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(shutdown(unused, SHUT_WR) == -1 && errno == ENOTCONN && close(unused) == 0);
  EXPECT(connect(s, (struct sockaddr*)&name, sizeof name) == 0);
  static char data[1000000];
  size_t done = 0;
  while (done < sizeof data) {
    const ssize_t n = write(s, data + done, sizeof data - done);
    EXPECT(n > 0);
    done += n;
  }
  EXPECT(shutdown(s, SHUT_WR) == 0 && write(s, "more", 4) == -1 && errno == EPIPE);
  char answer[64] = "";
  ssize_t n, total = 0;
  while ((n = read(s, answer + total, sizeof answer - 1 - total)) > 0) total += n;
  EXPECT(n == 0);
  printf("answer after my end: %s\n", answer);
  EXPECT(read(s, answer, 1) == 0 && close(s) == 0 && pthread_join(thread, NULL) == 0);

  // The server is gone: a write is answered by a reset, and then everything fails.
  const int late = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect(late, (struct sockaddr*)&name, sizeof name) == 0);
  const int accepted = accept(listener, NULL, NULL);
  EXPECT(write(late, "unread", 6) == 6);
  sleep_ms(20);
  EXPECT(close(accepted) == 0);  // with data unread: a reset
  sleep_ms(20);
  struct pollfd entry = {late, POLLIN, 0};
  EXPECT(poll(&entry, 1, 1000) == 1);
  n = read(late, answer, 1);
  printf("reset: %s\n", n == -1 ? strerrorname_np(errno) : "no");
  EXPECT(close(late) == 0 && close(listener) == 0);
  return 0;
}
