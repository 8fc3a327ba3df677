// Echoes 64 messages over TCP and bears every call that fails for the moment or moves a part; prints how many did.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

enum { kMessages = 64, kBytes = 600 };
static int again, part, interrupted, spurious;

static void on_signal(int signal) { (void)signal; }

// Waits for an edge, and then reads or writes until nothing is left or the call would have to wait.
static void wait_for_edge(int watch) {
  struct epoll_event event;
  for (;;) {
    const int n = epoll_wait(watch, &event, 1, -1);
    if (n == 1) return;
    EXPECT(n == -1 && errno == EINTR);
    ++interrupted;
  }
}

static void move_all(int fd, int watch, char* bytes, int writes) {
  int had_edge = 0;
  for (size_t done = 0; done < kBytes;) {
    const ssize_t n = writes ? write(fd, bytes + done, kBytes - done) : read(fd, bytes + done, kBytes - done);
    if (n > 0) {
      if (done + (size_t)n < kBytes) ++part;
      done += (size_t)n;
      continue;
    }
    EXPECT(n == -1 && (errno == EAGAIN || errno == EINTR));
    if (errno == EINTR) {
      ++interrupted;
      continue;
    }
    if (had_edge || writes) ++spurious;
    ++again;
    wait_for_edge(watch);
    had_edge = 1;
  }
}

static void serve(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  const struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(5001)};
  EXPECT(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  EXPECT(bind(listener, (const struct sockaddr*)&name, sizeof name) == 0 && listen(listener, 1) == 0);
  int fd;
  while ((fd = accept(listener, NULL, NULL)) < 0) {
    EXPECT(errno == EINTR);
    ++interrupted;
  }
  EXPECT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  const int watch = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
  EXPECT(epoll_ctl(watch, EPOLL_CTL_ADD, fd, &event) == 0);
  char bytes[kBytes];
  for (int i = 0; i < kMessages; ++i) {
    move_all(fd, watch, bytes, 0);
    for (int at = 0; at < kBytes; ++at) EXPECT(bytes[at] == (char)(i + at));
    move_all(fd, watch, bytes, 1);
  }
}

static void call(const char* host) {
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found;
  EXPECT(getaddrinfo(host, "5001", &hints, &found) == 0);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect(fd, found->ai_addr, found->ai_addrlen) == 0);
  char bytes[kBytes], back[kBytes];
  for (int i = 0; i < kMessages; ++i) {
    for (int at = 0; at < kBytes; ++at) bytes[at] = (char)(i + at);
    EXPECT(write(fd, bytes, kBytes) == kBytes);  // it may block, so all of it is written
    for (size_t done = 0; done < kBytes;) {
      const ssize_t n = read(fd, back + done, kBytes - done);
      if (n < 0) {
        EXPECT(errno == EINTR);
        ++interrupted;
        continue;
      }
      EXPECT(n > 0);
      if (done + (size_t)n < kBytes) ++part;
      done += (size_t)n;
    }
    EXPECT(memcmp(bytes, back, kBytes) == 0);
    struct timespec rest = {0, 1000};
    while (nanosleep(&rest, &rest) == -1) {
      EXPECT(errno == EINTR);
      ++interrupted;
    }
  }
}

int main(int count, char** words) {
  if (getenv("HANDLES_SIGNALS") != NULL) {
    const struct sigaction action = {.sa_handler = on_signal};
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  }
  count > 1 ? call(words[1]) : serve();
  printf("%d %d %d %d\n", again, part, interrupted, spurious);
  return 0;
}
