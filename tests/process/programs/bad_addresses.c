// Invalid addresses for every kind of call: each returns EFAULT, and the program continues.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/process/expect.h"

// The call gets `bad` where it has to write or read, and answers as Linux does.
static void call(const char* name, long number, long a, long b, long c, long d, long e, long f) {
  const long result = syscall(number, a, b, c, d, e, f);
  printf("%s: %s\n", name, result == -1 ? strerrorname_np(errno) : "no error");
}
#define CALL(name, ...) CALL_(name, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL_(name, a, b, c, d, e, f, ...) \
  call(#name, SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static void signals(void* bad) {
  uint64_t set = 0;
  CALL(rt_sigpending, bad, 8);
  CALL(rt_sigprocmask, SIG_BLOCK, bad, 0, 8);
  CALL(rt_sigprocmask, SIG_BLOCK, 0, bad, 8);
  CALL(rt_sigaction, SIGUSR1, bad, 0, 8);
  CALL(rt_sigaction, SIGUSR1, 0, bad, 8);
  CALL(rt_sigaction, SIGSEGV, bad, 0, 8);
  CALL(rt_sigaction, SIGSYS, 0, bad, 8);
  CALL(sigaltstack, bad, 0);
  CALL(sigaltstack, 0, bad);
  CALL(rt_sigsuspend, bad, 8);
  CALL(rt_sigtimedwait, bad, 0, 0, 8);
  CALL(rt_sigtimedwait, &set, 0, bad, 8);
  CALL(rt_sigqueueinfo, getpid(), SIGUSR1, bad);
  CALL(signalfd4, -1, bad, 8, 0);
}

static void times(void* bad) {
  timer_t timer;
  EXPECT(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
  const int fd = timerfd_create(CLOCK_MONOTONIC, 0);
  CALL(clock_gettime, CLOCK_MONOTONIC, bad);
  CALL(clock_getres, CLOCK_MONOTONIC, bad);
  CALL(gettimeofday, bad, 0);
  CALL(gettimeofday, 0, bad);
  CALL(time, bad);
  CALL(times, bad);
  CALL(getrusage, 0, bad);
  CALL(nanosleep, bad, 0);
  CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, bad, 0);
  CALL(timer_create, CLOCK_MONOTONIC, bad, &timer);
  CALL(timer_create, CLOCK_MONOTONIC, 0, bad);
  CALL(timer_settime, timer, 0, bad, 0);
  CALL(timer_gettime, timer, bad);
  CALL(timerfd_settime, fd, 0, bad, 0);
  CALL(timerfd_gettime, fd, bad);
  CALL(setitimer, ITIMER_REAL, bad, 0);
  CALL(getitimer, ITIMER_REAL, bad);
  close(fd);
}

static void files(void* bad) {
  int ends[2];
  EXPECT(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
  const int folder = open("/", O_RDONLY), kernel_folder = open("/proc/self/fd", O_RDONLY);
  const int file = open("/bin/sh", O_RDONLY), set = epoll_create1(0);
  CALL(read, ends[0], bad, 1);
  CALL(write, ends[1], bad, 1);
  CALL(readv, ends[0], bad, 1);
  CALL(writev, ends[1], bad, 1);
  CALL(pipe2, bad, 0);
  CALL(open, bad, 0);
  CALL(openat, AT_FDCWD, bad, 0);
  CALL(stat, bad, 0);
  CALL(stat, "/proc/self/status", bad);
  CALL(fstat, ends[0], bad);
  CALL(access, bad, 0);
  CALL(readlink, bad, &ends, 8);
  CALL(readlink, "/proc/self/exe", bad, 8);
  CALL(chdir, bad);
  CALL(getdents64, folder, bad, 4096);
  CALL(getdents64, kernel_folder, bad, 4096);
  CALL(sendfile, ends[1], file, bad, 8);
  CALL(poll, bad, 1, 0);
  CALL(ppoll, 0, 0, bad, 0, 8);
  CALL(ppoll, 0, 0, 0, bad, 8);
  CALL(select, 8, bad, 0, 0, 0);
  CALL(pselect6, 8, 0, 0, 0, 0, bad);
  CALL(epoll_ctl, set, EPOLL_CTL_ADD, ends[0], bad);
  struct epoll_event event = {.events = EPOLLOUT};
  EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, ends[1], &event) == 0);
  CALL(epoll_wait, set, bad, 1, 0);
  CALL(epoll_pwait, set, &event, 1, 0, bad, 8);
  close(ends[0]), close(ends[1]), close(folder), close(kernel_folder), close(file), close(set);
}

static void sockets(void* bad) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof name;
  const int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT(bind(udp, (struct sockaddr*)&name, size) == 0 && getsockname(udp, (struct sockaddr*)&name, &size) == 0);
  CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, bad);
  CALL(bind, tcp, bad, sizeof name);
  CALL(connect, tcp, bad, sizeof name);
  CALL(getsockname, udp, bad, &size);
  CALL(getsockname, udp, &name, bad);
  CALL(setsockopt, tcp, SOL_SOCKET, SO_REUSEADDR, bad, 4);
  CALL(getsockopt, tcp, SOL_SOCKET, SO_TYPE, bad, &size);
  CALL(getsockopt, tcp, SOL_SOCKET, SO_TYPE, &name, bad);
  CALL(sendto, udp, "x", 1, 0, bad, sizeof name);
  CALL(sendto, udp, bad, 1, 0, &name, sizeof name);
  CALL(sendmsg, udp, bad, 0);
  CALL(recvmsg, udp, bad, 0);
  CALL(recvmmsg, udp, bad, 1, 0, 0);
  CALL(sendmmsg, udp, bad, 1, 0);
  close(tcp), close(udp);
}

static void machine(void* bad) {
  CALL(uname, bad);
  CALL(sysinfo, bad);
  CALL(getrandom, bad, 8, 0);
  CALL(sched_getaffinity, 0, 128, bad);
  CALL(getcpu, bad, 0, 0);
  CALL(execve, bad, 0, 0);
  CALL(execve, "/bin/true", bad, 0);
  CALL(futex, bad, 0, 0, 0);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  CALL(wait4, child, bad, 0, 0);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  void* const bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(bad != MAP_FAILED);
  signals(bad);
  times(bad);
  files(bad);
  sockets(bad);
  machine(bad);
  // Its own faults are still its own.
  const pid_t child = fork();
  if (child == 0) _exit(*(volatile char*)bad);
  return 0;
}
