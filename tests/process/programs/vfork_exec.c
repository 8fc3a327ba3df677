// vfork: the parent waits until the child has executed a program or ended; the child's writes are visible.
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int end_of(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child);
  return status;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  volatile int on_stack = 0;
  pid_t child = vfork();
  if (child == 0) {
    sleep_ms(20);
    on_stack = 7;
    _exit(on_stack);
  }
  printf("ended: %d, left word: %d\n", WEXITSTATUS(end_of(child)), on_stack);

  int ends[2];
  EXPECT(pipe(ends) == 0);
  child = vfork();
  if (child == 0) {
    dup2(ends[1], 1);
    execl("/bin/echo", "echo", "from", "a", "program", NULL);
    _exit(127);
  }
  EXPECT(child > 0 && close(ends[1]) == 0);
  char bytes[64] = "";
  EXPECT(read(ends[0], bytes, 63) > 0 && WEXITSTATUS(end_of(child)) == 0);
  printf("executed: %s", bytes);

  volatile int failed = 0;
  child = vfork();
  if (child == 0) {
    execl("/nowhere", "nowhere", NULL);
    failed = errno;
    _exit(126);
  }
  printf("not executed: %s, %d\n", strerrorname_np(failed), WEXITSTATUS(end_of(child)));

  const int64_t start = now_ns();
  child = vfork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "0.2", NULL);
    _exit(127);
  }
  printf("the parent goes on while the program runs: %d\n", now_ns() - start < 150000000);
  EXPECT(kill(child, SIGTERM) == 0 && WTERMSIG(end_of(child)) == SIGTERM);
  return 0;
}
