// Programs that only timers keep alive, and programs that look like them. argv[1]: which.
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_asked_to_end;
static void note_request(int signal) {
  (void)signal;
  is_asked_to_end = 1;
}
static void nothing(int signal) { (void)signal; }

static void* sleeps_and_ends(void* unused) {
  sleep(2000);
  puts("slept");
  fflush(stdout);
  _exit(0);
  return unused;
}

static void sleep_repeatedly(void) {
  const struct timespec each = {0, 1000000};
  for (;;) nanosleep(&each, NULL);
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  // until SIGTERM, with calls all the time that need no other host
  if (strcmp(which, "busy_until_asked") == 0) {
    struct timespec now;
    signal(SIGTERM, note_request);
    while (!is_asked_to_end) getppid();
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    return 0;
  }
  // without end
  if (strcmp(which, "timerfd") == 0) {
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const struct itimerspec each = {{0, 100000000}, {0, 100000000}};
    timerfd_settime(timer, 0, &each, NULL);
    for (uint64_t count;;) {
      if (read(timer, &count, sizeof count) != sizeof count) return 1;
    }
  }
  if (strcmp(which, "setitimer") == 0) {
    signal(SIGALRM, nothing);
    const struct itimerval each = {{1, 0}, {1, 0}};
    setitimer(ITIMER_REAL, &each, NULL);
    for (;;) pause();
  }
  if (strcmp(which, "nanosleep") == 0) sleep_repeatedly();
  if (strcmp(which, "poll") == 0) {
    for (;;) poll(NULL, 0, 1000);
  }
  // says something once a minute
  if (strcmp(which, "clock") == 0) {
    for (int i = 1;; ++i) {
      sleep(60);
      printf("%d\n", i);
      fflush(stdout);
    }
  }
  // end by themselves, after a long time
  if (strcmp(which, "one_sleep") == 0) {
    sleep(5000);
    puts("slept");
    return 0;
  }
  if (strcmp(which, "three_sleeps") == 0) {
    for (int i = 0; i < 3; ++i) sleep(400);
    puts("slept");
    return 0;
  }
  if (strcmp(which, "alarm") == 0) {
    signal(SIGALRM, nothing);
    alarm(3000);
    pause();
    puts("slept");
    return 0;
  }
  if (strcmp(which, "two_threads") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps_and_ends, NULL);
    sleep_repeatedly();
  }
  // does not end at SIGTERM
  if (strcmp(which, "stubborn") == 0) {
    signal(SIGTERM, SIG_IGN);
    for (;;) sleep(1);
  }
  return 2;
}
