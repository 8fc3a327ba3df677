// Priorities of processor and disk: which are valid, of whom they are, and who may change them.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kProcess = 1, kNone = 0, kBestEffort = 2, kIdle = 3 };

static long set_disk(int kind, int level) { return syscall(SYS_ioprio_set, kProcess, 0, kind << 13 | level); }

int main(void) {
  EXPECT(getpriority(PRIO_PROCESS, -1) == -1 && errno == ESRCH && getpriority(PRIO_PGRP, -1) == -1 && errno == ESRCH);
  EXPECT(getpriority(PRIO_USER, 4711) == -1 && errno == ESRCH && setpriority(PRIO_USER, 4711, 3) == -1 && errno == ESRCH);
  EXPECT(getpriority(4, 0) == -1 && errno == EINVAL);
  EXPECT(set_disk(kBestEffort, 7) == 0 && set_disk(kIdle, 0) == 0 && set_disk(kNone, 0) == 0);
  EXPECT(set_disk(kNone, 4) == -1 && errno == EINVAL && set_disk(7, 0) == -1 && errno == EINVAL);
  const pid_t parent = getpid();
  const int first = getpriority(PRIO_PROCESS, 0);  // the test may have been started by nice(1)
  const int is_root = getuid() == 0;
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit none = {0, 0};
    EXPECT(setrlimit(RLIMIT_NICE, &none) == 0);
    if (is_root) EXPECT(setresuid(4712, 4712, 4712) == 0);
    EXPECT(nice(40) == 19 && getpriority(PRIO_PROCESS, 0) == 19);
    errno = 0;
    EXPECT(nice(-10) == -1 && errno == EPERM && getpriority(PRIO_PROCESS, 0) == 19);
    EXPECT(setpriority(PRIO_PROCESS, 0, 3) == -1 && errno == EACCES);
    if (is_root) {
      EXPECT(setpriority(PRIO_PROCESS, parent, 19) == -1 && errno == EPERM);
      EXPECT(syscall(SYS_ioprio_set, kProcess, parent, kBestEffort << 13) == -1 && errno == EPERM);
      EXPECT(setpriority(PRIO_USER, 0, 19) == 0 && getpriority(PRIO_PROCESS, parent) == first);
      EXPECT(getpriority(PRIO_USER, 4712) == 19);
    }
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  printf("priorities: done\n");
  return 0;
}
