// A program that waits in one loop repeatedly and reads another page each time. Pages of earlier waits are
// unmapped, made unreadable, given other content, or changed by another process during a wait. Some waits
// call sched_yield() instead of polling.
#include <infiniband/verbs.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 16, kPage = 4096 };

static volatile sig_atomic_t fired;
static struct ibv_cq* cq;
static volatile unsigned long looks;

static void on_timer(int number) {
  (void)number;
  fired = 1;
}

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  exit(1);
}

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static char* page(int flags, char* at) {
  char* const made = mmap(at, kPage, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
  must(made != MAP_FAILED, "mmap");
  return made;
}

// Waits until the word changes or the timer fires.
static void look(const char* what, int round, const volatile uint32_t* word, timer_t timer, long ns, int polls) {
  const struct itimerspec when = {.it_value = {0, ns}};
  const uint32_t before = *word;
  struct ibv_wc wc;
  fired = 0;
  looks = 0;
  must(timer_settime(timer, 0, &when, NULL) == 0, "timer_settime");
  while (!fired && *word == before && (polls ? ibv_poll_cq(cq, 1, &wc) : sched_yield()) == 0) ++looks;
  printf("%s %d: %lu looks, %u then %u, at %ld\n", what, round, looks, before, *word, now());
}

// The loop's counter and its limit are in the same cache line.
static _Alignas(64) volatile struct {
  unsigned long count, limit;
} counted;

// The same cache line in a loop that polls, then, with another limit, in one that calls sched_yield().
static void count_twice(int round, timer_t timer, long ns) {
  const struct itimerspec when = {.it_value = {0, ns}};
  struct ibv_wc wc;
  fired = 0;
  counted.count = 0;
  counted.limit = ~0ul;
  must(timer_settime(timer, 0, &when, NULL) == 0, "timer_settime");
  while (!fired && counted.count < counted.limit && ibv_poll_cq(cq, 1, &wc) == 0) ++counted.count;
  counted.limit = counted.count + 100 + (unsigned long)round;
  while (counted.count < counted.limit && sched_yield() == 0) ++counted.count;
  printf("counted %d: %lu at %ld\n", round, counted.count, now());
}

int main(void) {
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  must(devices != NULL && devices[0] != NULL, "device");
  struct ibv_context* const context = ibv_open_device(devices[0]);
  must(context != NULL, "open");
  cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  must(cq != NULL, "ibv_create_cq");
  must(signal(SIGALRM, on_timer) != SIG_ERR, "signal");
  timer_t timer;
  must(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0, "timer_create");
  char* const shared = page(MAP_SHARED, NULL);
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    for (int i = 0; i < kRounds; ++i) {
      const struct timespec nap = {0, 130000 + 777 * i};
      nanosleep(&nap, NULL);
      ++*(volatile uint32_t*)(shared + 64 * (i % 64));
    }
    _exit(0);
  }
  char* last = page(MAP_PRIVATE, NULL);
  for (int i = 0; i < kRounds; ++i) {
    char* const word = last + 64 * (i % 64);
    *(uint32_t*)word = (uint32_t)i;
    look("private", i, (volatile uint32_t*)word, timer, 20000 + 501 * i, 1);
    look("shared", i, (volatile uint32_t*)(shared + 64 * (i % 64)), timer, 170000 + 301 * i, i % 3 != 1);
    for (int k = 0; k < 4; ++k) look("again", i, (volatile uint32_t*)word, timer, 3000 + 77 * k, 1);
    count_twice(i, timer, 25000 + 99 * i);
    look("yields", i, (volatile uint32_t*)word, timer, 30000 + 77 * i, 0);
    switch (i % 4) {
      case 0: {  // unmapped
        must(munmap(last, kPage) == 0, "munmap");
        char* const other = page(MAP_PRIVATE, NULL);
        must(munmap(other, kPage) == 0, "munmap");
        last = page(MAP_PRIVATE, other + 16 * kPage);
        break;
      }
      case 1:  // another page, at the same place
        last = page(MAP_PRIVATE, last);
        break;
      case 2: {  // mapped, but not readable
        must(mprotect(last, kPage, PROT_NONE) == 0, "mprotect");
        last = page(MAP_PRIVATE, NULL);
        break;
      }
      default:
        break;
    }
  }
  int status = 0;
  must(wait(&status) == child && status == 0, "child");
  printf("over at %ld\n", now());
  return 0;
}
