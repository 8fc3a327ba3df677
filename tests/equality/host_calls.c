// host_calls OWN NEXT ROUNDS: one of a ring of hosts, each with a program of two threads that makes calls of many
// kinds, most of them local to the host, and prints when each round was over. Each thread wakes the other, sets
// timers that expire within the next calls, and opens missing files; at times a few bytes are sent to the next host.
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { kPort = 7100 };

static int to_thread[2], from_thread;
static int rounds;

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

// Answers each byte of the pipe by an event, some calls later.
static void* answer(void* unused) {
  char byte;
  while (read(to_thread[0], &byte, 1) == 1) {
    struct stat status;
    for (int i = 0; i < byte % 4; ++i) must(stat("/etc/hosts", &status) == 0, "stat");
    const uint64_t one = 1;
    must(write(from_thread, &one, sizeof one) == sizeof one, "eventfd");
  }
  return unused;
}

static int listener(void) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  must(bind(fd, (const struct sockaddr*)&name, sizeof name) == 0 && listen(fd, 4) == 0, "listen");
  return fd;
}

static int connect_to(const char* host) {
  struct addrinfo* found;
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  must(getaddrinfo(host, "7100", &hints, &found) == 0, host);
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
      freeaddrinfo(found);
      return fd;
    }
    close(fd);
    usleep(100);
  }
}

static long bytes_of(const char* path, size_t piece) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return -errno;
  char text[256];
  long sum = 0;
  for (ssize_t n; (n = read(fd, text, piece)) > 0;) sum += n;
  close(fd);
  return sum;
}

// A timer that expires within the next calls.
static uint64_t expirations(long after_ns) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  const struct itimerspec when = {.it_value = {0, after_ns}, .it_interval = {0, after_ns}};
  must(timerfd_settime(timer, 0, &when, NULL) == 0, "timerfd_settime");
  uint64_t seen = 0, sum = 0;
  for (int i = 0; i < 5; ++i) {
    if (read(timer, &seen, sizeof seen) == sizeof seen) sum = sum * 10 + seen;
  }
  close(timer);
  return sum;
}

int main(int argc, char** argv) {
  must(argc == 4, "host_calls OWN NEXT ROUNDS");
  rounds = atoi(argv[3]);
  pthread_t thread;
  from_thread = eventfd(0, 0);
  must(pipe(to_thread) == 0 && from_thread >= 0, "pipe");
  must(pthread_create(&thread, NULL, answer, NULL) == 0, "pthread_create");
  const int listening = listener();
  const int to = connect_to(argv[2]);
  const int from = accept(listening, NULL, NULL);
  must(from >= 0, "accept");
  for (int i = 0; i < rounds; ++i) {
    const long begin = now();
    const char byte = (char)i;
    must(write(to_thread[1], &byte, 1) == 1, "pipe");
    const long hosts = bytes_of("/etc/hosts", 16 + (size_t)i % 100);
    const uint64_t ticks = expirations(150 + 37 * i);
    const long missing = bytes_of(i % 2 != 0 ? "/proc/self/nothing" : "/sys/class/nothing", 16);
    uint64_t answers = 0;
    must(read(from_thread, &answers, sizeof answers) == sizeof answers, "eventfd");
    if (i % 3 == 0) {
      char in[8], out[8] = "around";
      must(write(to, out, sizeof out) == sizeof out && read(from, in, sizeof in) == sizeof in, "TCP");
    }
    const int duplicate = dup(to);
    struct stat status;
    must(fstat(duplicate, &status) == 0 && close(duplicate) == 0, "dup");
    const int poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    must(poller >= 0 && epoll_ctl(poller, EPOLL_CTL_ADD, from, &event) == 0 && close(poller) == 0, "epoll");
    printf("%s round %d: %ld ns, %ld bytes, ticks %lu, missing %ld, answers %lu, number %lu\n", argv[1], i, now() - begin, hosts,
           (unsigned long)ticks, missing, (unsigned long)answers, (unsigned long)status.st_ino);
    if (i % 4 == 0) fflush(stdout);
  }
  close(to_thread[1]);
  pthread_join(thread, NULL);
  return 0;
}
