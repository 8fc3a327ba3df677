// Limits, priorities, locked memory: set values are returned for the process and its children, and no others.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void* in_a_thread(void* unused) {
  int policy;
  struct sched_param parameter;
  EXPECT(pthread_getschedparam(pthread_self(), &policy, &parameter) == 0);
  printf("a thread's policy %d, priority %d; nice %d\n", policy, parameter.sched_priority, getpriority(PRIO_PROCESS, 0));
  EXPECT(setpriority(PRIO_PROCESS, gettid(), 12) == 0);
  printf("its own: %d, the first one's: %d\n", getpriority(PRIO_PROCESS, 0), getpriority(PRIO_PROCESS, getpid()));
  return unused;
}

// A user other than root may change the attributes of its own threads, and not improve them.
static void as_another_user(void) {
  const pid_t parent = getpid();
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const struct sched_param none = {0}, some = {1};
    const cpu_set_t first = {{1}};
    const int nice = getpriority(PRIO_PROCESS, 0);
    EXPECT(setresuid(12345, 12345, 12345) == 0);
    EXPECT(setpriority(PRIO_PROCESS, 0, nice + 1) == 0 && setpriority(PRIO_PROCESS, 0, nice) == -1 &&
           errno == EACCES);
    EXPECT(setpriority(PRIO_PROCESS, parent, 19) == -1 && errno == EPERM);
    EXPECT(setpriority(PRIO_USER, 54321, 19) == -1 && errno == ESRCH);
    EXPECT(setpriority(PRIO_USER, 0, nice + 2) == 0 && getpriority(PRIO_PROCESS, 0) == nice + 2);
    EXPECT(sched_setscheduler(0, SCHED_FIFO, &some) == -1 && errno == EPERM);
    EXPECT(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
    EXPECT(sched_setparam(parent, &none) == -1 && errno == EPERM);
    EXPECT(sched_setaffinity(parent, sizeof first, &first) == -1 && errno == EPERM);
    EXPECT(syscall(SYS_ioprio_set, 1, parent, 2 << 13 | 6) == -1 && errno == EPERM);
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  struct rlimit limit, other;
  EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = 40;
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0 && getrlimit(RLIMIT_NOFILE, &other) == 0 && other.rlim_cur == 40);
  EXPECT(dup2(0, 39) == 39 && dup2(0, 40) == -1 && errno == EBADF);
  limit.rlim_cur = limit.rlim_max + 1;
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == -1 && errno == EINVAL);
  EXPECT(setrlimit(99, &limit) == -1 && errno == EINVAL);
  EXPECT(getrlimit(RLIMIT_NOFILE, (struct rlimit*)8) == -1 && errno == EFAULT);

  int ends[2];
  EXPECT(pipe(ends) == 0);
  limit = (struct rlimit){1 << 20, 1 << 20};
  EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    char c;
    read(ends[0], &c, 1);
    EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0 && getrlimit(RLIMIT_FSIZE, &other) == 0);
    printf("a child has: %d descriptors, files of %d bytes, nice %d\n", (int)limit.rlim_cur, (int)other.rlim_cur,
           getpriority(PRIO_PROCESS, 0));
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "echo limits after exec: $(ulimit -n) $(ulimit -f); nice", (char*)NULL);
    _exit(127);
  }
  limit = (struct rlimit){30, 35};
  EXPECT(prlimit(child, RLIMIT_NOFILE, &limit, &other) == 0 && other.rlim_cur == 40);
  EXPECT(setpriority(PRIO_PROCESS, child, 7) == 0 && getpriority(PRIO_PROCESS, child) == 7);
  EXPECT(sched_getscheduler(child) == SCHED_OTHER);
  EXPECT(write(ends[1], "x", 1) == 1);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(prlimit(child, RLIMIT_NOFILE, NULL, &other) == -1 && errno == ESRCH);
  EXPECT(getpriority(PRIO_PROCESS, child) == -1 && errno == ESRCH);
  EXPECT(sched_getscheduler(child) == -1 && errno == ESRCH);
  EXPECT(sched_getscheduler(-5) == -1 && errno == EINVAL);
  EXPECT(getpriority(9, 0) == -1 && errno == EINVAL);

  EXPECT(setpriority(PRIO_PROCESS, 0, 5) == 0 && getpriority(PRIO_PROCESS, 0) == 5);
  const struct sched_param none = {0}, some = {3};
  EXPECT(sched_setscheduler(0, SCHED_BATCH, &none) == 0 && sched_getscheduler(getpid()) == SCHED_BATCH);
  EXPECT(sched_setscheduler(0, SCHED_OTHER, &some) == -1 && errno == EINVAL);
  EXPECT(sched_setparam(0, &some) == -1 && errno == EINVAL);
  EXPECT(sched_setparam(0, NULL) == -1 && errno == EINVAL && sched_getparam(0, NULL) == -1 &&
         errno == EINVAL);
  EXPECT(sched_setscheduler(-1, SCHED_OTHER, &none) == -1 && errno == EINVAL);
  EXPECT(sched_setscheduler(0, -1, &none) == -1 && errno == EINVAL);
  EXPECT(sched_setscheduler(4194304, SCHED_OTHER, (void*)8) == -1 && errno == EFAULT);
  EXPECT(sched_setscheduler(4194304, 99, &none) == -1 && errno == ESRCH);
  enum { kDeadline = 6 };  // SCHED_DEADLINE
  EXPECT(sched_get_priority_max(kDeadline) == 0 && sched_get_priority_min(kDeadline) == 0);
  if (geteuid() == 0) as_another_user();
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, in_a_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  struct sched_param told = {77};
  struct timespec interval;
  EXPECT(sched_getparam(0, &told) == 0 && told.sched_priority == 0 && sched_rr_get_interval(0, &interval) == 0);
  EXPECT(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 6) == 0 && syscall(SYS_ioprio_get, 1, 0) == (2 << 13 | 6));
  void* head;
  size_t size;
  EXPECT(syscall(SYS_get_robust_list, 0, &head, &size) == 0 && size == 24);
  printf("list of robust locks: %d\n", head != NULL);

  char* const pages = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(mlock(pages + 5, 100) == 0 && munlock(pages, 12288) == 0 && mlock2(pages, 4096, 1) == 0);
  EXPECT(munmap(pages + 4096, 4096) == 0 && mlock(pages, 12288) == -1 && errno == ENOMEM);
  EXPECT(mlockall(64) == -1 && errno == EINVAL && mlockall(0) == -1 && errno == EINVAL);
  // Natively an ordinary user may not be permitted to lock that much.
  EXPECT((mlockall(MCL_CURRENT) == 0 && munlockall() == 0) || (errno == ENOMEM && geteuid() != 0));
  printf("locked and unlocked\n");
  return 0;
}
