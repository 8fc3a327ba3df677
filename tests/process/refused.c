// Calls that are not simulated: they fail cleanly and the program continues.
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

static void report(const char* name, long result) {
  printf("%s: %s\n", name, result == -1 ? strerrorname_np(errno) : "success");
}

int main(void) {
  char parameters[256] = {0};
  report("io_uring_setup", syscall(425, 8, parameters));
  struct open_how how = {.flags = O_PATH};
  report("openat2", syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how));
  int word = 0, other = 0;
  report("futex_waitv", syscall(449, NULL, 0, 0, NULL, 0));
  report("FUTEX_WAIT_REQUEUE_PI", syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &other, 0));
  report("send of urgent data", send(socket(AF_INET, SOCK_STREAM, 0), "x", 1, MSG_OOB));
  const int on = 1;
  report("time stamps of TCP", setsockopt(socket(AF_INET, SOCK_STREAM, 0), SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on));
  report("terminal", open("/dev/console", O_RDWR));
  report("statistics of protocols", open("/proc/net/netstat", O_RDONLY));
  report("9999", syscall(9999));
  report("511", syscall(511));
  report("9999 again", syscall(9999));
  printf("and on\n");
  return 0;
}
