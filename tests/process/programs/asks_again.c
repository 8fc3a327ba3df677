// Repeats every kind of non-blocking request until it succeeds: the result is found as soon as it exists,
// whatever process makes it, and different requests are not mixed up.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int event, set;

static void* add_later(void* unused) {
  sleep_ms(3);
  EXPECT(eventfd_write(event, 5) == 0);
  return unused;
}

static void on_alarm(int signal) {
  (void)signal;
  EXPECT(eventfd_write(event, 7) == 0);
}

static uint64_t await_event(void) {
  uint64_t value = 0;
  while (read(event, &value, 8) != 8) EXPECT(errno == EAGAIN);
  return value;
}

int main(void) {
  uint64_t value = 0;
  event = eventfd(0, EFD_NONBLOCK);
  set = epoll_create1(0);
  struct epoll_event wanted = {.events = EPOLLIN, .data = {.u64 = 9}}, seen = {0};
  EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted) == 0);

  // The thread's own calls in between.
  for (int i = 0; i < 3; ++i) {
    for (int n = 0; n < 5; ++n) EXPECT(read(event, &value, 8) == -1 && errno == EAGAIN);
    for (int n = 0; n < 5; ++n) EXPECT(epoll_wait(set, &seen, 1, 0) == 0);
    EXPECT(eventfd_write(event, 1 + i) == 0);
    EXPECT(epoll_wait(set, &seen, 1, 0) == 1 && seen.data.u64 == 9);
    EXPECT(read(event, &value, 8) == 8 && value == (uint64_t)(1 + i));
  }

  // Another thread, a signal's handler, a timer, a child.
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, add_later, NULL) == 0);
  printf("from a thread: %d\n", (int)await_event());
  EXPECT(pthread_join(thread, NULL) == 0);
  signal(SIGALRM, on_alarm);
  const struct itimerval in_3_ms = {.it_value = {.tv_usec = 3000}};
  EXPECT(setitimer(ITIMER_REAL, &in_3_ms, NULL) == 0);
  printf("from a handler: %d\n", (int)await_event());
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  const struct itimerspec in_2_ms = {.it_value = {.tv_nsec = 2000000}};
  EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, timer, &wanted) == 0 && timerfd_settime(timer, 0, &in_2_ms, NULL) == 0);
  while (epoll_wait(set, &seen, 1, 0) == 0) continue;
  EXPECT(read(timer, &value, 8) == 8 && value == 1);

  int ends[2];
  EXPECT(pipe2(ends, O_NONBLOCK) == 0);
  char byte = 0;
  EXPECT(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    sleep_ms(3);
    _exit(write(ends[1], "c", 1) == 1 ? 0 : 1);
  }
  while (read(ends[0], &byte, 1) != 1) EXPECT(errno == EAGAIN);
  int status;
  EXPECT(byte == 'c' && waitpid(child, &status, 0) == child && status == 0);

  // The same array, but another question.
  struct pollfd asked = {ends[1], POLLIN, 0};
  for (int n = 0; n < 5; ++n) EXPECT(poll(&asked, 1, 0) == 0 && asked.revents == 0);
  asked.events = POLLOUT;
  EXPECT(poll(&asked, 1, 0) == 1 && asked.revents == POLLOUT);
  asked = (struct pollfd){ends[0], POLLIN, 0};
  for (int n = 0; n < 3; ++n) {
    asked.revents = 77;  // written each time
    EXPECT(poll(&asked, 1, 0) == 0 && asked.revents == 0);
  }
  asked.fd = -1;
  EXPECT(poll(&asked, 1, 0) == 0);
  asked.fd = 1000;
  EXPECT(poll(&asked, 1, 0) == 1 && asked.revents == POLLNVAL);

  // A descriptor that becomes another, one that is closed, one that waits from now on.
  EXPECT(read(event, &value, 8) == -1 && errno == EAGAIN);
  const int full = eventfd(11, 0);
  EXPECT(dup2(full, event) == event && read(event, &value, 8) == 8 && value == 11);
  EXPECT(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
  EXPECT(close(ends[1]) == 0 && read(ends[0], &byte, 1) == 0);

  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  EXPECT(bind(listener, (struct sockaddr*)&address, length) == 0 && listen(listener, 1) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&address, &length) == 0);
  for (int n = 0; n < 3; ++n) EXPECT(accept(listener, NULL, NULL) == -1 && errno == EAGAIN);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect(client, (struct sockaddr*)&address, sizeof address) == 0);
  int server;
  while ((server = accept(listener, NULL, NULL)) < 0) EXPECT(errno == EAGAIN);
  char text[4];
  for (int n = 0; n < 3; ++n) EXPECT(recv(server, text, 4, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  EXPECT(send(client, "four", 4, 0) == 4);
  while (recv(server, text, 4, MSG_DONTWAIT) != 4) EXPECT(errno == EAGAIN);
  struct iovec part = {text, 4};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  for (int n = 0; n < 3; ++n) EXPECT(recvmsg(server, &header, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  header.msg_iov = (struct iovec*)1;  // the same address, but another request
  EXPECT(recvmsg(server, &header, MSG_DONTWAIT) == -1 && errno == EFAULT);
  header.msg_iov = &part;
  EXPECT(recvmsg(server, &header, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  fflush(stdout);
  const pid_t sender = fork();
  if (sender == 0) {
    sleep_ms(3);
    _exit(send(client, "more", 4, 0) == 4 ? 0 : 1);
  }
  while (recvmsg(server, &header, MSG_DONTWAIT) != 4) EXPECT(errno == EAGAIN);
  EXPECT(text[0] == 'm' && waitpid(sender, &status, 0) == sender && status == 0);
  // A time-out is waited for each time.
  const struct timeval wait = {.tv_usec = 5000};
  EXPECT(setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0);
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  for (int n = 0; n < 3; ++n) EXPECT(recv(server, text, 4, 0) == -1 && errno == EAGAIN);
  clock_gettime(CLOCK_MONOTONIC, &after);
  EXPECT((after.tv_sec - before.tv_sec) * 1000000000l + after.tv_nsec - before.tv_nsec >= 15000000);
  printf("all found\n");
  return 0;
}
