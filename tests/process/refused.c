// Calls that the simulation does not know: they fail cleanly and the program goes on.
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

static void report(const char* name, long result) {
  printf("%s: %s\n", name, result == -1 ? strerrorname_np(errno) : "success");
}

int main(void) {
  char parameters[256] = {0};
  report("io_uring_setup", syscall(425, 8, parameters));
  report("inotify_init1", inotify_init1(0));
  report("shmget", shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
  report("9999", syscall(9999));
  report("511", syscall(511));
  report("9999 again", syscall(9999));
  printf("and on\n");
  return 0;
}
