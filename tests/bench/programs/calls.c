// calls KIND COUNT: makes COUNT calls of one kind.
//   mutex     lock and unlock of an uncontended mutex
//   answered  a system call that is handled in the process
//   handed    a system call that the supervisor handles; nothing: one that returns no data each time
//   counter   rdtsc; processor: cpuid; random: rdrand
//   fork      a child that exits at once, and wait
//   stat      a path that Linux handles; virtual: one in /proc, which the simulator handles
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* kind = argv[1];
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  struct utsname name;
  struct stat status;
  struct epoll_event event;
  const int set = epoll_create1(0);
  for (int i = atoi(argv[2]); i > 0; --i) {
    if (strcmp(kind, "mutex") == 0) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    } else if (strcmp(kind, "answered") == 0) {
      syscall(SYS_getppid);
    } else if (strcmp(kind, "counter") == 0) {
      for (int k = 0; k < 99; ++k) (void)__rdtsc();
    } else if (strcmp(kind, "processor") == 0) {
      unsigned a = 1, b, c = 0, d;
      __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    } else if (strcmp(kind, "random") == 0) {
      unsigned long value;
      __asm__ volatile("rdrand %0" : "=r"(value) : : "cc");
    } else if (strcmp(kind, "handed") == 0) {
      uname(&name);
    } else if (strcmp(kind, "nothing") == 0) {
      if (epoll_wait(set, &event, 1, 0) != 0) return 1;
    } else if (strcmp(kind, "stat") == 0) {
      stat("/usr", &status);
    } else if (strcmp(kind, "virtual") == 0) {
      stat("/proc/self/status", &status);
    } else if (strcmp(kind, "fork") == 0) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      if (waitpid(child, NULL, 0) != child) return 1;
    } else {
      return 2;
    }
  }
  return 0;
}
