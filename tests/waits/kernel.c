// Loops that enter the kernel.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/waits/waits.h"

static int yields(void) {
  while (POLL(w.cq) == 0) sched_yield();
  return 0;
}

static int sleeps_zero(void) {
  while (POLL(w.cq) == 0) usleep(0);
  return 0;
}

static int nanosleeps(void) {
  const struct timespec none = {0, 1};
  while (POLL(w.cq) == 0) nanosleep(&none, NULL);
  return 0;
}

static int sleeps_ever_longer(void) {
  useconds_t time = 1;
  while (POLL(w.cq) == 0) {
    usleep(time);
    if (time < 1000) time *= 2;
  }
  return (int)time;
}

static int pauses_ever_longer(void) {
  unsigned pauses = 1;
  while (POLL(w.cq) == 0) {
    for (unsigned i = 0; i < pauses; ++i) __builtin_ia32_pause();
    if (pauses < 64) pauses *= 2;
  }
  return (int)pauses;
}

static int yields_sometimes(void) {
  unsigned empty = 0;
  while (POLL(w.cq) == 0) {
    if (++empty == 100) {
      sched_yield();
      empty = 0;
    }
  }
  return 0;
}

static int epolls(void) {
  const int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data = {.fd = w.tcp}};
  if (epoll_ctl(set, EPOLL_CTL_ADD, w.tcp, &event) != 0) return -1;
  int n;
  while ((n = POLL(w.cq)) == 0) {
    if (epoll_wait(set, &event, 1, 0) != 0) break;
  }
  close(set);
  return n;
}

static int polls_descriptors(void) {
  struct pollfd descriptor = {.fd = w.tcp, .events = POLLIN};
  while (POLL(w.cq) == 0) {
    if (poll(&descriptor, 1, 0) != 0) return -1;
  }
  return 0;
}

static int receives(void) {
  char byte;
  while (POLL(w.cq) == 0) {
    if (recv(w.tcp, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN) return -1;
  }
  return 0;
}

static int reads_eventfd(void) {
  const int events = eventfd(0, EFD_NONBLOCK);
  uint64_t value;
  while (POLL(w.cq) == 0) {
    if (read(events, &value, 8) == 8) return -1;
  }
  close(events);
  return 0;
}

// Asks two files in turn, one by writing to what is full, as a reader of events and one who sends do.
static int asks_two_files(void) {
  const int events = eventfd(0, EFD_NONBLOCK), full = eventfd(0, EFD_NONBLOCK);
  const uint64_t most = UINT64_MAX - 1, one = 1;
  uint64_t value;
  if (write(full, &most, sizeof most) != (ssize_t)sizeof most) return -1;
  unsigned turns = 0;
  while (POLL(w.cq) == 0) {
    ++turns;
    if (read(events, &value, sizeof value) != -1 || errno != EAGAIN) return -1;
    if (write(full, &one, sizeof one) != -1 || errno != EAGAIN) return -1;
    if (read(events, &value, sizeof value) != -1 || errno != EAGAIN) return -1;
  }
  close(events);
  close(full);
  return (int)turns;
}

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) / 1000;
}

// A progress engine that checks for connections every ten milliseconds, by a clock that it reads each time.
static int progresses(void) {
  const int events = eventfd(0, EFD_NONBLOCK);
  static uint64_t last;
  uint64_t value;
  unsigned asked = 0;
  last = now_us();
  while (POLL(w.cq) == 0) {
    const uint64_t now = now_us();
    if (now - last > 10000) {
      last = now;
      ++asked;
      if (read(events, &value, sizeof value) != -1 || errno != EAGAIN) return -1;
    }
  }
  close(events);
  return (int)asked;
}

const struct wait_case kKernelCases[] = {{"yields", yields},
                                         {"sleeps_zero", sleeps_zero},
                                         {"nanosleeps", nanosleeps},
                                         {"sleeps_ever_longer", sleeps_ever_longer},
                                         {"pauses_ever_longer", pauses_ever_longer},
                                         {"yields_sometimes", yields_sometimes},
                                         {"epolls", epolls},
                                         {"polls_descriptors", polls_descriptors},
                                         {"receives", receives},
                                         {"reads_eventfd", reads_eventfd},
                                         {"asks_two_files", asks_two_files},
                                         {"progresses", progresses},
                                         {NULL, NULL}};
