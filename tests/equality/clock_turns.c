// Polls an empty completion queue, reads clocks in between, and checks a flag after each. In the middle of its
// turns arrive a flag written by the other end, a message, and the signal of a timer, each at many times. Prints
// when and where each was seen first, and after how many turns. `clock_turns buggy|fixed [server]` as in litmus.h.
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <x86intrin.h>

#include "tests/litmus/litmus.h"

enum { kTimes = 60, kNap = 20000 };

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void nap(uint32_t i, int step) {
  const struct timespec time = {0, kNap + step * (long)i};
  nanosleep(&time, NULL);
}

static void send_flag(struct litmus* l, uint32_t i) {
  *(volatile uint32_t*)l->memory = i;
  MUST(litmus_send(l, 0, IBV_WR_RDMA_WRITE, l->memory, 4, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(l->send_cq);
}

static void send_message(struct litmus* l) {
  MUST(litmus_send(l, 0, IBV_WR_SEND, l->memory, 4, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(l->send_cq);
}

static volatile long long rung_at;

static void on_alarm(int signal) {
  (void)signal;
  rung_at = now_ns();
}

int main(int argc, char** argv) {
  struct litmus l;
  litmus_start(&l, argc, argv, 1, 4, 4096);
  struct ibv_wc wc;
  if (l.server == NULL) {
    for (uint32_t i = 0; i < 3; ++i) litmus_recv(&l, 0, i, l.memory + 2048, 4);
  }
  litmus_meet(&l);
  volatile uint32_t* const flag = (volatile uint32_t*)l.memory;
  char byte = 0;
  if (l.server != NULL) {
    for (uint32_t i = 1; i <= kTimes; ++i) {
      nap(i, 7);
      send_flag(&l, i);
    }
    for (uint32_t i = kTimes + 1; i <= 2 * kTimes; ++i) {
      nap(i, 3);
      send_flag(&l, i);
    }
    for (uint32_t i = 2 * kTimes + 1; i <= 3 * kTimes; ++i) {
      nap(i, 11);
      send_flag(&l, i);
    }
    for (uint32_t i = 0; i < kTimes; ++i) {
      tcp_read(l.tcp, &byte, 1);
      nap(i, 1);
      send_message(&l);
    }
    tcp_read(l.tcp, &byte, 1);
    return 0;
  }
  for (uint32_t i = 1; i <= kTimes; ++i) {
    const char* place;
    long long idle = 0, last = now_ns();
    unsigned long count = 0;
    for (;; ++count) {
      place = "poll";
      MUST(ibv_poll_cq(l.recv_cq, 1, &wc) == 0);
      if (*flag >= i) break;
      place = "clock";
      const long long now = now_ns();
      if (*flag >= i) break;
      idle += now - last;
      last = now;
    }
    printf("%u: after %s of turn %lu, idle %lld, last %lld, at %lld\n", i, place, count, idle, last, now_ns());
  }
  for (uint32_t i = kTimes + 1; i <= 2 * kTimes; ++i) {
    const char* place;
    const uint64_t end = __rdtsc() + 1000000000;
    uint64_t now = 0;
    for (;;) {
      place = "poll";
      MUST(ibv_poll_cq(l.recv_cq, 1, &wc) == 0);
      if (*flag >= i) break;
      place = "counter";
      now = __rdtsc();
      if (*flag >= i) break;
      if (now > end) return 1;
    }
    printf("%u: after %s, last %llu, at %llu\n", i, place, (unsigned long long)now, (unsigned long long)__rdtsc());
  }
  for (uint32_t i = 2 * kTimes + 1; i <= 3 * kTimes; ++i) {
    const char* place;
    struct timeval start, now = {0, 0};
    double passed = 0;
    time_t seconds = 0;
    gettimeofday(&start, NULL);
    for (;;) {
      place = "poll";
      MUST(ibv_poll_cq(l.recv_cq, 1, &wc) == 0);
      if (*flag >= i) break;
      place = "yield";
      sched_yield();
      if (*flag >= i) break;
      place = "day";
      gettimeofday(&now, NULL);
      if (*flag >= i) break;
      passed = (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_usec - start.tv_usec) * 1e-6;
      if (passed > 10) return 1;
      place = "seconds";
      seconds = time(NULL);
      if (*flag >= i) break;
    }
    printf("%u: after %s, %lld.%06ld, passed %a, second %lld, at %lld\n", i, place, (long long)now.tv_sec, (long)now.tv_usec,
           passed, (long long)seconds, now_ns());
  }
  for (uint32_t i = 0; i < kTimes; ++i) {
    tcp_write(l.tcp, &byte, 1);
    const long long end = now_ns() + 1000000000;
    long long now = 0;
    while (ibv_poll_cq(l.recv_cq, 1, &wc) == 0) {
      now = now_ns();
      if (now > end) return 1;
    }
    printf("message %u: last %lld, at %lld\n", i, now, now_ns());
    litmus_recv(&l, 0, i, l.memory + 2048, 4);
  }
  const struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  for (uint32_t i = 0; i < kTimes; ++i) {
    const struct itimerval time = {.it_value = {0, 30 + (long)i % 7}};
    for (uint32_t j = 0; j < i % 5; ++j) now_ns();
    rung_at = 0;
    setitimer(ITIMER_REAL, &time, NULL);
    long long now = 0;
    unsigned long mine = 0;
    while (rung_at == 0) {
      MUST(ibv_poll_cq(l.recv_cq, 1, &wc) == 0);
      now = now_ns();
      ++mine;
    }
    printf("alarm %u: rang at %lld, last %lld in turn %lu, at %lld\n", i, rung_at, now, mine, now_ns());
  }
  tcp_write(l.tcp, &byte, 1);
  return 0;
}
