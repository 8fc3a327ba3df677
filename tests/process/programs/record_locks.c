// Deadlocks of processes that wait for each other's record locks: the request that closes the cycle fails.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int file;

static int set_lock(int command, short type, off_t at) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
  return fcntl(file, command, &lock) == 0 ? 0 : errno;
}

// A chain of processes: process i holds byte i and asks for byte i + 1; the last one asks for byte 0 and closes the cycle.
static void run_cycle(int processes) {
  int ready[2];
  EXPECT(pipe(ready) == 0);
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    EXPECT(set_lock(F_SETLK, F_WRLCK, i) == 0 && write(ready[1], "x", 1) == 1);
    sleep_ms(20 + 10 * i);
    const int error = set_lock(F_SETLKW, F_WRLCK, (i + 1) % processes);
    _exit(error == 0 ? 0 : error == EDEADLK ? 1 : 2);
  }
  int deadlocks = 0, granted = 0;
  for (int i = 0; i < processes; ++i) {
    char byte;
    int status;
    EXPECT(read(ready[0], &byte, 1) == 1);
    if (i < processes - 1) continue;
    for (int k = 0; k < processes; ++k) {
      EXPECT(wait(&status) > 0 && WIFEXITED(status));
      deadlocks += WEXITSTATUS(status) == 1;
      granted += WEXITSTATUS(status) == 0;
    }
  }
  EXPECT(close(ready[0]) == 0 && close(ready[1]) == 0);
  printf("cycle of %d: %d deadlock, %d granted\n", processes, deadlocks, granted);
  fflush(stdout);
}

// A process that waits is passed over by a release: no deadlock.
static void run_release(void) {
  int ready[2];
  char byte;
  EXPECT(pipe(ready) == 0 && set_lock(F_SETLK, F_WRLCK, 0) == 0);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(set_lock(F_SETLK, F_WRLCK, 1) == 0 && write(ready[1], "x", 1) == 1);
    EXPECT(set_lock(F_SETLKW, F_WRLCK, 0) == 0);
    sleep_ms(20);
    _exit(0);
  }
  EXPECT(read(ready[0], &byte, 1) == 1);
  sleep_ms(30);
  EXPECT(set_lock(F_SETLK, F_UNLCK, 0) == 0);
  EXPECT(set_lock(F_SETLKW, F_WRLCK, 1) == 0);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(set_lock(F_SETLK, F_UNLCK, 1) == 0 && close(ready[0]) == 0 && close(ready[1]) == 0);
  printf("release: done\n");
  fflush(stdout);
}

int main(void) {
  char path[] = "/tmp/record_locks_XXXXXX";
  EXPECT((file = mkstemp(path)) >= 0);
  run_cycle(2);
  run_cycle(4);
  run_release();
  EXPECT(fcntl(file, F_SETLK, (struct flock*)1) == -1 && errno == EFAULT);
  int ends[2];
  EXPECT(pipe(ends) == 0 && fcntl(ends[0], F_SETLK, (struct flock*)1) == -1 && errno == EFAULT);
  EXPECT(fcntl(ends[0], F_SETPIPE_SZ, 0x80000001u) == -1 && errno == EINVAL);
  EXPECT(unlink(path) == 0);
  return 0;
}
